"""Every campaign has a team."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0009_owners"), ("annotation", "0017_teams")]

    operations = [
        migrations.AlterField(
            "campaign",
            "team",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="datasets.team"
            ),
        ),
    ]
