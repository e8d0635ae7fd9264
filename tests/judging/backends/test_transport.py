"""Network failures, each with its own name, and large bodies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from judging.backends.base import FatalError, RejectedError, TransientError
from judging.backends.transport import read_body, redact_secrets, transport_failure

MAX_BODY_BYTES = 4 * 1024 * 1024

PLACE: Any = SimpleNamespace(host="h", port=443, ssl=True, is_ssl=True)


def test_each_network_failure_has_a_name_and_says_if_the_server_was_unreachable() -> None:
    os_error = OSError(111, "refused")
    cases: list[tuple[Exception, type[Exception], str, bool]] = [
        (aiohttp.ConnectionTimeoutError(), TransientError, "connect-timeout", True),
        (TimeoutError(), TransientError, "deadline", False),
        (aiohttp.InvalidURL("x"), FatalError, "bad-address", False),
        (
            aiohttp.ClientConnectorCertificateError(PLACE, ssl.CertificateError("self-signed")),
            FatalError, "certificate", False,
        ),
        (aiohttp.ClientConnectorDNSError(PLACE, os_error), TransientError, "dns", True),
        (aiohttp.ClientConnectorSSLError(PLACE, os_error), TransientError, "tls", True),
        (aiohttp.ClientConnectorError(PLACE, os_error), TransientError, "refused-connection", True),
        (aiohttp.ClientPayloadError("cut"), TransientError, "broken-body", False),
        (aiohttp.ServerDisconnectedError(), TransientError, "reset", False),
        (os_error, TransientError, "reset", False),
        (ValueError("no  HTTP\n"), TransientError, "bad-http", False),
    ]  # fmt: skip
    for error, kind, code, unreachable in cases:
        found = transport_failure(error, 30)
        assert (type(found), found.state) == (kind, code)
        assert getattr(found, "unreachable", False) == unreachable, code
    assert "no answer within 30 s" in str(transport_failure(TimeoutError(), 30))
    assert str(transport_failure(ValueError("no  HTTP\n"), 1)).endswith("not HTTP: no HTTP")


def body_of(*chunks: bytes, length: int | None = None) -> bytes:
    async def pieces(size: int) -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def whole() -> bytes:
        return b"".join(chunks)

    response: Any = SimpleNamespace(
        content_length=length, read=whole, status=200, close=lambda: None,
        content=SimpleNamespace(iter_chunked=pieces),
    )  # fmt: skip
    return asyncio.run(read_body(response))


def test_a_body_without_a_length_is_read_up_to_the_maximum() -> None:
    assert body_of(b"a", b"b") == b"ab"
    assert body_of(b"ab", length=2) == b"ab"
    full = b"x" * MAX_BODY_BYTES
    assert len(body_of(full)) == MAX_BODY_BYTES
    for length in (None, MAX_BODY_BYTES + 1):
        with pytest.raises(RejectedError, match="larger than 4 MB") as raised:
            body_of(full, b"y", length=length)
        assert raised.value.state == "too-large"


def test_a_key_is_removed_from_a_body_if_it_is_at_least_twelve_characters_long() -> None:
    assert redact_secrets(["k" * 12], b"a" + b"k" * 12) == b"a[key]"
    assert redact_secrets(["k" * 11], b"k" * 11) == b"k" * 11
