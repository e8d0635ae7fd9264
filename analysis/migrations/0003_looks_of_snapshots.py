"""Snapshots keep the looks of the ledger that reading them amounts to."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0002_studies")]

    operations = [
        migrations.AddField("frozenreport", "looks", models.JSONField(null=True)),
    ]
