"""Locks of PostgreSQL that end with the transaction."""

from __future__ import annotations

from django.db import connection


def wait_for_turn(lock: int) -> None:
    """Let one transaction at a time go on under this number; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])
