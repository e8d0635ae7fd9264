"""Files of requests: written beside their places, and put there when all of them are whole.

What a process that died was about to put in its place another one finds by what it had told.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

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
