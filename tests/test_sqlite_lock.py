"""The queue before SQLite's single writer admits everybody, and blocks nobody forever."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler, OperationalError
from pytest_django import DjangoDbBlocker

from config.sqlite import base
from tests.patience import PATIENCE
from tests.sqlite_writers import database

PRAGMAS = ("journal_mode", "synchronous")
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def path(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    file = str(tmp_path / "a.sqlite3")
    made = sqlite3.connect(file)
    made.executescript(
        "PRAGMA journal_mode=WAL; CREATE TABLE counter (n); INSERT INTO counter VALUES (0);"
    )
    made.close()
    with django_db_blocker.unblock():
        yield file


def connection_to(path: str, timeout: float = 20) -> BaseDatabaseWrapper:
    return ConnectionHandler({"default": database(path, timeout)})["default"]


def begin(connection: BaseDatabaseWrapper) -> None:
    """Do this as the outermost `atomic` does."""
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def run(path: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sqlite_writers", path, *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def holder(path: str) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a transaction."""
    process = run(path, "hold")
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate(timeout=PATIENCE)


def counted(path: str) -> int:
    reader = sqlite3.connect(path)
    try:
        return int(reader.execute("SELECT n FROM counter").fetchone()[0])
    finally:
        reader.close()


def assert_gets_in(path: str, timeout: float = 5) -> None:
    connection = connection_to(path, timeout)
    begin(connection)
    connection.commit()
    connection.close()


def test_the_site_uses_this_backend_wherever_it_uses_sqlite() -> None:
    from config.env import ENGINES

    engine = settings.DATABASES["default"]["ENGINE"]
    assert engine in ("config.sqlite", "django.db.backends.postgresql")
    assert "django.db.backends.sqlite3" in ENGINES, "what DATABASE_URL is read to"


def test_a_confirmed_save_outlives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> None:
    from config.env import database as site_database

    monkeypatch.delenv("DATABASE_URL", raising=False)
    with django_db_blocker.unblock():
        connection = ConnectionHandler({"default": site_database(tmp_path)})["default"]
        with connection.cursor() as cursor:
            levels = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS]
        connection.close()
    assert levels == ["wal", 2], "FULL is 2: each commit waits for the disk"


def test_the_backend_identifies_as_sqlite(path: str) -> None:
    connection = connection_to(path)
    assert connection.vendor == "sqlite"
    assert connection.introspection.table_names() == ["counter"]


def test_the_same_sql_is_always_rewritten_the_same_way(path: str) -> None:
    with connection_to(path).cursor() as cursor:
        for value in ("%s ? 100%", "again"):
            cursor.execute("SELECT %s, '50%%', '?'", [value])
            assert cursor.fetchone() == (value, "50%", "?")
            cursor.execute("SELECT %(value)s", {"value": value})
            assert cursor.fetchone() == (value,)


def test_many_threads_of_two_processes_write_and_none_is_refused(path: str) -> None:
    processes = [run(path, "write", "8", "40") for _ in range(2)]
    errors = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert counted(path) == 2 * 8 * 40


def test_a_killed_holder_lets_the_next_one_in(path: str, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(OperationalError, match="database is locked"):
        begin(connection_to(path, timeout=0.1))
    holder.kill()
    holder.wait(PATIENCE)
    assert_gets_in(path)


def test_a_frozen_holder_is_waited_for_until_the_timeout(
    path: str, holder: subprocess.Popen[str]
) -> None:
    holder.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(OperationalError, match="database is locked"):
        begin(connection_to(path, timeout=0.5))
    assert 0.5 <= time.monotonic() - began < PATIENCE


def test_a_writer_that_timed_out_can_try_again(path: str, holder: subprocess.Popen[str]) -> None:
    connection = connection_to(path, timeout=0.1)
    for _ in range(2):
        with pytest.raises(OperationalError):
            begin(connection)
    holder.kill()
    holder.wait(PATIENCE)
    begin(connection)
    connection.rollback()
    connection.close()


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_every_way_to_end_a_transaction_releases_the_turn(path: str, end: str) -> None:
    connection = connection_to(path)
    begin(connection)
    getattr(connection, end)()
    assert_gets_in(path)
    connection.close()


def test_a_failed_commit_keeps_the_turn_until_it_is_rolled_back(path: str) -> None:
    connection = connection_to(path)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE a (id INTEGER PRIMARY KEY)")
        cursor.execute("CREATE TABLE b (a REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED)")
    begin(connection)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO b VALUES (7)")
    with pytest.raises(Exception, match="FOREIGN KEY"):
        connection.commit()
    connection.rollback()
    assert_gets_in(path)
    connection.close()


def test_a_single_statement_needs_no_turn_and_waits_for_the_writer(path: str) -> None:
    inside, outside = connection_to(path), connection_to(path, timeout=0.2)
    begin(inside)
    with pytest.raises(OperationalError, match="locked"), outside.cursor() as cursor:
        cursor.execute("UPDATE counter SET n = 5")
    inside.commit()
    with outside.cursor() as cursor:
        cursor.execute("UPDATE counter SET n = 5")
    assert counted(path) == 5
    inside.close()
    outside.close()


def test_the_value_for_a_free_turn_is_no_possible_file_descriptor() -> None:
    """A service may start with its first files closed; then the turn's file gets 0, 1 or 2."""
    assert base.FREE < 0


def test_a_forked_child_does_not_keep_its_parents_turn(path: str) -> None:
    connection = connection_to(path)
    begin(connection)
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        time.sleep(30)
        os._exit(0)
    try:
        connection.commit()
        assert_gets_in(path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        connection.close()


def test_a_database_in_memory_has_no_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> None:
    monkeypatch.chdir(tmp_path)
    with django_db_blocker.unblock():
        for name in (":memory:", "file:turns?mode=memory&cache=shared"):
            connection = connection_to(name)
            begin(connection)
            connection.commit()
    assert list(tmp_path.iterdir()) == []


def test_writing_works_without_a_queue_if_its_file_cannot_be_created(path: str) -> None:
    Path(f"{path}-turn").mkdir(mode=0)
    assert_gets_in(path)
