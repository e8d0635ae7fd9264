"""Checks of settings, database, migrations, clock, disk and modes."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from datasets.backup.contents import KEPT, data_folder
from datasets.backup.databases import name as database_name
from datasets.backup.databases import size as database_size
from datasets.db.versions import unknown_migrations
from judging.doctor.base import Finding, must_mend, warning, well

MEGABYTE = 2**20
LEAST_MB, FEW_MB = 500, 2000
CLOCK_SECONDS, LARGE_CLOCK_SECONDS = 2, 30
OTHERS_READ_OR_WRITE = 0o066
SHOWN = 3


def check_settings() -> Iterator[Finding]:
    """Yield what Django's checks for a server find, and whether pages have their style."""
    if not settings.PLAIN_HTTP:
        for message in checks.run_checks(tags=["security"], include_deployment_checks=True):
            found = must_mend if message.is_serious() else warning
            hint = str(message.hint or "correct the setting")
            yield found(_sentence(f"{message.id}: {message.msg}"), _sentence(_capital(hint)))
    elif not settings.DEBUG:
        yield warning("the site is served without TLS", "Unset TANDEM_PLAIN_HTTP on a server")
    if settings.DEBUG:
        yield warning("DEBUG is 1, which shows anybody the code", "Unset DEBUG on a server")
    elif not (Path(settings.STATIC_ROOT) / "staticfiles.json").is_file():
        yield must_mend(
            f"there are no static files in {settings.STATIC_ROOT}",
            "Run tandem collectstatic --noinput",
        )


def _sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def check_database() -> Finding:
    """Say which database answered. The registry asks it before all checks."""
    major = ".".join(map(str, connection.get_database_version()[:2]))
    called = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}[connection.vendor]
    return well(f"{called} {major} answers, {database_size() / MEGABYTE:,.0f} MB")


def check_migrations() -> Iterator[Finding]:
    """Yield migrations that were not applied, and those that this code does not have."""
    loader = MigrationLoader(connection)
    unknown = unknown_migrations(loader.applied_migrations)
    missing = sorted(set(loader.graph.nodes) - set(loader.applied_migrations))
    if unknown:
        yield must_mend(
            f"the database is newer than this code, which does not know {_some(unknown)}",
            "Install the version that migrated it, or restore a backup of before: see Rolling back",
        )
    if missing:
        names = [f"{app}.{name}" for app, name in missing]
        yield must_mend(f"not applied: {_some(names)}", "Run tandem migrate")
    if not unknown and not missing:
        yield well("all are applied, and all are known")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def database_time() -> datetime:
    """Return the time by the database's clock."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)  # the same machine's clock
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment.astimezone(UTC)


def check_clock() -> Finding:
    """Compare the database's clock with this machine's."""
    before = datetime.now(UTC)
    theirs = database_time()
    ours = before + (datetime.now(UTC) - before) / 2
    apart = abs((theirs - ours).total_seconds())
    if apart < CLOCK_SECONDS:
        return well(f"database and machine agree; it is {theirs:%Y-%m-%d %H:%M} UTC")
    found = must_mend if apart >= LARGE_CLOCK_SECONDS else warning
    return found(
        f"the database's clock and this machine's are {apart:,.0f} s apart",
        "Have both machines set their clocks by NTP",
    )


def check_disk() -> Iterator[Finding]:
    """Yield folders that are full or cannot be written."""
    places = {"the data folder": data_folder()}
    if connection.vendor == "sqlite":
        places["the database's folder"] = Path(database_name()).parent
    seen = set()
    for what, folder in places.items():
        if folder.exists() and folder.stat().st_dev not in seen:
            seen.add(folder.stat().st_dev)
            yield _room(what, folder)
            yield from _unwritable(what, folder)


def _room(what: str, folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free // MEGABYTE
    says = f"{what} {folder} has {free:,} MB free"
    if free < LEAST_MB:
        return must_mend(says, "Make room: without it no answer can be saved")
    if free < FEW_MB:
        return warning(says, "Make room before it is full")
    return well(says)


def _unwritable(what: str, folder: Path) -> Iterator[Finding]:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        yield must_mend(
            f"{what} {folder} cannot be written ({error.strerror})",
            "Make room, or let the site's user write it",
        )


def check_modes() -> Iterator[Finding]:
    """Yield parts of the data folder that other accounts of the machine can read or write."""
    open_to_others, foreign = [], []
    for path in _private_paths():
        try:
            found = path.stat()
        except OSError:
            continue
        if stat.S_IMODE(found.st_mode) & OTHERS_READ_OR_WRITE:
            open_to_others.append(str(path))
        if os.geteuid() not in (0, found.st_uid):
            foreign.append(str(path))
    if open_to_others:
        yield must_mend(
            f"other accounts of this machine can read {_some(open_to_others)}",
            f"Run chmod go-rw {' '.join(open_to_others)}",
        )
    if foreign:
        yield must_mend(
            f"another account owns {_some(foreign)}", "Give them to the account of the site"
        )
    if not open_to_others and not foreign:
        yield well("only the site's account can read the data folder")


def _private_paths() -> Iterator[Path]:
    """Yield what a stranger must not read: a folder's mode protects what is in it."""
    folder = data_folder()
    yield folder
    if connection.vendor == "sqlite":
        yield from (Path(f"{database_name()}{end}") for end in ("", "-wal", "-shm"))
    yield from (folder / name for name in KEPT)
