"""The tables of django-axes are dropped, which earlier versions of Tandem installed.

They held the names and addresses of wrong log-ins until version 0.6.0, and nothing since.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.migrations.recorder import MigrationRecorder

# The first refers to the second.
TABLES = (
    "axes_accessattemptexpiration",
    "axes_accessattempt",
    "axes_accesslog",
    "axes_accessfailurelog",
)


def drop(apps: Any, schema_editor: Any) -> None:
    for table in TABLES:
        schema_editor.execute(f"DROP TABLE IF EXISTS {table}")
    MigrationRecorder(schema_editor.connection).migration_qs.filter(app="axes").delete()
    apps.get_model("contenttypes", "ContentType").objects.filter(app_label="axes").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0032_named_pools"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(drop, migrations.RunPython.noop)]
