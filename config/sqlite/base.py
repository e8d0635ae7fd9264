"""Django's SQLite backend with a queue in front of its single writer.

A writer that finds SQLite busy sleeps for longer and longer, up to a tenth of a second, although
the other writer is done after three milliseconds. This caused the slowest saves. Here a transaction
first takes its turn: among the threads of its process, and then a lock on a file beside the
database, which it tries more than once a millisecond. The file's lock only orders the writers;
SQLite's own lock still protects the data, also against writers that do not queue. When a
transaction has committed, it gives its turn back, and then waits for the disk (`durability`).
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3 import base, operations
from django.db.utils import OperationalError

from audit.append_only import create_statements, drop_statements
from config.sqlite.durability import PAGES, Turn, log_of, pause_for_writer, turn_of

# The stubs lack the methods that are overridden here.
_Django: Any = base.DatabaseWrapper
_Cursor: Any = base.SQLiteCursorWrapper
_Operations: Any = operations.DatabaseOperations
# Seconds between two checks whether another process has its turn. Most transactions take a few
# milliseconds.
STEP = 0.0003
FREE = -1
FULL = 2  # the level of `PRAGMA synchronous` that waits at each commit


class Cursor(_Cursor):
    """A cursor that caches rewritten SQL, since long inserts recur."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        if param_names is None:
            return _to_qmark_style(query)
        return str(super().convert_query(query, param_names=param_names))


@lru_cache(maxsize=512)
def _to_qmark_style(query: str) -> str:
    return str(base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%"))


class Operations(_Operations):
    """Makes `flush` empty the audit trail, too, by dropping and recreating its triggers."""

    def sql_flush(self, style: Any, tables: Any, **how: Any) -> list[str]:
        emptied = super().sql_flush(style, tables, **how)
        return (
            [*drop_statements("sqlite"), *emptied, *create_statements("sqlite")] if emptied else []
        )


class DatabaseWrapper(_Django):
    """A connection. The kernel releases the turn of a killed process."""

    ops_class = Operations

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn = FREE
        self._threads_turn: Turn | None = None
        self._waits_for_disk = False
        _wrappers.add(self)

    def get_new_connection(self, conn_params: Any) -> Any:
        connection = super().get_new_connection(conn_params)
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        (level,) = connection.execute("PRAGMA synchronous").fetchone()
        self._waits_for_disk = (mode, level) == ("wal", FULL)
        if self._waits_for_disk:
            connection.execute(f"PRAGMA wal_autocheckpoint={PAGES}")
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=Cursor)

    def _start_transaction_under_autocommit(self) -> None:
        if self._waits_for_disk:
            self.connection.execute("PRAGMA synchronous=NORMAL")
        self._take_turn()
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self._end_transaction()
            raise

    def _commit(self) -> None:
        was_open = self.connection is not None and self.connection.in_transaction
        super()._commit()
        self._end_transaction()
        if was_open and self._waits_for_disk:
            try:
                log_of(self._name).sync()
                pause_for_writer()
            except OSError as error:
                raise OperationalError(f"disk I/O error ({error.strerror})") from error

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._end_transaction()

    def _end_transaction(self) -> None:
        """Give the turn back. Writes outside of transactions wait for the disk again."""
        self.release_turn()
        connection = self.connection
        if self._waits_for_disk and connection is not None and not connection.in_transaction:
            connection.execute("PRAGMA synchronous=FULL")

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            self.release_turn()

    @property
    def _name(self) -> str:
        return str(self.settings_dict["NAME"])

    def _take_turn(self) -> None:
        if self._turn != FREE or self.transaction_mode != "IMMEDIATE" or _is_no_file(self._name):
            return
        try:
            turn = os.open(f"{self._name}-turn", os.O_RDONLY | os.O_CREAT, 0o644)
        except OSError:
            # The folder may be read-only; the database itself reports what is wrong.
            return
        until = time.monotonic() + self.settings_dict["OPTIONS"].get("timeout", 5)
        threads_turn = turn_of(self._name)
        if not threads_turn.lock.acquire(timeout=max(0.0, until - time.monotonic())):
            os.close(turn)
            raise OperationalError("database is locked")
        try:
            _wait(turn, until)
        except BaseException:
            threads_turn.lock.release()
            os.close(turn)
            raise
        threads_turn.begin()
        self._turn, self._threads_turn = turn, threads_turn

    def release_turn(self) -> None:
        if self._turn != FREE:
            turn, self._turn = self._turn, FREE
            threads_turn, self._threads_turn = self._threads_turn, None
            os.close(turn)
            if threads_turn is not None:
                threads_turn.end()
                threads_turn.lock.release()


def _wait(turn: int, until: float) -> None:
    while True:
        try:
            return fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise OperationalError("database is locked") from error
        time.sleep(STEP)


def _is_no_file(name: str) -> bool:
    return name == ":memory:" or name.startswith("file:")


def _forget_turns() -> None:
    """Release turns in a forked child, which would otherwise keep its parent's."""
    for wrapper in list(_wrappers):
        wrapper.release_turn()


_wrappers: weakref.WeakSet[DatabaseWrapper] = weakref.WeakSet()
os.register_at_fork(after_in_child=_forget_turns)
