"""The journal of an engine: calls that the database does not have yet, in files.

A line holds the calls of one assignment as JSON. An engine has its files locked while it lives, and
deletes each when all its calls are stored. A file without a lock was left by a process that was
killed, and one whose lease was taken over by a process that stands still: `store_left` stores their
calls, so that they are not paid for again. If that process goes on, it stores none of them twice.

The files are not flushed to disk, so they outlive their process but not a failure of power.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db import InterfaceError, OperationalError

from annotation.models import Assignment
from datasets.db.locks import brief_transaction
from judging.answers.calls import Attempt, Call
from judging.answers.results import Result, store_late
from judging.backends.base import Answer
from judging.models import JudgeRun
from judging.runs.shards import is_held

logger = logging.getLogger("tandem.jobs")
FOLDER, ENDING = "journals", ".jsonl"
FILE_RESULTS = 1000
Line = tuple[int, str, Call]


@dataclass
class _File:
    """A file, and the number of the last result in it."""

    path: Path
    descriptor: int
    last: int


class Journal:
    """Keeps the calls of a run's results until they are stored, in the order in which they come.

    Where files cannot be written, `works` becomes false and nothing is kept.
    """

    def __init__(self, run: JudgeRun, lease: uuid.UUID) -> None:
        self._name = f"{_name(run)}-{lease.hex}"
        self._added = self._stored = 0
        self._files: deque[_File] = deque()
        self.works = True

    def add(self, result: Result) -> None:
        self._added += 1
        if not self.works:
            return
        try:
            if not self._files or self._added > self._files[-1].last:
                self._files.append(self._open())
            if result.calls:
                os.write(self._files[-1].descriptor, _line(result))
        except OSError as error:
            logger.warning("answers are stored in small groups, since %s", error)
            self.works = False

    def stored(self, results: int) -> None:
        """Note that this many more results are stored, and delete files that nobody needs."""
        self._stored += results
        while self._files and self._files[0].last <= self._stored:
            _delete(self._files.popleft())

    def close(self) -> None:
        """Delete the files, unless results are left that were not stored."""
        for file in self._files:
            if self._stored >= self._added:
                _delete(file)
            else:
                os.close(file.descriptor)
        self._files.clear()

    def _open(self) -> _File:
        folder = _folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        hidden = folder / f"{self._name}-{uuid.uuid4().hex}"
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Nobody may take it for one that was left before it is locked.
        path = hidden.rename(hidden.with_suffix(ENDING))
        return _File(path, descriptor, self._added + FILE_RESULTS - 1)


def _delete(file: _File) -> None:
    with suppress(OSError):
        file.path.unlink()
    os.close(file.descriptor)


def store_left() -> int:
    """Store the calls in files that engines left on this machine. Return their number."""
    calls = 0
    for path in sorted(_folder().glob(f"*{ENDING}")):
        pk, _, lease, _ = path.stem.split("-")
        # Another worker may be at the same file.
        with suppress(FileNotFoundError), path.open("rb") as file:
            run = JudgeRun.objects.filter(pk=pk).first()
            is_known = run is not None and path.name.startswith(_name(run))
            if _is_locked(file) and (not is_known or is_held(uuid.UUID(lease))):
                continue
            if run is not None and is_known:
                calls += _store_file(run, path, list(_lines(file)))
            path.unlink()
    return calls


def _name(run: JudgeRun) -> str:
    """Return what no other run is called, not even after this one was deleted."""
    return f"{run.pk}-{run.started_at:%Y%m%dT%H%M%S%f}"


def _is_locked(file: BinaryIO) -> bool:
    """Return whether the engine that writes a file lives. Otherwise lock it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _store_file(run: JudgeRun, path: Path, lines: Sequence[Line]) -> int:
    try:
        return _store(run, lines)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # It would fail again before each run.
        logger.exception("the calls in %s cannot be stored", kept := path.with_suffix(".failed"))
        shutil.copyfile(path, kept)
        return 0


def _store(run: JudgeRun, lines: Sequence[Line]) -> int:
    """Store those calls of a run that are not stored yet."""
    rows = {row for row, *_ in lines}
    with brief_transaction():
        asked = dict(Assignment.objects.filter(pk__in=rows).values_list("pk", "attempts"))
        attempts: list[Attempt] = []
        for row, request_hash, call in lines:
            if row in asked:
                asked[row] += 1
                attempts.append((row, asked[row], request_hash, call))
        return store_late(run, attempts).calls


def _folder() -> Path:
    return Path(settings.DATA_DIR) / FOLDER


def _line(result: Result) -> bytes:
    prepared = result.prepared
    kept = prepared.assignment.pk, prepared.request_hash, result.calls
    return _ENCODER.encode(kept).encode() + b"\n"


def _lines(file: BinaryIO) -> Iterator[Line]:
    for line in file:
        try:
            row, request_hash, calls = json.loads(line)
            read = [_call(each) for each in calls]
        except ValueError:
            # Only the last line of a process that was killed can be cut off.
            continue
        for call in read:
            yield row, call.request_hash or request_hash, call


def _call(kept: Mapping[str, Any]) -> Call:
    given = {name: value for name, value in kept.items() if name in _CALL}
    given["sent_at"] = datetime.fromisoformat(given["sent_at"])
    if given["cost"] is not None:
        given["cost"] = Decimal(given["cost"])
    if (answer := given["answer"]) is not None:
        given["answer"] = Answer(**{key: answer[key] for key in answer if key in _ANSWER})
    return Call(**given)


_CALL = {field.name for field in fields(Call)}
_ANSWER = {field.name for field in fields(Answer)}


def _plain(value: Any) -> Any:
    if isinstance(value, Call | Answer):
        return vars(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


_ENCODER = json.JSONEncoder(default=_plain)
