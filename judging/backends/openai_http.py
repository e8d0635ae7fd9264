"""HTTP as judges need it: bodies with a cap, failures by name, and no key in either."""

from __future__ import annotations

import aiohttp

from judging.backends.base import BackendError, FatalError, RejectedError, TransientError

MAX_BODY = 4 * 1024 * 1024
LEAST_SECRET = 12
CHUNK = 64 * 1024
CONNECT_SECONDS = 5.0


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    if (length := response.content_length) is not None and length <= MAX_BODY:
        return await response.read()
    raw = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK):
        raw += chunk
        if len(raw) > MAX_BODY:
            response.close()
            beginning = bytes(raw[:CHUNK]).decode("utf-8", "replace")
            message = f"the server's body is larger than {MAX_BODY // 1024**2} MB"
            raise RejectedError("too-large", message, status=response.status, body=beginning)
    return bytes(raw)


def without(key: str, raw: bytes) -> bytes:
    """A body without the key, for servers that repeat it; a word such as `EMPTY` is no secret."""
    return raw.replace(key.encode(), b"[key]") if len(key) >= LEAST_SECRET else raw


def transport_failure(error: Exception, timeout: float) -> BackendError:
    """The failure behind an exception of the network; the most particular ones stand first."""
    said = " ".join(str(error).split())[:200]
    match error:
        case aiohttp.ConnectionTimeoutError():
            message = f"no connection within {CONNECT_SECONDS:g} s"
            return TransientError("connect-timeout", message, unreachable=True)
        case TimeoutError():
            return TransientError("deadline", f"no answer within {timeout:g} s")
        case aiohttp.InvalidURL():
            return FatalError("bad-address", f"the address cannot be used: {said}")
        case aiohttp.ClientConnectorCertificateError():
            return FatalError("certificate", f"the server's certificate does not hold: {said}")
        case aiohttp.ClientConnectorDNSError():
            return TransientError("dns", f"the host name is not known: {said}", unreachable=True)
        case aiohttp.ClientSSLError():
            return TransientError("tls", f"no secure connection: {said}", unreachable=True)
        case aiohttp.ClientConnectorError():
            return TransientError("refused-connection", said, unreachable=True)
        case aiohttp.ClientPayloadError():
            return TransientError("broken-body", "the body broke off")
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | OSError():
            return TransientError("reset", "the connection broke off")
        case _:
            return TransientError("bad-http", f"the answer is not HTTP: {said}")


def cut_out(key: str, error: BackendError) -> None:
    """Takes the key out of a failure, for servers that repeat it."""
    if key:
        error.message = error.message.replace(key, "[key]")
        error.body = error.body.replace(key, "[key]")
        error.args = (error.message,)
