"""Transactions over a run and its rows that may never last: others wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

IDLE_SECONDS = 30


@contextmanager
def brief_transaction() -> Iterator[None]:
    """A transaction that PostgreSQL ends where our process freezes within it.

    Its locks would keep every other worker from taking the run over, and whoever sleeps for so long
    has no lease to write by any more. A file's lock stays with whoever has it.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
        yield
