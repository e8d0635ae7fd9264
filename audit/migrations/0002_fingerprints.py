"""Fingerprints of states. An existing site's objects get theirs at the next seal, as found."""

from __future__ import annotations

import django.utils.timezone
from django.db import migrations, models

from audit.append_only import migrate, migrate_back

TABLES = ("audit_fingerprint",)


def protect(apps, editor):
    migrate(apps, editor, TABLES)


def unprotect(apps, editor):
    migrate_back(apps, editor, TABLES)


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Fingerprint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("object_id", models.BigIntegerField()),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("columns", models.JSONField(default=dict)),
                ("scope", models.JSONField(default=dict)),
                ("event", models.BigIntegerField()),
                ("as_found", models.BooleanField(default=False)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(
                        models.F("kind"),
                        models.F("object_id"),
                        models.F("id"),
                        name="fingerprints_of_an_object",
                    )
                ],
            },
        ),
        migrations.RunPython(protect, unprotect),
    ]
