"""The lines of a batch's files: which row each is of, and what a result says.

Results look alike whoever wrote them: `custom_id`, with `response` (its `status_code` and `body`)
or `error`. Errors stand in the response's body, or beside the response.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from datasets.rows import InputError, Place
from judging.backends.base import Answer, BackendError
from judging.backends.openai_replies import read_reply

PREFIX = "run"
MOST_LINE = 64 * 1024**2
Kind = Literal["requests", "results"]
Line = dict[str, Any]


@dataclass(frozen=True)
class Index:
    """Where the line of each row stands in a file of one run's results: its offset and number."""

    path: Path
    run: int
    lines: dict[uuid.UUID, tuple[int, int]]

    def place(self, uid: uuid.UUID) -> Place:
        return Place(self.path.name, self.lines[uid][1])

    def line(self, file: BinaryIO, uid: uuid.UUID) -> Line:
        file.seek(self.lines[uid][0])
        return _parsed(self.place(uid), file.readline(MOST_LINE))


def custom_id(run: int, row: uuid.UUID) -> str:
    return f"{PREFIX}-{run}-{row}"


def row_in(written: object) -> tuple[int, uuid.UUID] | None:
    """The run and the row that a custom id names; None where it is none of ours."""
    parts = written.split("-", 2) if isinstance(written, str) else []
    if len(parts) != 3 or parts[0] != PREFIX or not (parts[1].isascii() and parts[1].isdigit()):
        return None
    try:
        return int(parts[1][:18]), uuid.UUID(parts[2])
    except ValueError:
        return None


def kind_of(path: Path) -> tuple[Kind, int | None]:
    """Whether a file holds requests or results, and of which run, by its first line.

    Raises InputError where it holds neither.
    """
    with opened(path) as file:
        for _, place, line in _lines(path, file):
            named = row_in(line.get("custom_id"))
            if "method" in line or "body" in line:
                return "requests", named[0] if named else None
            if "response" in line or "error" in line:
                return "results", named[0] if named else None
            wrong = "holds neither a request nor a result"
            raise InputError(place, wrong, "give the file of a batch")
    raise InputError(Place(path.name), "is empty", "give a file of results, or a new name")


def index_of(path: Path) -> Index:
    """Looks at every line of a file of results. Raises InputError for the first bad one."""
    lines: dict[uuid.UUID, tuple[int, int]] = {}
    run = -1
    with opened(path) as file:
        for offset, place, line in _lines(path, file):
            if (named := row_in(line.get("custom_id"))) is None:
                wrong = f"the custom_id {str(line.get('custom_id'))[:80]!r} is none of ours"
                raise InputError(place, wrong, "give the results of a file that run_judge wrote")
            if lines and run != named[0]:
                wrong = f"is of run {named[0]}, and the lines before are of run {run}"
                raise InputError(place, wrong, "give one file for each run")
            if named[1] in lines:
                wrong = f"has the custom_id of line {lines[named[1]][1]} again"
                raise InputError(place, wrong, "leave one of the two out")
            run, lines[named[1]] = named[0], (offset, place.line or 0)
    return Index(path, run, lines)


def reply_in(line: Line) -> Answer:
    """The answer that a line of results holds. Raises BackendError."""
    response, error = line.get("response"), line.get("error")
    response = response if isinstance(response, dict) else {}
    status, body = response.get("status_code"), response.get("body")
    if isinstance(status, int) and not isinstance(status, bool) and (body or error):
        held = body if isinstance(body, dict) and body else {"error": error}
        return read_reply(status, {}, json.dumps(held).encode())
    told = error.get("message") or error.get("code") if isinstance(error, dict) else error
    message = " ".join(str(told or "the line holds no answer").split())[:300]
    raise BackendError("batch-error", message, body=json.dumps(line)[:1000])


def opened(path: Path) -> BinaryIO:
    """The file, for reading. Raises InputError."""
    try:
        return path.open("rb")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(Place(str(path)), f"cannot be read ({why})", "mend the path") from error


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, Place, Line]]:
    """Each line with the byte where it begins and its place; empty ones are left out."""
    offset, number = 0, 0
    while raw := file.readline(MOST_LINE):
        number += 1
        if raw.strip():
            place = Place(path.name, number)
            yield offset, place, _parsed(place, raw)
        offset += len(raw)


def _parsed(place: Place, raw: bytes) -> Line:
    try:
        line = json.loads(raw.decode("utf-8-sig"), parse_constant=lambda constant: None)
    except (ValueError, RecursionError) as error:
        mend = "give the file as it was made; its download may have broken off"
        raise InputError(place, "is not JSON", mend) from error
    if not isinstance(line, dict):
        raise InputError(place, "is no JSON object", "give the file as it was made")
    return line
