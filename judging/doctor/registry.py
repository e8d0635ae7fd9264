"""All checks, declared once for the command, its JSON and the admin's page, and how they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from django.db import Error, connection

from datasets.backup.databases import LIBPQ
from datasets.backup.databases import name as database_name
from judging.doctor import machine, processes, records
from judging.doctor.base import WARNING, Check, Finding, Line, must_mend, well

CONNECT_SECONDS = 3
CHECKS = (
    Check("settings", "Settings", machine.check_settings, needs_database=False, is_slow=True),
    Check("database", "Database", machine.check_database),
    Check("migrations", "Migrations", machine.check_migrations),
    Check("clock", "Clock", machine.check_clock),
    Check("disk", "Disk", machine.check_disk, needs_database=False),
    Check("modes", "Modes of the data folder", machine.check_modes, needs_database=False),
    Check("broker", "Broker", processes.check_broker, needs_database=False, is_slow=True),
    Check("workers", "Workers", processes.check_workers, is_slow=True),
    Check("queue", "Queue", processes.check_queue),
    Check("judges", "Judge servers", processes.check_judge_servers, is_slow=True),
    Check("seal", "Audit trail", records.check_seal),
    Check("backup", "Backup", records.check_backup, needs_database=False),
)


def examine(quick: bool = False) -> list[Line]:
    """Run all checks, or only those that take no time. No failing check ends the others."""
    away = database_away()
    lines: list[Line] = []
    for check in CHECKS:
        if quick and check.is_slow:
            continue
        lines += _lines(check, away)
    return lines


def _lines(check: Check, away: Finding | None) -> Iterator[Line]:
    for found in _findings(check, away):
        yield Line(check.name, check.title, found.status, found.says, found.mend)


def _findings(check: Check, away: Finding | None) -> Iterable[Finding]:
    if away is not None and check.name == "database":
        return [away]
    if away is not None and check.needs_database:
        return [Finding(WARNING, "not known while the database is away", "Mend the database first")]
    try:
        found = check.run()
        return [found] if isinstance(found, Finding) else list(found) or [well("nothing is wrong")]
    except Error as error:
        says = f"not known, since the database refused ({' '.join(str(error).split())[:200]})"
        return [Finding(WARNING, says, "Mend the database and its migrations first")]
    except Exception as error:  # the other checks are needed all the more
        says = f"cannot be examined ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
        return [must_mend(says, "Mend what the error names")]


def database_away() -> Finding | None:
    """Return why the database cannot be used, or None. Waits for three seconds at most."""
    if connection.vendor == "sqlite":
        return _sqlite_away(database_name())
    given = connection.get_connection_params()
    parts = {key: given[key] for key in (*LIBPQ, "password") if given.get(key) not in (None, "")}
    import psycopg
    from psycopg.conninfo import make_conninfo

    try:
        # Not by the pool, whose error does not say why.
        psycopg.connect(make_conninfo(**parts | {"connect_timeout": CONNECT_SECONDS})).close()
    except psycopg.Error as error:
        why = " ".join(str(error).split())[:300]
        return must_mend(
            f"the database cannot be reached ({why})", "Start it, or correct DATABASE_URL"
        )
    return None


def _sqlite_away(name: str) -> Finding | None:
    if not Path(name).is_file():
        # Connecting would create an empty one.
        return must_mend(
            f"there is no file {name}", "Correct DATABASE_URL or TANDEM_DATA_DIR, or run migrate"
        )
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_master")
    except Error as error:
        return must_mend(f"{name} cannot be read ({error})", "Restore a backup: tandem restore")
    return None
