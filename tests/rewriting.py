"""What a cast wrote once is written again, statement by statement, for each test that asks for it.

To load a batch and create a campaign takes longer than what most tests try with them. In a worker
(`tests.workers`) the first call of a function marked `written_again` is the real thing, and its
statements are kept; later calls carry these out. They do so only where all else is the same:

- the database is SQLite's, and as it was migrated or as another such function left it;
- the test has patched nothing and overridden no setting by then.

In all other cases, and outside of workers (mutants, a module by hand), the function is called.
"""

from __future__ import annotations

import functools
import os
import pickle
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
from django.conf import UserSettingsHolder, settings
from django.core.cache import cache
from django.db import connection, transaction

from annotation import presentation
from tests import databases
from tests.workers import NAME

P = ParamSpec("P")
R = TypeVar("R")
Sequences = tuple[tuple[str, int], ...]  # the last number of each table
Statement = tuple[str, Any, bool]  # SQL, its parameters, whether there are many

READS = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK TO", "PRAGMA")
# Where it was tried. Other tests look at stored reports, in files that all workers share.
FOLDERS = ("tests/judging/",)
SEQUENCES = "SELECT name, seq FROM sqlite_sequence ORDER BY name"


@dataclass(frozen=True)
class State:
    """The database as these functions left it, and how one sees that nothing was written since."""

    functions: bytes
    sequences: Sequences
    changes: int


@dataclass(frozen=True)
class Recording:
    statements: Sequence[Statement]
    changes: int  # rows written, by triggers too
    result: bytes


class Plugin:
    """Knows the test that runs."""

    test: pytest.Item | None = None
    state: State | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        Plugin.test, Plugin.state = item, None


_recordings: dict[bytes, Recording] = {}


def written_again(make: Callable[P, R]) -> Callable[P, R]:
    """Mark a function whose arguments decide all that it writes. A path is one of a file."""

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> R:
        before = _functions_so_far() if _is_usual() else None
        if before is None:
            return make(*args, **kwargs)
        given = [_content(each) for each in (*args, *kwargs.items())]
        key = before + pickle.dumps((make.__module__, make.__qualname__, given))
        if key not in _recordings:
            result = _record(key, functools.partial(make, *args, **kwargs))
        else:
            result = _repeat(_recordings[key])
        Plugin.state = State(key, _sequences(), _changes())
        return result

    return made


def _is_usual() -> bool:
    test = Plugin.test
    if test is None or NAME not in os.environ or databases.ON_POSTGRESQL:
        return False
    return test.nodeid.startswith(FOLDERS) and not _patches()


def _patches() -> bool:
    """Whether the test has changed a setting, an object or its environment by now."""
    if isinstance(vars(settings)["_wrapped"], UserSettingsHolder):
        return True
    request = getattr(Plugin.test, "_request", None)
    patch = request and request._fixture_defs.get("monkeypatch")
    if not patch or not patch.cached_result:
        return request is None
    made = patch.cached_result[0]
    # pytest-django itself sets the name of the host that sends mail.
    changed = [name for _, name, _ in made._setattr if name != "DNS_NAME"]
    return bool(changed or made._setitem or made._cwd or made._savesyspath)


def _content(given: object) -> object:
    """What an argument says; a file's folder says nothing."""
    return (given.name, given.read_bytes()) if isinstance(given, Path) else given


def _functions_so_far() -> bytes | None:
    """The calls that made the database what it is; None where something else wrote, too."""
    sequences = _sequences()
    state = Plugin.state
    if state is not None and (state.sequences, state.changes) == (sequences, _changes()):
        return state.functions
    return b"" if sequences == _migrated() else None


def _sequences() -> Sequences:
    with connection.cursor() as cursor:
        cursor.execute(SEQUENCES)
        return tuple(cursor.fetchall())


@functools.cache
def _migrated() -> Sequences:
    with closing(sqlite3.connect(databases._EMPTY)) as empty:
        return tuple(empty.execute(SEQUENCES).fetchall())


def _changes() -> int:
    connection.ensure_connection()
    return int(connection.connection.total_changes)


def _record(key: bytes, make: Callable[[], R]) -> R:
    statements: list[Statement] = []

    def kept(execute: Any, statement: str, values: Any, many: bool, context: Any) -> Any:
        values = list(values) if many else values
        if not statement.startswith(READS):
            statements.append((statement, values, many))
        return execute(statement, values, many, context)

    before = _changes()
    with connection.execute_wrapper(kept):
        result = make()
    _recordings[key] = Recording(statements, _changes() - before, pickle.dumps(result))
    return result


def _repeat(recording: Recording) -> Any:
    before = _changes()
    with transaction.atomic(), connection.cursor() as cursor:
        for statement, values, many in recording.statements:
            (cursor.executemany if many else cursor.execute)(statement, values)
    assert _changes() - before == recording.changes, "what was written again differs"
    # What is remembered of rows goes by their numbers and times, which are the same again.
    presentation._specs.clear()
    presentation._unit_keys.clear()
    cache.clear()
    return pickle.loads(recording.result)
