"""Reads a request's head, and refuses what two readers could understand differently.

A proxy in front and gunicorn's parser behind have to agree where a request begins and ends, and on
which host and path it is for. So a head that breaks the grammar (RFC 9112) is refused before a
thread gets it, and as soon as its bytes cannot become a valid one: a client that speaks TLS, HTTP/2
or HTTP/0.9, or that ends lines with a bare line feed, would wait for an answer otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
