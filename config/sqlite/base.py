"""Django's SQLite backend with a queue in front of its single writer.

A writer that finds SQLite busy sleeps ever longer, up to a tenth of a second, although the other
writer is done after three milliseconds: this caused the slowest saves. Here a transaction first
takes its turn, a lock on a file beside the database, and checks for it every millisecond. The lock
protects nothing: SQLite's own lock does, as before, and writers that do not queue are waited for
as before.
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

from audit.append_only import put_on, take_off

# Its stubs leave out what is overridden here.
_Django: Any = base.DatabaseWrapper
_Cursor: Any = base.SQLiteCursorWrapper
_Operations: Any = operations.DatabaseOperations
STEP = 0.001
FREE = -1


class Cursor(_Cursor):
    """A cursor that remembers the SQL it has rewritten: long inserts come again and again."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        if param_names is None:
            return _converted(query)
        return str(super().convert_query(query, param_names=param_names))


@lru_cache(maxsize=512)
def _converted(query: str) -> str:
    return str(base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%"))


class Operations(_Operations):
    """`flush` empties the audit trail too, by statements that its triggers would refuse."""

    def sql_flush(self, style: Any, tables: Any, **how: Any) -> list[str]:
        emptied = super().sql_flush(style, tables, **how)
        return [*take_off("sqlite"), *emptied, *put_on("sqlite")] if emptied else []


class DatabaseWrapper(_Django):
    """One connection. The kernel frees the turn of a process that was killed."""

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
            self.give_turn()
            raise

    def _commit(self) -> None:
        super()._commit()
        self.give_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self.give_turn()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            self.give_turn()

    def _take_turn(self) -> None:
        name = str(self.settings_dict["NAME"])
        if self._turn != FREE or self.transaction_mode != "IMMEDIATE" or _is_no_file(name):
            return
        try:
            turn = os.open(f"{name}-turn", os.O_RDONLY | os.O_CREAT, 0o644)
        except OSError:
            # Somebody else's folder, say; the database itself tells what is wrong with it.
            return
        try:
            _wait(turn, time.monotonic() + self.settings_dict["OPTIONS"].get("timeout", 5))
        except BaseException:
            os.close(turn)
            raise
        self._turn = turn

    def give_turn(self) -> None:
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
    """A child would else keep its parent's turn, after the parent has gone."""
    for wrapper in list(_wrappers):
        wrapper.give_turn()


_wrappers: weakref.WeakSet[DatabaseWrapper] = weakref.WeakSet()
os.register_at_fork(after_in_child=_forget_turns)
