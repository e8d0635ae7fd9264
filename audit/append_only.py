"""Database triggers that refuse to change or delete a row of the audit trail.

The triggers stop mistakes and faulty queries, not an administrator who may drop them: the seals
are for that. `manage.py flush` still empties every table. A later migration that rebuilds one of
these tables on SQLite drops its triggers and has to create them again.
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


def put_on(vendor: str) -> Iterator[str]:
    """The statements that make the triggers."""
    if vendor == "postgresql":
        yield _FUNCTION
        for table in TABLES:
            yield (
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION audit_append_only()"
            )
    if vendor == "sqlite":
        for name, table, what in _on_sqlite():
            yield (
                f"CREATE TRIGGER {name} BEFORE {what} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            )


def take_off(vendor: str) -> Iterator[str]:
    """The statements that drop them."""
    if vendor == "postgresql":
        for table in TABLES:
            yield f"DROP TRIGGER IF EXISTS {table}_append_only ON {table}"
    if vendor == "sqlite":
        for name, _, _ in _on_sqlite():
            yield f"DROP TRIGGER IF EXISTS {name}"


def migrate(apps: Any, editor: Any) -> None:
    for statement in put_on(editor.connection.vendor):
        editor.execute(statement)


def migrate_back(apps: Any, editor: Any) -> None:
    for statement in take_off(editor.connection.vendor):
        editor.execute(statement)


def _on_sqlite() -> Iterator[tuple[str, str, str]]:
    for table in TABLES:
        for what in ("UPDATE", "DELETE"):
            yield f"{table}_no_{what.lower()}", table, what
