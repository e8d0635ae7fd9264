"""Locks that end with the transaction, and transactions that end if their process freezes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

IDLE_SECONDS = 30


@contextmanager
def brief_transaction() -> Iterator[None]:
    """A transaction that PostgreSQL ends if this process freezes within it.

    Its locks would keep other processes waiting for ever. SQLite has no such limit.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
        yield


def wait_for_turn(lock: int) -> None:
    """Let one transaction at a time go on under this number; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])
