"""Malformed requests are refused at once, and a client that leaves is no error in the log."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing

import pytest
import requests

from tests.patience import PATIENCE
from tests.serving.site import Site

pytestmark = [pytest.mark.processes, pytest.mark.once]

HOST = b"Host: localhost\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\n" + HOST
POST = b"POST /login/ HTTP/1.1\r\n" + HOST
FOLLOWING = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def served(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """One process is for work on items, and one for all else."""
    settings = {"WEB_WORKERS": "1", "WEB_OTHER_WORKERS": "1", **static}
    site = Site(tmp_path_factory.mktemp("refused"), settings)
    site.open_campaign(2, 1, "ada", "rita")
    with site.served():
        yield site


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /health/live HTTP/1.1\nHost: localhost\n\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
        (b"GET /health/live\r\n", b"400"),
        (b"GET /health/live HTTP/1.9\r\n" + HOST + b"\r\n", b"505"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"505"),
        (b"GET /health/live HTTP/1.1\r\n\r\n", b"400"),
        (LIVE + HOST + b"\r\n", b"400"),
        (LIVE + b" folded\r\n\r\n", b"400"),
        (LIVE + b"A: \0\r\n\r\n", b"400"),
        (LIVE + 60_000 * b"A:b\r\n" + b"\r\n", b"431"),
        (POST + b"Content-Length: -1\r\n\r\n", b"400"),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", b"411"),
        (b"GET http://elsewhere/ HTTP/1.1\r\n" + HOST + b"\r\n", b"400"),
        (LIVE + b"Expect: more\r\n\r\n", b"417"),
    ],
    ids=[
        "bare line feeds", "TLS", "HTTP/0.9", "HTTP/1.9", "HTTP/2", "no host", "two hosts",
        "a folded line", "a NUL byte", "a long head in one read", "a negative length",
        "both lengths", "a bad chunk", "another host's target", "an expectation",
    ],
)  # fmt: skip
def test_a_malformed_request_is_refused_and_nothing_after_it_is_answered(
    served: Site, sent: bytes, status: bytes
) -> None:
    received = answers(served, sent + FOLLOWING)
    assert received.split(b" ", 2)[1] == status
    assert received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "sent",
    [
        LIVE + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: \r\n\r\n",
        b"GET http://localhost/health/live HTTP/1.1\r\n" + HOST + b"\r\n",
        b"\r\n\r\n" + LIVE + b"\r\n",
        LIVE + b"Content_Length: 500\r\n\r\n",
    ],
    ids=["an upgrade to HTTP/2", "an absolute target", "empty lines", "an underscore"],
)
def test_an_unusual_request_is_answered_as_any_other(served: Site, sent: bytes) -> None:
    last = FOLLOWING.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"
    received = answers(served, sent + last)
    assert received.count(b"HTTP/1.1 200") == 2
    assert b"101 Switching" not in received


def answers(site: Site, sent: bytes) -> bytes:
    """Return all that the server sends until it ends the connection, in less than a keep-alive."""
    with socket.create_connection(("127.0.0.1", site.port), 20) as client:
        received = b""
        try:
            client.sendall(sent)
            while piece := client.recv(65536):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
        return received


def test_clients_that_leave_are_no_errors_in_the_log(served: Site) -> None:
    paths = (f"/campaigns/1/{'x' * 30}/", "/campaigns/1/results/", "/api/v1/campaigns/", "/tasks/")
    before = len(served.log())
    for _ in range(5):
        for path in paths:
            leave(served, path)
    # Requests whose client left while they waited are dropped; these are answered after them.
    cookies = {"sessionid": served.sessions["rita"]}
    for path in paths:
        requests.get(f"{served.url}{path}", cookies=cookies, timeout=PATIENCE)
    assert requests.get(f"{served.url}/health/live", timeout=PATIENCE).text == "ok"
    logged = served.log()[before:]
    assert [line for line in logged if line["level"] in ("error", "critical")] == []
    assert not any("exception" in line for line in logged)
    assert len([line for line in logged if line["event"] != "request"]) == 0


def leave(site: Site, path: str) -> None:
    """Ask, and close the connection with a reset before the answer comes."""
    cookie = f"Cookie: sessionid={site.sessions['rita']}\r\n".encode()
    with closing(socket.create_connection(("127.0.0.1", site.port), PATIENCE)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(f"GET {path} HTTP/1.1\r\n".encode() + HOST + cookie + b"\r\n")
