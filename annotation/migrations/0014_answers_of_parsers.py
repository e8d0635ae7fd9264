"""A fifth channel: judges whose parser reads some of the variables only."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_names_of_samples_and_gold_answers")]

    operations = [
        migrations.RemoveConstraint("response", "door_is_known"),
        migrations.AddConstraint(
            "response",
            models.CheckConstraint(
                condition=models.Q(door__in=("page", "api", "judge", "parser", "import")),
                name="door_is_known",
            ),
        ),
    ]
