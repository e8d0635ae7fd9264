"""Collects what a client sends until it is a whole request.

The head is checked by `heads`, which says how long the body is. Gunicorn's parser then gets exactly
the bytes of one request.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from config.front.heads import (
    END_OF_LINE,
    LONGEST_HEAD,
    TOO_LONG,
    BadHeadError,
    Head,
    check_begun,
    read_head,
)

HEAD_END = b"\r\n\r\n"
IN_MEMORY = 64 * 1024
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class NoRoomError(Exception):
    """Too many large bodies are arriving at the same time."""


class DiskBudget:
    """The bytes that large bodies of one process may occupy on the disk together."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> None:
        if size > self.left:
            raise NoRoomError
        self.left -= size

    def give_back(self, size: int) -> None:
        self.left += size


@dataclass(frozen=True)
class Limits:
    """The limits of a request: a body of up to `plain` bytes, or of `longest_body` for its path."""

    plain: int
    longest_body: Callable[[str], int]
    room: DiskBudget
    folder: str | None = None

    def allow(self, head: Head) -> bool:
        size = head.body or 0
        return size <= self.plain or size <= self.longest_body(head.path)


class Incoming:
    """A request that arrives. Gunicorn's parser reads it through `recv`, as from a socket.

    `is_last` says that the connection has to end after it, since its body was not read.
    """

    def __init__(self, limits: Limits, begun: bytes = b"") -> None:
        self.limits = limits
        self.head = bytearray()
        self.read: Head | None = None
        self.rest = b""  # what was sent after this request
        self.is_last = self.is_whole = False
        self.was_left = False  # whether a view here has left it to another process
        self.answers: list[bytes] = []  # interim responses that are still to be sent
        self._body: IO[bytes] | None = None
        self._missing = self._taken = self._place = self._empty = 0
        if begun:
            self.feed(begun)

    @classmethod
    def whole(
        cls, limits: Limits, head: bytes, data: bytes, rest: bytes, body: int | None
    ) -> Incoming:
        """Return a request that arrived at another process. Raises NoRoomError.

        `body` is an open file with its body, or else `data` is the body.
        """
        arrived = cls(limits)
        arrived.head, arrived.rest, arrived.is_whole = bytearray(head), rest, True
        arrived.read = read_head(head)
        if body is not None:
            arrived._body = os.fdopen(body, "rb")
            limits.room.take(arrived.read.body or 0)
            arrived._taken = arrived.read.body or 0
        elif data:
            arrived._body = io.BytesIO(data)
        return arrived

    def parts(self) -> tuple[bytes, bytes, bytes, int | None]:
        """Return a whole request as `whole` takes it; a large body as its open file."""
        body, data = None, b""
        if self._taken and self._body is not None:
            body = self._body.fileno()
        elif self._body is not None:
            data = self._body.read()
            self._body.seek(0)
        return bytes(self.head), data, self.rest, body

    @property
    def path(self) -> str:
        return self.read.path if self.read else ""

    @property
    def has_begun(self) -> bool:
        return bool(self.head)

    def feed(self, data: bytes) -> None:
        """Process received bytes. Raises BadHeadError or NoRoomError."""
        if self.read is None:
            data = self._take_head(data)
        if self.read is not None and not self.is_whole:
            self._take_body(data)

    def _take_head(self, data: bytes) -> bytes:
        """Take the head, and return what already belongs to the body."""
        looked = max(0, len(self.head) - len(HEAD_END))
        self.head += data
        self._skip_empty_lines()
        end = self.head.find(HEAD_END, looked)
        if end < 0:
            if len(self.head) + self._empty > LONGEST_HEAD:
                raise BadHeadError(TOO_LONG)
            if self.head and self.head != END_OF_LINE[:1]:
                check_begun(self.head, looked)
            return b""
        end += len(HEAD_END)
        data = bytes(self.head[end:])
        del self.head[end:]
        self.read = read_head(bytes(self.head))
        self._expect_body(self.read, bool(data))
        return data

    def _skip_empty_lines(self) -> None:
        """Skip empty lines before a request, which are allowed and are not a head."""
        while self.head.startswith(END_OF_LINE):
            del self.head[: len(END_OF_LINE)]
            self._empty += len(END_OF_LINE)

    def _expect_body(self, read: Head, has_come: bool) -> None:
        if read.body is None or not self.limits.allow(read):
            # The site refuses the request because of its head, so the body is not read.
            self.is_last = self.is_whole = True
            return
        if read.body > IN_MEMORY:
            self.limits.room.take(read.body)
            self._taken = read.body
        self._missing = read.body
        if read.body:
            self._body = tempfile.SpooledTemporaryFile(  # noqa: SIM115  `close` does it
                IN_MEMORY, dir=self.limits.folder
            )
            if read.waits and not has_come:
                self.answers.append(CONTINUE)

    def _take_body(self, data: bytes) -> None:
        part, self.rest = data[: self._missing], data[self._missing :]
        if self._body is not None:
            self._body.write(part)
        self._missing -= len(part)
        if not self._missing:
            self.is_whole = True
            if self._body is not None:
                self._body.seek(0)

    def rewind(self) -> None:
        """Have the parser read a whole request from its beginning."""
        self._place = 0
        if self._body is not None:
            self._body.seek(0)

    def recv(self, size: int) -> bytes:
        """Return the next bytes of the request, and none at its end."""
        if self._place < len(self.head):
            part = bytes(self.head[self._place : self._place + size])
            self._place += len(part)
            return part
        return self._body.read(size) if self._body is not None else b""

    def close(self) -> None:
        if self._body is not None:
            self._body.close()
        self.limits.room.give_back(self._taken)
        self._taken = 0
