"""Wait until commits are on the disk, several commits at a time.

SQLite waits for the disk while it still keeps other writers out (`synchronous=FULL`), so each save
would also wait for the disk writes of all saves before it. Here a transaction commits without
waiting, lets the next writer in, and then waits until the write-ahead log is on the disk. One wait
serves every commit that was made before it began. A save is confirmed after that wait, so a
confirmed save survives a power cut as before: every frame up to its own is on the disk, in the
order in which SQLite wrote them. At a checkpoint SQLite itself waits for the disk, with `NORMAL`
too.

When a commit makes the log too long, SQLite has that writer copy it into the database file while
all others wait. Here a separate thread does that every hundred commits, beside the writers, and a
writer has to do it only at a greater length.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

COMMITS = 100
"""The number of a process's commits between two checkpoints by the separate thread."""
PAGES = 10_000
"""Pages of the log at which a writer copies it itself, 40 MB. SQLite's own limit is 1,000."""
PAUSE_SECONDS = 0.005
"""How long a thread lets a writer of its process go first. Writing an answer takes 2 ms;
an import may take seconds."""
_sync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class Log:
    """The write-ahead log of one database file, for which the threads of this process wait."""

    def __init__(self, database: str) -> None:
        self._database, self._path = database, f"{database}-wal"
        self._changed = threading.Condition()
        self._is_syncing = False
        self._begun = self._done = self._commits = 0

    def sync(self) -> None:
        """Return when everything committed before the call is on the disk. Raises OSError."""
        with self._changed:
            self._commits += 1
            if self._commits % COMMITS == 0:
                threading.Thread(target=self._checkpoint, daemon=True).start()
            needed = self._begun + 1
            while self._is_syncing and self._done < needed:
                self._changed.wait()
            if self._done >= needed:
                return
            self._is_syncing = True
            self._begun += 1
            mine = self._begun
        try:
            self._sync_file()
        except BaseException:
            mine = 0
            raise
        finally:
            with self._changed:
                self._is_syncing = False
                self._done = max(self._done, mine)
                self._changed.notify_all()

    def _sync_file(self) -> None:
        try:
            file = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            # The last other connection was closed, which moved everything into the database file.
            return
        try:
            _sync(file)
        finally:
            os.close(file)

    def _checkpoint(self) -> None:
        """Copy the part of the log whose older pages no reader needs, without blocking anybody."""
        if not _checkpointing.acquire(blocking=False):
            return
        try:
            with closing(sqlite3.connect(self._database, timeout=0)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error:
            # If the log gets longer, a writer copies it.
            return
        finally:
            _checkpointing.release()


class Turn:
    """This process's place in the queue of writers, which one of its threads has at a time.

    The threads of a process share one interpreter. A writer releases it at each query. If other
    threads are computing, the writer waits longer to get it back than the query takes, and so do
    all writers behind it. So the others pause before they begin something (`pause_for_writer`).
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._nobody_writes = threading.Event()
        self._nobody_writes.set()

    def begin(self) -> None:
        self._nobody_writes.clear()

    def end(self) -> None:
        self._nobody_writes.set()

    def pause(self) -> None:
        if not self._nobody_writes.is_set():
            self._nobody_writes.wait(PAUSE_SECONDS)


_logs: dict[str, Log] = {}
_turns: dict[str, Turn] = {}
_creating = threading.Lock()
_checkpointing = threading.Lock()
"""Held during a checkpoint, and by a fork: its child would inherit SQLite's own locks as they are,
and wait for ever for the one that the checkpoint's thread held."""


def log_of(database: str) -> Log:
    with _creating:
        return _logs.setdefault(database, Log(database))


def turn_of(database: str) -> Turn:
    with _creating:
        return _turns.setdefault(database, Turn())


def pause_for_writer() -> None:
    """Let the thread of this process that is writing go first, for a moment. Call it before work
    that takes about as long, outside of transactions."""
    for turn in tuple(_turns.values()):
        turn.pause()


def _forget() -> None:
    """Start again in a forked child, which does not have its parent's threads."""
    global _creating, _checkpointing
    _creating, _checkpointing = threading.Lock(), threading.Lock()
    _logs.clear()
    _turns.clear()


os.register_at_fork(
    before=lambda: _checkpointing.acquire(),
    after_in_parent=lambda: _checkpointing.release(),
    after_in_child=_forget,
)
