"""Judges from files, and how each answer was read."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0003_reviews")]

    operations = [
        migrations.AddField("judge", "file", models.TextField(blank=True, default="")),
        migrations.AddField(
            "judge", "file_sha256", models.CharField(blank=True, default="", max_length=64)
        ),
        migrations.AddField(
            "judgecall", "reading", models.CharField(blank=True, default="", max_length=60)
        ),
    ]
