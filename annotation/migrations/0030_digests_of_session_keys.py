"""The keys of sessions are replaced by their digests (`config.sessions`). Nobody is logged out."""

from __future__ import annotations

from typing import Any

from django.db import migrations

SHA256 = {
    "sqlite": "SHA256(session_key)",
    "postgresql": "encode(sha256(convert_to(session_key, 'UTF8')), 'hex')",
}


def replace_keys(apps: Any, schema_editor: Any) -> None:
    digest = f"substr({SHA256[schema_editor.connection.vendor]}, 1, 40)"
    # A digest has 40 characters, and a key has fewer.
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE django_session SET session_key = {digest} WHERE length(session_key) < 40"
        )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0029_account_manager"), ("sessions", "0001_initial")]
    operations = [migrations.RunPython(replace_keys, migrations.RunPython.noop)]
