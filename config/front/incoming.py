"""Collects what a client sends until it is a whole request, and refuses ambiguous heads.

The check of the head says how long the body is. Gunicorn's parser then gets exactly
the bytes of one request.

A proxy in front and gunicorn's parser behind have to agree where a request begins and ends, and on
which host and path it is for. So a head that breaks the grammar (RFC 9112) is refused before a
thread gets it, and as soon as its bytes cannot become a valid one: a client that speaks TLS, HTTP/2
or HTTP/0.9, or that ends lines with a bare line feed, would wait for an answer otherwise.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

END_OF_LINE = b"\r\n"
LONGEST_HEAD = 64 * 1024
BAD_REQUEST = "400 Bad Request"
TOO_LONG = "431 Request Header Fields Too Large"
NO_SUCH_VERSION = "505 HTTP Version Not Supported"
NOT_EXPECTED = "417 Expectation Failed"

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(rb"[!-~\x80-\xff]+")
_VERSION = re.compile(rb"HTTP/[0-9]\.[0-9]")
# Anything but the visible characters, spaces and tabs, and whole ends of lines.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?=[^\n])")
_ABSOLUTE = re.compile(rb"https?://([^/?]*)(.*)", re.IGNORECASE)
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%-]+)(:[0-9]*)?")
_VERSIONS = (b"HTTP/1.0", b"HTTP/1.1")
_LONGEST_NUMBER = 18


class BadHeadError(Exception):
    """A head that is refused, with the `status` of the response."""

    def __init__(self, status: str = BAD_REQUEST) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Head:
    """A request's head: its path, and how its body is delimited.

    `body` is None for a body without a plain length, such as one in chunks. `waits` says that the
    client sends the body only after an interim response.
    """

    path: str
    body: int | None
    waits: bool


def check_begun(head: bytes | bytearray, looked: int = 0) -> None:
    """Refuse the beginning of a head if no further byte can mend it. Raises BadHeadError.

    The bytes before `looked` have been checked already.
    """
    if _NO_TEXT.search(head, looked) or not (looked or _TOKEN.match(head)):
        raise BadHeadError
    end = head.find(END_OF_LINE)
    if end >= looked:
        _request_line(bytes(head[:end]))


def read_head(head: bytes) -> Head:
    """Read a whole head, with the empty line at its end. Raises BadHeadError."""
    if len(head) > LONGEST_HEAD:
        raise BadHeadError(TOO_LONG)
    check_begun(head)
    first, *lines = head.removesuffix(2 * END_OF_LINE).split(END_OF_LINE)
    method, target, version = _request_line(first)
    fields = _fields(lines)
    hosts = fields.get(b"host", [])
    if len(hosts) > 1 or (not hosts and version != b"HTTP/1.0"):
        raise BadHeadError
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise BadHeadError
    path = _path(method, target, hosts)
    expected = [value.lower() for value in fields.get(b"expect", [])]
    if expected and expected != [b"100-continue"]:
        raise BadHeadError(NOT_EXPECTED)
    # A client of HTTP/1.0 does not know interim responses.
    waits = bool(expected) and version != b"HTTP/1.0"
    return Head(path, _body(fields, version), waits)


def _request_line(line: bytes) -> tuple[bytes, bytes, bytes]:
    words = line.split(b" ")
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]) or not _TARGET.fullmatch(words[1]):
        raise BadHeadError
    method, target, version = words
    if not _VERSION.fullmatch(version):
        raise BadHeadError
    if version not in _VERSIONS:
        raise BadHeadError(NO_SUCH_VERSION)
    return method, target, version


def _fields(lines: list[bytes]) -> dict[bytes, list[bytes]]:
    """Return the values of each field by its name in lower case.

    A line that begins with a space, or has one before the colon, has no name that is a token.
    """
    fields: dict[bytes, list[bytes]] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name):
            raise BadHeadError
        fields.setdefault(name.lower(), []).append(value.strip(b" \t"))
    return fields


def _path(method: bytes, target: bytes, hosts: list[bytes]) -> str:
    """Return the path of a target; one with a host must be for the host of the field `Host`."""
    if target == b"*" and method == b"OPTIONS":
        return "*"
    if absolute := _ABSOLUTE.fullmatch(target):
        host, target = absolute[1], absolute[2]
        if [host.lower()] != [each.lower() for each in hosts]:
            raise BadHeadError
    elif not target.startswith(b"/"):
        raise BadHeadError
    if b"#" in target:
        raise BadHeadError
    return target.partition(b"?")[0].decode("latin-1") or "/"


def _body(fields: dict[bytes, list[bytes]], version: bytes) -> int | None:
    """Return the length of the body. It has to be clear, since the next request follows it."""
    lengths, codings = fields.get(b"content-length", []), fields.get(b"transfer-encoding", [])
    if codings:
        in_chunks = [each.lower() for each in codings] == [b"chunked"]
        if lengths or not in_chunks or version == b"HTTP/1.0":
            raise BadHeadError
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not lengths[0].isdigit():
        raise BadHeadError
    # The site refuses a longer number as too large, without reading the body.
    return int(lengths[0]) if len(lengths[0]) <= _LONGEST_NUMBER else None


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
