"""A database for the commands that a test starts as processes of their own.

On SQLite it is a file in the test's folder. Where DATABASE_URL names a PostgreSQL server the test
gets a database there, named after the folder: the same folder finds the same database again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.db import transaction
from psycopg import sql

SERVER = os.environ.get("DATABASE_URL", "")
ON_POSTGRESQL = SERVER.startswith("postgres")
DECIDED = ("DATABASE_URL", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND", "SECRET_KEY",
           "OPENAI_API_KEY", "TANDEM_DATA_DIR", "DEBUG")  # fmt: skip


@contextmanager
def rolled_back(django_db_blocker: Any) -> Iterator[None]:
    """The test database for what a module makes once: gone after it, the audit trail with it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def environment(folder: Path, copy_of: Path | None = None) -> dict[str, str]:
    """The environment of a process whose data lie in `folder`; new there, or a copy of another's.

    The copy takes only the database: files are for the caller to copy.
    """
    kept = {name: value for name, value in os.environ.items() if name not in DECIDED}
    kept |= {"DEBUG": "1", "TANDEM_DATA_DIR": str(folder)}
    if not ON_POSTGRESQL:
        return kept
    return kept | {"DATABASE_URL": _database(_name(folder), _name(copy_of) if copy_of else None)}


def _name(folder: Path) -> str:
    return "tandem_" + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]


def _database(name: str, template: str | None) -> str:
    with psycopg.connect(SERVER, autocommit=True) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if there.fetchone() is None:
            like = sql.Identifier(template or "template0")
            make = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), like)
            connection.execute(make)
    return SERVER.rpartition("/")[0] + "/" + name
