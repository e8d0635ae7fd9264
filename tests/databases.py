"""A database for commands that a test starts as separate processes.

On SQLite it is a file in the test's folder. If DATABASE_URL names a PostgreSQL server, the test
gets a database there that is named after the folder, so the same folder has the same database.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.cache import caches
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model
from psycopg import sql

from tests.extent import Extent
from tests.migrating import VERSION_0_5_0, quickly

SERVER = os.environ.get("DATABASE_URL", "")
ON_POSTGRESQL = SERVER.startswith("postgres")
DECIDED = ("DATABASE_URL", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND", "SECRET_KEY",
           "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TANDEM_DATA_DIR", "DEBUG")  # fmt: skip

FILE = "tandem.sqlite3"


@contextmanager
def rolling_back() -> Iterator[None]:
    """Roll back everything written within the block."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def rolled_back(django_db_blocker: Any) -> Iterator[None]:
    """Roll the test database back after a module's data were used, including the audit trail."""
    with django_db_blocker.unblock(), rolling_back():
        yield


@contextmanager
def emptying_after(django_db_blocker: Any) -> Iterator[None]:
    """Like `rolled_back`, but for large data, which is committed and then deleted.

    PostgreSQL's plans for uncommitted rows are bad.
    """
    with django_db_blocker.unblock():
        try:
            yield
        finally:
            empty()


def empty() -> None:
    """Remove committed data.

    On SQLite this restores the migrated file, and on PostgreSQL it empties only tables with rows.
    Both take a tenth of the time of Django's flush.
    """
    if ON_POSTGRESQL:
        _empty_tables()
    else:
        restore(_EMPTY)
    for cache in caches.all():  # its keys contain numbers that are now reused
        cache.clear()


def restore(kept: str | Path) -> None:
    """Replace the content of SQLite's test database by that of another file."""
    connection.close()  # a statement with unread rows would keep the file in use
    _copy_rows(kept, connection.settings_dict["NAME"])


def keep(file: Path) -> None:
    """Copy the content of SQLite's test database to a file."""
    _copy_rows(connection.settings_dict["NAME"], file)


def _copy_rows(name: str | Path, to: str | Path) -> None:
    with closing(sqlite3.connect(name)) as source, closing(sqlite3.connect(to)) as target:
        target.execute("PRAGMA synchronous=OFF")
        source.backup(target)


# Migrations fill these tables, and no test writes to them.
FILLED = {"auth_permission", "django_content_type", "django_migrations"}
FIRST_NUMBERS = """
SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE last_value IS NOT NULL AND sequencename NOT LIKE ALL (%s)
"""


def _empty_tables() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # This disables foreign keys and triggers.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_tables_with_rows())
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608
        cursor.execute(FIRST_NUMBERS, [[f"{name}%" for name in FILLED]])


@functools.cache
def _tables_with_rows() -> str:
    """Return the statement that lists the tables with rows."""
    names = sorted(set(connection.introspection.table_names()) - FILLED)
    each = (
        f"SELECT '{name}' WHERE EXISTS (SELECT FROM {connection.ops.quote_name(name)})"  # noqa: S608
        for name in names
    )
    return " UNION ALL ".join(each)


@contextmanager
def migrated(worker: str | None = None) -> Iterator[None]:
    """Provide the settings' database for tests. A worker's database is a copy of its parent's."""
    creation, name = connection.creation, connection.settings_dict["NAME"]
    if worker is None:
        _make_test_database()
        _keep_empty()
    else:
        creation.clone_test_db(suffix=worker, verbosity=0)
        connection.settings_dict.update(creation.get_test_db_clone_settings(worker))
    try:
        yield
    finally:
        disconnect()
        creation.destroy_test_db(name, verbosity=0)


# Everything that determines a migrated database.
MADE_FROM = (
    "*/migrations/*.py", "*/models.py", "*/models/*.py", "*/apps.py", "annotation/counters.py",
    "audit/*.py", "config/settings.py", "config/sqlite/*.py", "datasets/db/*.py",
    "datasets/access.py", "requirements.lock", "tests/databases.py", "tests/migrating.py",
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[1]
MIGRATED = ROOT / ".pytest_cache" / "migrated"
KEPT = 4  # the most recently used migrated SQLite files


def _make_test_database() -> None:
    """Create the test database.

    SQLite's file is kept until a migration changes, since migrating takes long.
    """
    global _OF_VERSION_0_5_0
    name = connection.creation._get_test_db_name()  # type: ignore[attr-defined]
    _OF_VERSION_0_5_0 = f"{name}_of_0_5_0"
    if ON_POSTGRESQL:
        _migrate()
        return
    parts = sorted(path for pattern in MADE_FROM for path in ROOT.glob(pattern))
    # With --all, migrate as Django does: see `tests.migrating`.
    digest = hashlib.sha256(b"all" if Extent.everything else b"")
    for path in parts:
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    kept = MIGRATED / f"{digest.hexdigest()}.sqlite3"
    try:
        os.utime(kept)
        shutil.copy(_of_version_0_5_0(kept), _OF_VERSION_0_5_0)
    except OSError:
        _migrate()
        disconnect()
        _keep(kept)
        return
    connection.close()
    shutil.copy(kept, name)
    connection.settings_dict["NAME"] = settings.DATABASES["default"]["NAME"] = name


def _migrate() -> None:
    """Migrate an empty test database, and keep a copy of version 0.5.0 on the way."""
    creation: Any = connection.creation
    disconnect()
    creation._create_test_db(verbosity=0, autoclobber=True)
    connection.settings_dict["NAME"] = creation._get_test_db_name()
    with quickly():
        MigrationExecutor(connection).migrate(VERSION_0_5_0)
        copy_database(str(connection.settings_dict["NAME"]), _OF_VERSION_0_5_0)
        creation.create_test_db(verbosity=0, keepdb=True)


def copy_database(name: str, to: str) -> None:
    """Copy a database, replacing any database of that name, and close all connections."""
    disconnect()
    _drop(to)
    if not ON_POSTGRESQL:
        shutil.copy(name, to)
        return
    with psycopg.connect(SERVER, autocommit=True) as server:
        here, there = sql.Identifier(to), sql.Identifier(name)
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(here, there))


@contextmanager
def other_database(django_db_blocker: Any, name: str) -> Iterator[None]:
    """Use another database in place of the tests' own, and drop it afterwards.

    It is empty if there is none of that name. This is for changes that no transaction can undo. No
    transaction may be open, so the test must not have the mark `django_db`, or a fixture of the
    module must enter this first.
    """
    own = str(connection.settings_dict["NAME"])
    with django_db_blocker.unblock():
        if ON_POSTGRESQL:
            _database(name, None)
        _switch_to(name)
        try:
            yield
        finally:
            _switch_to(own)
            _drop(name)


def _switch_to(name: str) -> None:
    disconnect()
    connection.settings_dict["NAME"] = name
    # Both cache primary keys, which differ in the other database.
    ContentType.objects.clear_cache()
    for cache in caches.all():
        cache.clear()


def _drop(name: str) -> None:
    if ON_POSTGRESQL:
        with psycopg.connect(SERVER, autocommit=True) as server:
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        return
    for end in ("", "-wal", "-shm"):
        Path(f"{name}{end}").unlink(missing_ok=True)


def _of_version_0_5_0(kept: Path) -> Path:
    return kept.with_suffix(".of_0_5_0")


def _keep(kept: Path) -> None:
    """Keep the test database and, before it since it is looked up first, that of version 0.5.0."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    name = str(connection.settings_dict["NAME"])
    for made, place in ((_OF_VERSION_0_5_0, _of_version_0_5_0(kept)), (name, kept)):
        new = place.with_suffix(f".{os.getpid()}")
        shutil.copy(made, new)
        new.replace(place)
    for old in sorted(kept.parent.glob("*.sqlite3"), key=lambda path: -path.stat().st_mtime)[KEPT:]:
        for each in (old, _of_version_0_5_0(old)):
            each.unlink(missing_ok=True)


@functools.cache
def _readings() -> tuple[tuple[type[Model], str], ...]:
    """Return the statement that reads each table, cached since compiling would take longest."""
    return tuple(
        (model, model._default_manager.order_by("pk").values_list().query.sql_with_params()[0])
        for model in apps.get_models(include_auto_created=True)
    )


def state(but: tuple[type[Model], ...] = ()) -> dict[str, str]:
    """Return a digest of every table except sessions and jobs.

    Sessions store a person's last visit, and jobs compute results on request.
    """
    found = {}
    with connection.cursor() as cursor:
        for model, statement in _readings():
            if model._meta.label not in PASSING and model not in but:
                cursor.execute(statement)
                rows = repr(cursor.fetchall()).encode()
                found[model._meta.db_table] = hashlib.sha256(rows).hexdigest()
    return found


PASSING = {"sessions.Session", "datasets.Job", "datasets.JobAsker", "datasets.Worker"}


@contextmanager
def assert_unchanged(but: tuple[type[Model], ...] = ()) -> Iterator[None]:
    """Fail if a table changes within the block, except for the tables in `but` and sessions.

    On SQLite tables are compared only if a row was written. They are compared with their state
    before the block, to which they are rolled back.
    """
    if ON_POSTGRESQL:
        before = state(but)
        yield
        _assert_equal(before, state(but))
        return
    point, written = transaction.savepoint(), connection.connection.total_changes
    yield
    if connection.connection.total_changes != written:
        after = state(but)
        transaction.savepoint_rollback(point)
        _assert_equal(state(but), after)


def _assert_equal(before: dict[str, str], after: dict[str, str]) -> None:
    changed = [table for table in before if before[table] != after[table]]
    assert not changed, f"changed: {', '.join(changed)}"


def disconnect() -> None:
    """Close connections, so that a database can be copied, dropped or used by forks."""
    connection.close()
    if ON_POSTGRESQL:
        connection.close_pool()  # type: ignore[attr-defined]


# Names of copies, set before any fork: of the test database, which has all tables, and of its
# earlier state with the tables of version 0.5.0.
_EMPTY = _OF_VERSION_0_5_0 = ""


def _keep_empty() -> None:
    """Keep an empty migrated copy for processes, since migrating takes seconds."""
    global _EMPTY
    name = str(connection.settings_dict["NAME"])
    _EMPTY = f"{name}_empty"
    copy_database(name, _EMPTY)


def copy_version_0_5_0(to: str) -> None:
    """Copy an empty database of version 0.5.0."""
    copy_database(_OF_VERSION_0_5_0, to)


def environment(
    folder: Path, copy_of: Path | None = None, *, migrated: bool = False
) -> dict[str, str]:
    """The environment of a process with its data in `folder`, new or copied from another folder.

    Only the database is copied; the caller copies files. A new database has no
    tables, or all tables if `migrated`, which requires the tests' own database.
    """
    assert _EMPTY or not migrated, "ask for django_db_setup"
    kept = {name: value for name, value in os.environ.items() if name not in DECIDED}
    kept |= {"DEBUG": "1", "TANDEM_DATA_DIR": str(folder)}
    if ON_POSTGRESQL:
        like = _name(copy_of) if copy_of else _EMPTY if migrated else None
        return kept | {"DATABASE_URL": _database(_name(folder), like)}
    if migrated and not (folder / FILE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(_EMPTY, folder / FILE)
    return kept


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
