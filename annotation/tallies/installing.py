"""The triggers are put in place after each migration, and taken away before one.

They would be in its way: SQLite makes a table that changes anew, and PostgreSQL changes no column
that a trigger looks at. What was written meanwhile is counted when they are back.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from annotation.tallies import triggers

TABLES = {triggers.TABLE, *triggers.names().values()}


def before_migrating(using: str, plan: Any = None, **_: Any) -> None:
    """Answers the signal `pre_migrate`."""
    connection = connections[using]
    if plan and _has_tables(connection):
        with transaction.atomic(using=using):
            _drop(connection)


def after_migrating(using: str, plan: Any = None, **_: Any) -> None:
    """Answers `post_migrate`: all triggers stand, and what they keep is counted anew if need be.

    `flush` sends it without a plan. It empties one table after the other, in any order, and on
    SQLite the triggers count that.
    """
    connection = connections[using]
    if not _has_tables(connection):
        return
    if plan or standing(connection) != set(triggers.names()):
        install(using)
    elif plan is None:
        recount(using)


def install(using: str = "default") -> None:
    """All or nothing. Whoever writes meanwhile waits, so that nothing is counted twice or never."""
    connection = connections[using]
    make = triggers.postgresql if connection.vendor == "postgresql" else triggers.sqlite
    with transaction.atomic(using=using):
        _drop(connection)
        with connection.cursor() as cursor:
            for statement in (*make(), *triggers.recounting()):
                cursor.execute(statement)


def recount(using: str = "default") -> None:
    """Counts everything anew, for whoever doubts it; nothing of ours needs it."""
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        for statement in triggers.recounting():
            cursor.execute(statement)


def _has_tables(connection: BaseDatabaseWrapper) -> bool:
    return TABLES.issubset(connection.introspection.table_names())


def _drop(connection: BaseDatabaseWrapper) -> None:
    where = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        for name, table in triggers.names().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{f' ON {table}' if where else ''}")


def standing(connection: BaseDatabaseWrapper) -> set[str]:
    """The names of the triggers that are there."""
    catalogue = {
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    }
    with connection.cursor() as cursor:
        cursor.execute(catalogue[connection.vendor])
        return {name for (name,) in cursor.fetchall() if name.startswith(triggers.PREFIX)}
