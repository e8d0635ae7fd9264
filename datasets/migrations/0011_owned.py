"""Every batch has a team."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0009_owners"), ("datasets", "0010_teams")]

    operations = [
        migrations.AlterField(
            "batch",
            "team",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="datasets.team"
            ),
        ),
    ]
