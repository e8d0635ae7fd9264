"""Copy a database while people save, and load a copy into an empty one, whole or not at all.

SQLite has an online backup, and a reader never blocks its writer. The copy is read in one
transaction, so a save does not make it start again, and in steps with pauses, so that it leaves
disk and processor to saves. PostgreSQL's own `pg_dump` and the counts share one snapshot. Sessions
are not copied: whoever has a backup could otherwise use them, and after a restore all have ended.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.db import DEFAULT_DB_ALIAS, connection, connections

from datasets.backup.archive import Archive, BackupError
from datasets.priority import environment_of_child

SESSIONS = "django_session"
PAGES = 1000
PAUSE = 0.005
LIBPQ = (
    "host", "hostaddr", "port", "user", "dbname", "passfile", "service", "sslmode", "sslcert",
    "sslkey", "sslrootcert", "sslcrl", "target_session_attrs", "gssencmode", "channel_binding",
    "connect_timeout",
)  # fmt: skip
"""The parts of a connection's settings that are for libpq's programs, too; none is a secret."""
CLIENT = (
    "install PostgreSQL's client programs, of the server's version or newer (Debian: the package "
    "postgresql-client), or run this command where they are"
)


@dataclass(frozen=True)
class Copy:
    """A copy of the database, of one moment: its rows by table, and its migrations."""

    at: datetime
    tables: dict[str, int]
    migrations: list[str]


def name() -> str:
    """Return the name of the database: with SQLite, the path of its file."""
    return str(connection.settings_dict["NAME"])


def size() -> int:
    """Return the size of the database in bytes."""
    if connection.vendor == "sqlite":
        beside = (Path(f"{name()}{end}") for end in ("", "-wal"))
        return sum(path.stat().st_size for path in beside if path.exists())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def copy(to: Path) -> Copy:
    """Copy the database to a new file. Raises OSError, BackupError and Django's errors."""
    os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return _copy_sqlite(to) if connection.vendor == "sqlite" else _dump(to)


def is_empty() -> bool:
    """Return whether the database has no tables. With SQLite, its file need not exist."""
    if connection.vendor == "sqlite" and not Path(name()).exists():
        return True
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor)


def _copy_sqlite(to: Path) -> Copy:
    if not Path(name()).is_file():
        raise BackupError(f"There is no database {name()}; correct DATABASE_URL")
    try:
        with closing(sqlite3.connect(name(), isolation_level=None, timeout=20)) as source:
            source.execute("BEGIN")
            # Only a read begins the transaction that the whole copy sees.
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            at = datetime.now(UTC)
            with closing(sqlite3.connect(to)) as target:
                target.execute("PRAGMA synchronous=OFF")
                source.backup(target, pages=PAGES, progress=lambda *_: time.sleep(PAUSE))
        with closing(sqlite3.connect(to, isolation_level=None)) as target:
            # One file, without a log beside it. A restored site sets WAL again.
            target.execute("PRAGMA journal_mode=DELETE")
            target.execute("PRAGMA synchronous=OFF")
            end_sessions(target)
            return Copy(at, *_facts(target))
    except sqlite3.Error as error:
        raise BackupError(f"The database cannot be copied: {error}") from error


def end_sessions(database: sqlite3.Connection) -> None:
    """Delete all sessions, and overwrite what they were."""
    database.execute("PRAGMA secure_delete=ON")
    if _has(database, SESSIONS):
        database.execute(f"DELETE FROM {SESSIONS}")  # noqa: S608


def _has(database: sqlite3.Connection, table: str) -> bool:
    found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return database.execute(found, [table]).fetchone() is not None


def _facts(database: sqlite3.Connection) -> tuple[dict[str, int], list[str]]:
    """Return the rows of each table, and the migrations."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = sorted(str(row[0]) for row in database.execute(tables))
    counts = {}
    for table in names:
        quoted = table.replace('"', '""')
        (counts[table],) = database.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()  # noqa: S608
    done: list[str] = []
    if "django_migrations" in counts:
        rows = database.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1")
        done = [str(row[0]) for row in rows]
    return counts, done


def program(called: str) -> str:
    """Return the path of one of PostgreSQL's programs. Raises BackupError."""
    found = shutil.which(called)
    if found is None:
        raise BackupError(f"{called} is not installed; {CLIENT}")
    return found


def _dump(to: Path) -> Copy:
    from psycopg import sql

    pg_dump = program("pg_dump")
    with closing(_separate_connection()) as reader, reader.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot(), clock_timestamp()")
        snapshot, at = cursor.fetchone()
        _run(
            pg_dump, "--format=custom", "--compress=1", "--no-owner", "--no-privileges",
            f"--exclude-table-data={SESSIONS}", f"--snapshot={snapshot}", f"--file={to}",
        )  # fmt: skip
        counts = {}
        for table in sorted(_tables(cursor)):
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            cursor.execute(query)
            counts[table] = 0 if table == SESSIONS else int(cursor.fetchone()[0])
        done: list[str] = []
        if "django_migrations" in counts:
            cursor.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1")
            done = [str(row[0]) for row in cursor.fetchall()]
        cursor.execute("ROLLBACK")
    return Copy(at.astimezone(UTC), counts, done)


def _separate_connection() -> Any:
    """Return a connection of its own, without the statement timeout that pages have."""
    return connections.create_connection(DEFAULT_DB_ALIAS)


def _tables(cursor: Any) -> list[str]:
    return [
        info.name for info in connection.introspection.get_table_list(cursor) if _is_table(info)
    ]


def _is_table(info: Any) -> bool:
    return str(info.type) in ("t", "p")


def _run(*command: str) -> None:
    """Run one of PostgreSQL's programs on the site's database. Raises BackupError."""
    from psycopg.conninfo import make_conninfo

    settings: dict[str, Any] = connection.get_connection_params()
    shown = {key: settings[key] for key in LIBPQ if settings.get(key) not in (None, "")}
    env = environment_of_child()
    if settings.get("password"):
        # Not on the command line, which other accounts of the machine can read.
        env["PGPASSWORD"] = str(settings["password"])
    done = subprocess.run(
        [*command, f"--dbname={make_conninfo(**shown)}"], env=env, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    if done.returncode:
        said = " ".join(done.stderr.split())[-600:]
        mend = f" ({CLIENT})" if "version" in said and "mismatch" in said else ""
        raise BackupError(f"{Path(command[0]).name} failed: {said}{mend}")


@dataclass(frozen=True)
class PreparedDatabase:
    """A database that is ready to be put into place by one step."""

    path: Path

    def put_into_place(self) -> None:
        """Replace the empty database, whole or not at all. Raises OSError and BackupError."""
        connection.close()
        if connection.vendor == "sqlite":
            # Without tables its log holds nothing, but SQLite would take it for the new file's.
            for end in ("-wal", "-shm"):
                Path(f"{name()}{end}").unlink(missing_ok=True)
            self.path.replace(name())
            return
        _run(
            program("pg_restore"), "--single-transaction", "--exit-on-error", "--no-owner",
            "--no-privileges", str(self.path),
        )  # fmt: skip
        with closing(_separate_connection()) as loaded, loaded.cursor() as cursor:
            cursor.execute(f"DELETE FROM {SESSIONS}")  # noqa: S608
            # A dump has no statistics, without which the first pages would be slow.
            cursor.execute("ANALYZE")


def prepare(archive: Archive, scratch: Path) -> PreparedDatabase:
    """Extract an archive's database and examine it. Raises OSError and BackupError."""
    extracted = scratch / archive.manifest.database
    archive.extract(archive.manifest.database, extracted)
    if connection.vendor == "sqlite":
        _examine(extracted, archive)
    else:
        program("pg_restore")
    return PreparedDatabase(extracted)


def _examine(path: Path, archive: Archive) -> None:
    """Check that a SQLite file is whole and has the manifest's rows, and end its sessions."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise BackupError(f"The archive's database is damaged: {verdict}; take another")
            end_sessions(database)
            counts, done = _facts(database)
    except sqlite3.Error as error:
        raise BackupError(
            f"The archive's database cannot be read: {error}; take another"
        ) from error
    if (counts, done) != (archive.manifest.tables, sorted(archive.manifest.migrations)):
        raise BackupError(
            "The archive's database has other rows than its manifest says; take another"
        )


@contextmanager
def scratch_database(folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database of its own, which is removed again. Raises BackupError."""
    from psycopg import sql

    if connection.vendor == "sqlite":
        yield f"sqlite:///{folder / 'tandem.sqlite3'}"
        return
    named = f"{name()[:40]}_restore_test"
    here = sql.Identifier(named)
    with closing(_separate_connection()) as server, server.cursor() as cursor:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(here)
        cursor.execute(drop)
        try:
            cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(here))
        except Exception as error:
            raise BackupError(
                f"The scratch database {named} cannot be created ({' '.join(str(error).split())}); "
                "allow it: ALTER ROLE … CREATEDB"
            ) from error
        try:
            yield _url_of(named)
        finally:
            cursor.execute(drop)


def _url_of(named: str) -> str:
    """Return DATABASE_URL with another database's name."""
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{named}").geturl()
