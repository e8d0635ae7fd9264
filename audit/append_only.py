"""Database triggers that refuse to change or delete a row of the audit trail.

The triggers stop mistakes and faulty queries. They do not stop an administrator, who may drop them;
the seals show such changes. `manage.py flush` still empties every table. A migration that rebuilds
one of these tables on SQLite drops its triggers and has to create them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TABLES = ("audit_event", "audit_seal")
REFUSED = "the audit trail is append-only"

_FUNCTION = f"""
CREATE OR REPLACE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{REFUSED}';
END
$$
"""


def create_statements(vendor: str) -> Iterator[str]:
    """Yield the statements that create the triggers."""
    if vendor == "postgresql":
        yield _FUNCTION
        for table in TABLES:
            yield (
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION audit_append_only()"
            )
    if vendor == "sqlite":
        for name, table, what in _sqlite_triggers():
            yield (
                f"CREATE TRIGGER {name} BEFORE {what} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )


def drop_statements(vendor: str) -> Iterator[str]:
    """Yield the statements that drop the triggers."""
    if vendor == "postgresql":
        for table in TABLES:
            yield f"DROP TRIGGER IF EXISTS {table}_append_only ON {table}"
    if vendor == "sqlite":
        for name, _, _ in _sqlite_triggers():
            yield f"DROP TRIGGER IF EXISTS {name}"


def migrate(apps: Any, editor: Any) -> None:
    for statement in create_statements(editor.connection.vendor):
        editor.execute(statement)


def migrate_back(apps: Any, editor: Any) -> None:
    for statement in drop_statements(editor.connection.vendor):
        editor.execute(statement)


def _sqlite_triggers() -> Iterator[tuple[str, str, str]]:
    for table in TABLES:
        for what in ("UPDATE", "DELETE"):
            yield f"{table}_no_{what.lower()}", table, what
