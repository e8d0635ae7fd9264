"""The lines of batch files, and files that appear only when all of them are complete.

All servers write results alike: `custom_id`, with `response` (its `status_code` and `body`) or
`error`. An error is in the response's body or next to the response. Files are written under
temporary names and then moved. Files that a dead process was about to move are found by its record.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

from datasets.atomic_files import sync_folder
from judging.backends.base import Answer, BackendError
from tandem.files.rows import InputError, Place
from tandem.verbs import verb_of

PREFIX = "run"
RUN = re.compile(r"[0-9]{1,18}")  # more digits than any number of a run in the database
DIGEST = "request_sha256"
MAX_LINE_BYTES = 64 * 1024**2
MAX_REQUESTS = 50_000
MAX_BYTES = 200_000_000
Kind = Literal["requests", "results"]
Line = dict[str, Any]
ReadReply = Callable[[int, Mapping[str, str], bytes], Answer]


@dataclass(frozen=True)
class Index:
    """The offset and number of each assignment's line in a file of one run's results.

    `digests` has the SHA-256 of the answered request, for lines that contain it.
    """

    path: Path
    run: int
    lines: dict[uuid.UUID, tuple[int, int]]
    digests: dict[uuid.UUID, object]

    def place(self, uid: uuid.UUID) -> Place:
        return Place(self.path.name, self.lines[uid][1])

    def line(self, file: BinaryIO, uid: uuid.UUID) -> Line:
        file.seek(self.lines[uid][0])
        return _parse(self.place(uid), file.readline(MAX_LINE_BYTES))


def custom_id(run: int, row: uuid.UUID) -> str:
    return f"{PREFIX}-{run}-{row}"


def parse_custom_id(written: object) -> tuple[int, uuid.UUID] | None:
    """Read the run and the assignment from a custom id. None if Tandem did not create it."""
    parts = written.split("-", 2) if isinstance(written, str) else []
    if len(parts) != 3 or parts[0] != PREFIX or not RUN.fullmatch(parts[1]):
        return None
    try:
        return int(parts[1]), uuid.UUID(parts[2])
    except ValueError:
        return None


def detect_kind(path: Path) -> tuple[Kind, int | None]:
    """Tell from its first line whether a file contains requests or results, and of which run.

    Raises InputError if it contains neither.
    """
    with open_file(path) as file:
        for _, place, line in _lines(path, file):
            named = parse_custom_id(line.get("custom_id"))
            if "method" in line or "body" in line:
                return "requests", named[0] if named else None
            if "response" in line or "error" in line:
                return "results", named[0] if named else None
            wrong = "contains neither a request nor a result"
            raise InputError(place, wrong, "give the file of a batch")
    raise InputError(Place(path.name), "is empty", "give a file of results, or a new name")


def build_index(path: Path, growing: bool = False) -> Index:
    """Index every line of a file of results. Raises InputError for the first bad line.

    A last line without a line break is left out if the file is still `growing`.
    """
    lines: dict[uuid.UUID, tuple[int, int]] = {}
    digests: dict[uuid.UUID, object] = {}
    run = -1
    with open_file(path) as file:
        for offset, place, line in _lines(path, file, growing):
            if (named := parse_custom_id(line.get("custom_id"))) is None:
                name = str(line.get("custom_id"))[:80]
                wrong = f"the custom_id {name!r} is not from {verb_of('run_judge')}"
                raise InputError(
                    place, wrong, f"give the results of a file that {verb_of('run_judge')} wrote"
                )
            if lines and run != named[0]:
                wrong = f"belongs to run {named[0]}, but the lines before belong to run {run}"
                raise InputError(place, wrong, "give one file for each run")
            if named[1] in lines:
                wrong = f"repeats the custom_id of line {lines[named[1]][1]}"
                raise InputError(place, wrong, "remove one of the two")
            run, lines[named[1]] = named[0], (offset, place.line or 0)
            if DIGEST in line:
                digests[named[1]] = line[DIGEST]
    return Index(path, run, lines, digests)


def read_reply_line(line: Line, read_reply: ReadReply) -> Answer:
    """Read the answer in a line of results, as the judge's backend does. Raises BackendError."""
    response, error = line.get("response"), line.get("error")
    response = response if isinstance(response, dict) else {}
    status, body = response.get("status_code"), response.get("body")
    if isinstance(status, int) and not isinstance(status, bool) and (body or error):
        locked_run = body if isinstance(body, dict) and body else {"error": error}
        return read_reply(status, {}, json.dumps(locked_run).encode())
    described = error.get("message") or error.get("code") if isinstance(error, dict) else error
    message = " ".join(str(described or "the line contains no answer").split())[:300]
    raise BackendError("batch-error", message, body=json.dumps(line)[:1000])


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading. Raises InputError."""
    try:
        return path.open("rb")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(Place(str(path)), f"cannot be read ({why})", "correct the path") from error


def _lines(path: Path, file: BinaryIO, growing: bool = False) -> Iterator[tuple[int, Place, Line]]:
    """Yield each line that is not empty, with its offset in bytes and its place."""
    offset, number = 0, 0
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        if growing and not raw.endswith(b"\n") and len(raw) < MAX_LINE_BYTES:
            return
        if raw.strip():
            place = Place(path.name, number)
            yield offset, place, _parse(place, raw)
        offset += len(raw)


def _parse(place: Place, raw: bytes) -> Line:
    try:
        line = json.loads(raw.decode("utf-8-sig"), parse_constant=lambda constant: None)
    except (ValueError, RecursionError) as error:
        remedy = "give the original file; its download may be incomplete"
        raise InputError(place, "is not JSON", remedy) from error
    if not isinstance(line, dict):
        raise InputError(place, "is not a JSON object", "give the original file")
    return line


class BatchError(Exception):
    """A batch file cannot be written. The message says what is wrong and what to do."""


@dataclass
class Part:
    """One file, first written under a temporary name. `file` is open while it is written."""

    path: Path
    temporary: Path
    file: BinaryIO | None
    requests: int = 0
    size: int = 0
    sha256: str = ""
    is_moved: bool = False
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, line: bytes) -> None:
        assert self.file is not None
        self.file.write(line)
        self.hash.update(line)
        self.requests += 1
        self.size += len(line)

    def close(self) -> None:
        """Flush the complete file to disk."""
        assert self.file is not None
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        self.file, self.sha256 = None, self.hash.hexdigest()

    def move_into_place(self) -> None:
        self.temporary.rename(self.path)
        self.is_moved = True

    def finish_interrupted(self) -> bool:
        """Move the file into place unless it is already there.

        Return False if it no longer exists.
        """
        if _digest(self.path) == self.sha256:
            self.is_moved = True
        elif _digest(self.temporary) != self.sha256:
            return False
        elif self.path.exists():
            raise already_exists(self.path)
        else:
            self.move_into_place()
        return True

    def discard(self) -> None:
        if self.file is not None:
            self.file.close()
        with suppress(OSError):
            (self.path if self.is_moved else self.temporary).unlink(missing_ok=True)


class Files:
    """Requests in as many files as they need, which are moved into place once all are complete.

    The files of a dead process are found by their `token`. With `offline`, they are for a runner
    without a server: one file with all requests, in its own folder.
    """

    def __init__(self, path: Path, token: str = "", offline: bool = False) -> None:
        self.first, self.token, self.offline = path, token or secrets.token_hex(8), offline
        self.parts: list[Part] = []

    @classmethod
    def from_intent(cls, intent: Mapping[str, Any]) -> Self:
        """Restore the files that another process was about to move."""
        files = cls(Path(intent["path"]), intent["token"], intent.get("offline", False))
        for described in intent["files"]:
            path = Path(described["path"])
            part = Part(
                path, files.temporary(path), None, described["requests"], sha256=described["sha256"]
            )
            files.parts.append(part)
        return files

    @property
    def intent(self) -> dict[str, Any]:
        """The record from which another process can continue. It lists only complete files."""
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
        path = str(self.first.absolute())
        return {"path": path, "token": self.token, "offline": self.offline, "files": files}

    @property
    def requests(self) -> int:
        return sum(part.requests for part in self.parts)

    def add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._part_for(line).add(line)

    def close(self) -> None:
        for part in self.parts:
            part.close()

    def move_into_place(self) -> None:
        for part in self.parts:
            part.move_into_place()
        _sync(self.first.parent)

    def finish_interrupted(self) -> bool:
        """Move the remaining files into place.

        Return False if one no longer exists. Raises BatchError.
        """
        moved = [part.finish_interrupted() for part in self.parts]
        _sync(self.first.parent)
        return all(moved)

    def discard(self) -> None:
        """Remove all files."""
        for part in self.parts:
            part.discard()
        for temporary in self.first.parent.glob(f".*.{self.token}"):
            temporary.unlink(missing_ok=True)

    def temporary(self, path: Path) -> Path:
        return path.with_name(f".{path.name[:50]}.{self.token}")

    def _part_for(self, line: bytes) -> Part:
        last = self.parts[-1] if self.parts else None
        has_room = last and last.requests < MAX_REQUESTS and last.size + len(line) <= MAX_BYTES
        if last and (has_room or self.offline):
            return last
        self.parts.append(self._part(self._path(len(self.parts) + 1)))
        return self.parts[-1]

    def _part(self, path: Path) -> Part:
        if path.exists():
            raise already_exists(path)
        temporary = self.temporary(path)
        try:
            return Part(path, temporary, temporary.open("xb"))
        except OSError as error:
            raise cannot_write(path, error) from error

    def _path(self, number: int) -> Path:
        first = self.first
        return first if number == 1 else first.with_name(f"{first.stem}.{number}{first.suffix}")


def _digest(path: Path) -> str:
    """Return the hash of a file, empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _sync(folder: Path) -> None:
    """Wait until the folder's names are on the disk, where this can be asked for."""
    with suppress(OSError):
        sync_folder(folder)


def already_exists(path: Path) -> BatchError:
    return BatchError(f"{path} already exists; move it away, or choose another file")


def cannot_write(path: Path, error: OSError) -> BatchError:
    why = (error.strerror or str(error)).lower()
    return BatchError(f"{path} cannot be written ({why}); choose another file")
