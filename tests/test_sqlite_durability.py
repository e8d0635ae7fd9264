"""A commit on SQLite is confirmed once the disk has it, and keeps no other writer waiting."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler, OperationalError
from pytest_django import DjangoDbBlocker

from config.sqlite import durability
from tests.sqlite_writers import database

pytestmark = pytest.mark.once
ENOUGH = 60.0  # seconds


@pytest.fixture
def path(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    file = str(tmp_path / "a.sqlite3")
    made = sqlite3.connect(file)
    made.executescript("PRAGMA journal_mode=WAL; CREATE TABLE saves (n);")
    made.close()
    with django_db_blocker.unblock():
        yield file


class Disk:
    """A disk that finishes writing a log only when the test says so."""

    def __init__(self) -> None:
        self.begun, self.waits = threading.Semaphore(0), threading.Event()
        self.times = 0
        self.fails = False

    def sync(self, file: int) -> None:
        self.times += 1
        self.begun.release()
        assert self.waits.wait(ENOUGH)
        if self.fails:
            raise OSError(5, "Input/output error")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(durability, "_sync", disk.sync)
    return disk


def connection_to(path: str) -> BaseDatabaseWrapper:
    return ConnectionHandler({"default": database(path, ENOUGH)})["default"]


def save(path: str, number: int, confirmed: list[int]) -> None:
    connection = connection_to(path)
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO saves VALUES (%s)", [number])
    connection.commit()
    confirmed.append(number)
    connection.close()


def saving(path: str, number: int, confirmed: list[int]) -> threading.Thread:
    thread = threading.Thread(target=save, args=(path, number, confirmed))
    thread.start()
    return thread


def stored(path: str) -> list[int]:
    reader = sqlite3.connect(path)
    try:
        return [n for (n,) in reader.execute("SELECT n FROM saves ORDER BY n")]
    finally:
        reader.close()


def test_a_commit_is_confirmed_after_the_sync_and_one_sync_serves_all_waiting_commits(
    path: str, disk: Disk
) -> None:
    confirmed: list[int] = []
    first = saving(path, 0, confirmed)
    assert disk.begun.acquire(timeout=ENOUGH)
    # The first writer has given its turn back, so that the others can write while it waits.
    others = [saving(path, n, confirmed) for n in (1, 2, 3)]
    waited = threading.Event()
    while stored(path) != [0, 1, 2, 3]:
        assert not waited.wait(0.01)
    assert confirmed == []
    assert disk.times == 1
    disk.waits.set()
    for thread in (first, *others):
        thread.join(ENOUGH)
    assert sorted(confirmed) == [0, 1, 2, 3]
    # The writers that had committed before the second wait began shared it.
    assert 2 <= disk.times <= 3


def test_a_commit_is_not_confirmed_if_the_sync_fails(path: str, disk: Disk) -> None:
    disk.fails = True
    disk.waits.set()
    with pytest.raises(OperationalError, match="disk I/O error"):
        save(path, 0, [])


def test_writes_outside_a_transaction_are_synced_by_sqlite_itself(path: str, disk: Disk) -> None:
    disk.waits.set()
    connection = connection_to(path)
    for end in (connection.commit, connection.rollback):
        connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        end()
        connection.set_autocommit(True)
        with connection.cursor() as cursor:
            assert cursor.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_the_write_ahead_log_is_checkpointed_beside_the_writers(
    path: str, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durability, "COMMITS", 2)
    disk.waits.set()
    # A reader keeps the last closing connection from copying the log.
    reader = sqlite3.connect(path)
    reader.execute("SELECT * FROM saves").fetchall()
    empty = Path(path).read_bytes()
    confirmed: list[int] = []
    copied = threading.Event()
    for number in range(int(ENOUGH * 100)):
        # While a connection closes, its lock is taken, so the log is copied at a later commit.
        save(path, number, confirmed)
        copied.wait(0.01)
        if number and Path(path).read_bytes() != empty:
            break
    assert Path(path).read_bytes() != empty
    reader.close()


def test_no_process_is_forked_while_the_thread_is_inside_sqlite(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its child would wait for ever for a lock of SQLite's that no thread of its own holds."""
    inside, may_leave, forked = threading.Event(), threading.Event(), threading.Event()

    def connect(*_: object, **__: object) -> sqlite3.Connection:
        inside.set()
        assert may_leave.wait(ENOUGH)
        raise sqlite3.OperationalError("no log")

    def fork() -> None:
        child = os.fork()
        if child == 0:  # pragma: no cover - in the child
            os._exit(0)
        forked.set()
        os.waitpid(child, 0)

    monkeypatch.setattr(durability.sqlite3, "connect", connect)
    checkpoint = threading.Thread(target=durability.log_of(path)._checkpoint)
    checkpoint.start()
    assert inside.wait(ENOUGH)
    splitting = threading.Thread(target=fork)
    splitting.start()
    assert not forked.wait(0.2)
    may_leave.set()
    assert forked.wait(ENOUGH)
    for thread in (checkpoint, splitting):
        thread.join(ENOUGH)


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_other_threads_let_a_writer_of_their_process_go_first(
    path: str, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(durability, "PAUSE_SECONDS", ENOUGH)
    writer = connection_to(path)
    writer.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    paused = threading.Thread(target=durability.pause_for_writer)
    paused.start()
    paused.join(0.05)
    assert paused.is_alive()
    getattr(writer, end)()
    paused.join(ENOUGH)
    assert not paused.is_alive()
    durability.pause_for_writer()
    writer.close()


def test_nobody_pauses_for_longer_than_a_moment(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durability, "PAUSE_SECONDS", 0.0)
    writer = connection_to(path)
    writer.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    paused = threading.Thread(target=durability.pause_for_writer)
    paused.start()
    paused.join(ENOUGH)
    assert not paused.is_alive()
    assert durability.turn_of(path).lock.locked()
    writer.close()
