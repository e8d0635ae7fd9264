"""Writers of one SQLite file, in a process of their own: `python -m tests.sqlite_writers …`.

FILE write THREADS TIMES  counts up in the file, in transactions of two statements
FILE hold                 begins a transaction, prints that it has, and keeps it open
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import django
from django.conf import settings


def database(path: str, timeout: float) -> dict[str, Any]:
    options = {
        "transaction_mode": "IMMEDIATE",
        "timeout": timeout,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
    return {"ENGINE": "config.sqlite", "NAME": path, "OPTIONS": options}


def count_up(times: int, errors: list[str]) -> None:
    from django.db import connection, transaction

    try:
        for _ in range(times):
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT n FROM counter")
                (n,) = cursor.fetchone()
                cursor.execute("UPDATE counter SET n = %s", [n + 1])
    except Exception as error:
        errors.append(repr(error))
    finally:
        connection.close()


def write(threads: int, times: int) -> int:
    errors: list[str] = []
    writers = [threading.Thread(target=count_up, args=(times, errors)) for _ in range(threads)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    print("\n".join(errors), file=sys.stderr)
    return len(errors)


def hold() -> int:
    from django.db import transaction

    with transaction.atomic():
        print("held", flush=True)
        time.sleep(120)
    return 0


if __name__ == "__main__":
    path, what, *numbers = sys.argv[1:]
    settings.configure(DATABASES={"default": database(path, timeout=20)})
    django.setup()
    sys.exit(write(*map(int, numbers)) if what == "write" else hold())
