"""Heads that two readers could understand differently are refused, and the others are read."""

from __future__ import annotations

import pytest

from config.front.incoming import LONGEST_HEAD, BadHeadError, DiskBudget, Head, Incoming, Limits

LIMITS = Limits(1000, lambda path: 0, DiskBudget(10_000))
HOST = b"Host: a.example\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST
POST = b"POST / HTTP/1.1\r\n" + HOST

# By name: what a client sends, and the status that it gets at once, without sending more.
REFUSED = {
    "bare line feeds": (b"GET / HTTP/1.1\nHost: a.example\n\n", 400),
    "a bare line feed after the first line": (GET + b"A: b\n", 400),
    "a bare line feed before the request": (b"\nGET /", 400),
    "a bare carriage return": (GET + b"A: b\rc", 400),
    "a NUL byte": (GET + b"A: \0", 400),
    "a NUL byte in the target": (b"GET /\0", 400),
    "a control character": (GET + b"A: \x1b[0m", 400),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "the first byte of a TLS hello": (b"\x16", 400),
    "HTTP/0.9": (b"GET /\r\n", 400),
    "HTTP/1.9": (b"GET / HTTP/1.9\r\n", 505),
    "HTTP/1.2": (b"GET / HTTP/1.2\r\n", 505),
    "HTTP/2.0": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP/0.9 in words": (b"GET / HTTP/0.9\r\n", 505),
    "a version of two digits": (b"GET / HTTP/1.10\r\n", 400),
    "a version without a number": (b"GET / HTTP/x.y\r\n", 400),
    "a version in small letters": (b"GET / http/1.1\r\n", 400),
    "another protocol": (b"GET / FTP/1.1\r\n", 400),
    "two spaces": (b"GET  / HTTP/1.1\r\n", 400),
    "a tab": (b"GET\t/ HTTP/1.1\r\n", 400),
    "a space at the end": (b"GET / HTTP/1.1 \r\n", 400),
    "a method that is no word": (b"G(T / HTTP/1.1\r\n", 400),
    "a space in front": (b" GET / HTTP/1.1\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (GET + b"Host: b.example\r\n\r\n", 400),
    "the same host twice": (GET + HOST + b"\r\n", 400),
    "an empty host": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    "a list of hosts": (b"GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n", 400),
    "a host with an account": (b"GET / HTTP/1.1\r\nHost: a@b.example\r\n\r\n", 400),
    "a host with a path": (b"GET / HTTP/1.1\r\nHost: a.example/b\r\n\r\n", 400),
    "a folded line": (GET + b"A: b\r\n c\r\n\r\n", 400),
    "a folded first field": (b"GET / HTTP/1.1\r\n " + HOST + b"\r\n", 400),
    "a space before the colon": (POST + b"Content-Length : 1\r\n\r\n", 400),
    "no colon": (GET + b"nothing\r\n\r\n", 400),
    "no name": (GET + b": nothing\r\n\r\n", 400),
    "both lengths": (
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
    ),
    "two lengths": (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    "the same length twice": (POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
    "a list of lengths": (POST + b"Content-Length: 1, 1\r\n\r\n", 400),
    "a negative length": (POST + b"Content-Length: -1\r\n\r\n", 400),
    "a length with a sign": (POST + b"Content-Length: +1\r\n\r\n", 400),
    "a hexadecimal length": (POST + b"Content-Length: 0x10\r\n\r\n", 400),
    "a length with an underscore": (POST + b"Content-Length: 1_0\r\n\r\n", 400),
    "a fraction as length": (POST + b"Content-Length: 1.5\r\n\r\n", 400),
    "an empty length": (POST + b"Content-Length:\r\n\r\n", 400),
    "an unknown coding": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 400),
    "a coding in disguise": (POST + b"Transfer-Encoding: xchunked\r\n\r\n", 400),
    "two codings": (
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400
    ),
    "chunks in HTTP/1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "an absolute target of another host": (
        b"GET http://b.example/ HTTP/1.1\r\n" + HOST + b"\r\n", 400
    ),
    "an absolute target of another scheme": (
        b"GET ftp://a.example/ HTTP/1.1\r\n" + HOST + b"\r\n", 400
    ),
    "a tunnel": (b"CONNECT a.example:443 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a target without a slash": (b"GET tasks/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a star that is not for OPTIONS": (b"GET * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a fragment": (b"GET /#a HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "another expectation": (POST + b"Expect: a miracle\r\n\r\n", 417),
    "a long head": (GET + b"A: " + LONGEST_HEAD * b"x" + b"\r\n\r\n", 431),
    "many fields": (GET + 8000 * b"A: 1234\r\n" + b"\r\n", 431),
    "a long target": (b"GET /" + LONGEST_HEAD * b"x", 431),
    "empty lines without end": (LONGEST_HEAD * b"\r\n", 431),
}  # fmt: skip

# By name: what a client sends, and what the front understands.
READ = {
    "the host's port": (b"GET /a?b HTTP/1.1\r\nHost: a.example:80\r\n\r\n", Head("/a", 0, False)),
    "IPv6": (b"GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n", Head("/", 0, False)),
    "HTTP/1.0 without a host": (b"GET / HTTP/1.0\r\n\r\n", Head("/", 0, False)),
    "empty lines in front": (b"\r\n\r\n" + GET + b"\r\n", Head("/", 0, False)),
    "an absolute target": (
        b"POST http://A.example/tasks/1/ HTTP/1.1\r\n" + HOST + b"\r\n", Head("/tasks/1/", 0, False)
    ),
    "an absolute target without a path": (
        b"GET http://a.example HTTP/1.1\r\n" + HOST + b"\r\n", Head("/", 0, False)
    ),
    "a star": (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", Head("*", 0, False)),
    "letters of latin-1 and tabs in a value": (GET + b"A:\t\xe9 b\t\r\n\r\n", Head("/", 0, False)),
    "an empty value": (GET + b"A:\r\n\r\n", Head("/", 0, False)),
    "a body": (POST + b"content-LENGTH: 007\r\n\r\n1234567", Head("/", 7, False)),
    "a body that waits": (
        POST + b"Content-Length: 7\r\nExpect: 100-Continue\r\n\r\n", Head("/", 7, True)
    ),
    "chunks, which the site refuses": (
        POST + b"Transfer-Encoding: Chunked\r\n\r\nzz\r\n", Head("/", None, False)
    ),
    "a length that the site refuses": (
        POST + b"Content-Length: 99999999999999999999\r\n\r\n", Head("/", None, False)
    ),
    "a name with an underscore, which is not a length": (
        POST + b"Content_Length: 7\r\n\r\n", Head("/", 0, False)
    ),
}  # fmt: skip


@pytest.mark.parametrize("piece", [100_000, 1], ids=["in one read", "byte by byte"])
@pytest.mark.parametrize(("sent", "status"), REFUSED.values(), ids=list(REFUSED))
def test_a_head_that_breaks_the_grammar_is_refused_without_further_bytes(
    sent: bytes, status: int, piece: int
) -> None:
    with pytest.raises(BadHeadError) as refused:
        feed(sent, piece)
    assert refused.value.status.startswith(f"{status} ")


@pytest.mark.parametrize("piece", [100_000, 1], ids=["in one read", "byte by byte"])
@pytest.mark.parametrize(("sent", "head"), READ.values(), ids=list(READ))
def test_a_head_that_keeps_the_grammar_is_read(sent: bytes, head: Head, piece: int) -> None:
    arriving = feed(sent, piece)
    assert arriving.read == head
    assert arriving.is_whole is (head.body != 7 or not head.waits)
    assert arriving.is_last is (head.body is None)


def feed(sent: bytes, piece: int) -> Incoming:
    arriving = Incoming(LIMITS)
    for start in range(0, len(sent), piece):
        arriving.feed(sent[start : start + piece])
    return arriving


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_requests_sent_together_are_kept_apart(piece: int) -> None:
    first = POST + b"Content-Length: 3\r\n\r\na\n\n"
    sent = first + GET + b"\r\n"
    arriving, left = Incoming(LIMITS), sent
    while not arriving.is_whole:
        arriving.feed(left[:piece])
        left = left[piece:]
    assert b"".join(iter(lambda: arriving.recv(100), b"")) == first
    assert arriving.rest + left == GET + b"\r\n"


def test_a_head_of_exactly_the_limit_is_read() -> None:
    room = LONGEST_HEAD - len(GET) - len(b"A: \r\n\r\n")
    arriving = Incoming(LIMITS, GET + b"A: " + room * b"x" + b"\r\n\r\n")
    assert arriving.read == Head("/", 0, False)
