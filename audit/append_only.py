"""Database triggers that refuse to change or delete a row of the audit trail, or of other tables.

The triggers stop mistakes and faulty queries. They do not stop an administrator, who may drop them;
the seals show such changes. `manage.py flush` still empties every table. A migration that rebuilds
one of these tables on SQLite drops its triggers and has to create them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

FIRST = ("audit_event", "audit_seal")
TABLES = [*FIRST, "audit_fingerprint"]
"""All tables whose rows never change. Apps add theirs with `protect`."""
REFUSED = "the audit trail is append-only"

_FUNCTION = f"""
CREATE OR REPLACE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{REFUSED}';
END
$$
"""


def protect(*tables: str) -> None:
    """Add tables of an app, so that `flush` can empty them. A migration creates their triggers."""
    TABLES.extend(tables)


def create_statements(vendor: str, tables: Sequence[str] = TABLES) -> Iterator[str]:
    """Yield the statements that create the triggers."""
    if vendor == "postgresql":
        yield _FUNCTION
        for table in tables:
            yield (
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION audit_append_only()"
            )
    if vendor == "sqlite":
        for name, table, what in _sqlite_triggers(tables):
            yield (
                f"CREATE TRIGGER {name} BEFORE {what} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )


def drop_statements(vendor: str, tables: Sequence[str] = TABLES) -> Iterator[str]:
    """Yield the statements that drop the triggers."""
    if vendor == "postgresql":
        for table in tables:
            yield f"DROP TRIGGER IF EXISTS {table}_append_only ON {table}"
    if vendor == "sqlite":
        for name, _, _ in _sqlite_triggers(tables):
            yield f"DROP TRIGGER IF EXISTS {name}"


def migrate(apps: Any, editor: Any, tables: Sequence[str] = FIRST) -> None:
    for statement in create_statements(editor.connection.vendor, tables):
        editor.execute(statement)


def migrate_back(apps: Any, editor: Any, tables: Sequence[str] = FIRST) -> None:
    for statement in drop_statements(editor.connection.vendor, tables):
        editor.execute(statement)


def _sqlite_triggers(tables: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for table in tables:
        for what in ("UPDATE", "DELETE"):
            yield f"{table}_no_{what.lower()}", table, what
