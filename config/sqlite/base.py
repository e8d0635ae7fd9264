"""Django's SQLite backend with a queue in front of its single writer.

A writer that finds SQLite busy sleeps for longer and longer, up to a tenth of a second, although
the other writer is done after three milliseconds. This caused the slowest saves. Here a transaction
first takes its turn, a lock on a file beside the database, and tries every millisecond. The file's
lock only orders the writers; SQLite's own lock still protects the data, also against writers that
do not queue.
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

# The stubs lack the methods that are overridden here.
_Django: Any = base.DatabaseWrapper
_Cursor: Any = base.SQLiteCursorWrapper
_Operations: Any = operations.DatabaseOperations
STEP = 0.001
FREE = -1


class Cursor(_Cursor):
    """A cursor that caches rewritten SQL, since long inserts recur."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        if param_names is None:
            return _converted(query)
        return str(super().convert_query(query, param_names=param_names))


@lru_cache(maxsize=512)
def _converted(query: str) -> str:
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
        _wrappers.add(self)

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=Cursor)

    def _start_transaction_under_autocommit(self) -> None:
        self._take_turn()
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self.release_turn()
            raise

    def _commit(self) -> None:
        super()._commit()
        self.release_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self.release_turn()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            self.release_turn()

    def _take_turn(self) -> None:
        name = str(self.settings_dict["NAME"])
        if self._turn != FREE or self.transaction_mode != "IMMEDIATE" or _is_no_file(name):
            return
        try:
            turn = os.open(f"{name}-turn", os.O_RDONLY | os.O_CREAT, 0o644)
        except OSError:
            # The folder may be read-only; the database itself reports what is wrong.
            return
        try:
            _wait(turn, time.monotonic() + self.settings_dict["OPTIONS"].get("timeout", 5))
        except BaseException:
            os.close(turn)
            raise
        self._turn = turn

    def release_turn(self) -> None:
        if self._turn != FREE:
            turn, self._turn = self._turn, FREE
            os.close(turn)


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
