"""Up to which event no other can still come, on either database.

PostgreSQL gives ids out before their rows are there: a lower one may come later. So whoever writes
an event holds a lock together with all others who do, to the end of the transaction, and the
sealer reads the highest id at a moment when nobody holds it. It tries and never waits, so nobody
ever waits for it. On SQLite there is one writer at a time, and ids come in order.
"""

from __future__ import annotations

import time

from django.db import connection, transaction
from django.db.models import Max

from audit.models import Event

LOCK = 0x7A6E_0A0D
TRIES, PAUSE = 50, 0.1


def hold_off_sealing() -> None:
    """Call it in the transaction, before the event is written."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])


def horizon() -> int | None:
    """The highest id below which all events are there; None where none could be told just now."""
    for again in range(TRIES):
        if again:
            time.sleep(PAUSE)
        with transaction.atomic():
            if _nobody_writes():
                return Event.objects.aggregate(last=Max("pk"))["last"] or 0
    return None


def _nobody_writes() -> bool:
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])
