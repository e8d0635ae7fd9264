"""Waiting until the disk has a commit, for several commits at once.

SQLite waits for the disk while it still keeps other writers out (`synchronous=FULL`), so each save
would wait for those of everybody before it. Here a transaction commits without waiting, lets the
next writer in, and then waits until the write-ahead log is on the disk. One wait serves everybody
who has committed before it began. A save is confirmed after that wait, so a confirmed save survives
a power cut as before: every frame up to its own is on the disk, in the order in which SQLite wrote
them. At a checkpoint SQLite itself waits for the disk, with `NORMAL` too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_sync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class Log:
    """The write-ahead log of one database file, as the threads of this process wait for it."""

    def __init__(self, database: str) -> None:
        self._path = f"{database}-wal"
        self._changed = threading.Condition()
        self._is_syncing = False
        self._begun = self._done = 0

    def sync(self) -> None:
        """Return when everything committed before the call is on the disk. Raises OSError."""
        with self._changed:
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
            # The last other connection closed, and took everything into the database file.
            return
        try:
            _sync(file)
        finally:
            os.close(file)


class Turn:
    """This process's place in the queue of writers, which one of its threads has at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_logs: dict[str, Log] = {}
_turns: dict[str, Turn] = {}
_creating = threading.Lock()


def log_of(database: str) -> Log:
    with _creating:
        return _logs.setdefault(database, Log(database))


def turn_of(database: str) -> Turn:
    with _creating:
        return _turns.setdefault(database, Turn())


def _forget() -> None:
    """Start anew in a forked child, whose parent's threads do not exist in it."""
    global _creating
    _creating = threading.Lock()
    _logs.clear()
    _turns.clear()


os.register_at_fork(after_in_child=_forget)
