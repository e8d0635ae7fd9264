"""The lines of batch files, and files that appear only when all of them are complete.

Results look alike whoever wrote them: `custom_id`, with `response` (its `status_code` and `body`)
or `error`. An error is in the response's body or beside the response. Files are written beside
their places and then moved; the file that a dead process was about to move is found by what it
recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

from datasets.rows import InputError, Place
from judging.backends.base import Answer, BackendError
from judging.backends.openai_transport import read_reply

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


MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000


class BatchError(Exception):
    """A batch file that cannot be written: what is wrong, and what to do."""


@dataclass
class Part:
    """One file, written beside its place first; `file` is open as long as it is being written."""

    path: Path
    beside: Path
    file: BinaryIO | None
    requests: int = 0
    size: int = 0
    sha256: str = ""
    in_place: bool = False
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, line: bytes) -> None:
        assert self.file is not None
        self.file.write(line)
        self.hash.update(line)
        self.requests += 1
        self.size += len(line)

    def close(self) -> None:
        """It is whole, and on the disk."""
        assert self.file is not None
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        self.file, self.sha256 = None, self.hash.hexdigest()

    def put_in_place(self) -> None:
        self.beside.rename(self.path)
        self.in_place = True

    def go_on(self) -> bool:
        """Puts it in its place, unless it is there; False where it is gone. Raises BatchError."""
        if _digest(self.path) == self.sha256:
            self.in_place = True
        elif _digest(self.beside) != self.sha256:
            return False
        elif self.path.exists():
            raise taken(self.path)
        else:
            self.put_in_place()
        return True

    def discard(self) -> None:
        if self.file is not None:
            self.file.close()
        with suppress(OSError):
            (self.path if self.in_place else self.beside).unlink(missing_ok=True)


class Files:
    """Requests in as many files as they need, none of which is in its place until all are whole.

    Those of a process that died are found again by their `token`.
    """

    def __init__(self, path: Path, token: str = "") -> None:
        self.first, self.token = path, token or secrets.token_hex(8)
        self.parts: list[Part] = []

    @classmethod
    def intended(cls, intent: Mapping[str, Any]) -> Self:
        """What another process was about to put in its place."""
        files = cls(Path(intent["path"]), intent["token"])
        for told in intent["files"]:
            path = Path(told["path"])
            part = Part(path, files.beside(path), None, told["requests"], sha256=told["sha256"])
            files.parts.append(part)
        return files

    @property
    def intent(self) -> dict[str, Any]:
        """What to know in order to go on; without files as long as they are not whole."""
        whole = [part for part in self.parts if part.sha256]
        files = [
            {
                "name": p.path.name,
                "path": str(p.path.absolute()),
                "sha256": p.sha256,
                "requests": p.requests,
            }
            for p in whole
        ]
        return {"path": str(self.first.absolute()), "token": self.token, "files": files}

    @property
    def requests(self) -> int:
        return sum(part.requests for part in self.parts)

    def add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._part_for(line).add(line)

    def close(self) -> None:
        for part in self.parts:
            part.close()

    def put_in_place(self) -> None:
        for part in self.parts:
            part.put_in_place()
        _sync(self.first.parent)

    def go_on(self) -> bool:
        """Puts in its place what is not; False where a file is gone. Raises BatchError."""
        there = [part.go_on() for part in self.parts]
        _sync(self.first.parent)
        return all(there)

    def discard(self) -> None:
        """Leaves nothing behind of what is not out."""
        for part in self.parts:
            part.discard()
        for beside in self.first.parent.glob(f".*.{self.token}"):
            beside.unlink(missing_ok=True)

    def beside(self, path: Path) -> Path:
        return path.with_name(f".{path.name[:50]}.{self.token}")

    def _part_for(self, line: bytes) -> Part:
        last = self.parts[-1] if self.parts else None
        if last and last.requests < MOST_REQUESTS and last.size + len(line) <= MOST_BYTES:
            return last
        self.parts.append(self._part(self._path(len(self.parts) + 1)))
        return self.parts[-1]

    def _part(self, path: Path) -> Part:
        if path.exists():
            raise taken(path)
        beside = self.beside(path)
        try:
            return Part(path, beside, beside.open("xb"))
        except OSError as error:
            raise unwritable(path, error) from error

    def _path(self, number: int) -> Path:
        first = self.first
        return first if number == 1 else first.with_name(f"{first.stem}.{number}{first.suffix}")


def _digest(path: Path) -> str:
    """The hash of a file; empty where there is none to read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _sync(folder: Path) -> None:
    """Brings the names of the files in it to the disk."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def taken(path: Path) -> BatchError:
    return BatchError(f"{path} is there already; move it away, or choose another file")


def unwritable(path: Path, error: OSError) -> BatchError:
    why = (error.strerror or str(error)).lower()
    return BatchError(f"{path} cannot be written ({why}); choose another file")
