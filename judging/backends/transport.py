"""HTTP for judges: read bodies and replies, classify failures, and read how long to wait.

Bodies have a size limit. Neither an error nor a log contains a key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import aiohttp

from judging.backends.base import (
    JSON,
    BackendError,
    FatalError,
    FinalError,
    RateError,
    RejectedError,
    TransientError,
)

T = TypeVar("T")
MAX_BODY_BYTES = 4 * 1024 * 1024
SHORTEST_SECRET = 12
CHUNK_BYTES = 64 * 1024
KEPT_BODY = 64 * 1024
CONNECT_SECONDS = 5.0
LONGEST_WAIT = 120.0
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_VAST = re.compile(r"\d[eE]\+?\d{3}")
_TOO_LONG = ("context_length", "context length", "maximum context", "max_model_len", "too long")
_UNPAID = "credit balance is too low"
_FILTERED = ("content_filter", "content management policy")


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    if (length := response.content_length) is not None and length <= MAX_BODY_BYTES:
        return await response.read()
    raw = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            response.close()
            beginning = bytes(raw[:CHUNK_BYTES]).decode("utf-8", "replace")
            message = f"the server's body is larger than {MAX_BODY_BYTES // 1024**2} MB"
            raise RejectedError("too-large", message, status=response.status, body=beginning)
    return bytes(raw)


def redact_key(key: str, raw: bytes) -> bytes:
    """Remove the key from a body, since some servers repeat it. Short keys are not secret."""
    return raw.replace(key.encode(), b"[key]") if len(key) >= SHORTEST_SECRET else raw


def transport_failure(error: Exception, timeout: float) -> BackendError:
    """Translate a network exception into a failure. The most specific classes are checked first."""
    detail = " ".join(str(error).split())[:200]
    match error:
        case aiohttp.ConnectionTimeoutError():
            message = f"no connection within {CONNECT_SECONDS:g} s"
            return TransientError("connect-timeout", message, unreachable=True)
        case TimeoutError():
            return TransientError("deadline", f"no answer within {timeout:g} s")
        case aiohttp.InvalidURL():
            return FatalError("bad-address", f"the address cannot be used: {detail}")
        case aiohttp.ClientConnectorCertificateError():
            return FatalError("certificate", f"the server's certificate is not valid: {detail}")
        case aiohttp.ClientConnectorDNSError():
            return TransientError("dns", f"the host name is unknown: {detail}", unreachable=True)
        case aiohttp.ClientSSLError():
            return TransientError("tls", f"no secure connection: {detail}", unreachable=True)
        case aiohttp.ClientConnectorError():
            return TransientError("refused-connection", detail, unreachable=True)
        case aiohttp.ClientPayloadError():
            return TransientError("broken-body", "the body was cut off")
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | OSError():
            return TransientError("reset", "the connection was lost")
        case _:
            return TransientError("bad-http", f"the response is not HTTP: {detail}")


def redact_error(key: str, error: BackendError) -> None:
    """Remove the key from a failure, since some servers repeat it."""
    if key:
        error.message = error.message.replace(key, "[key]")
        error.body = error.body.replace(key, "[key]")
        error.args = (error.message,)


def parse_retry_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read the seconds to wait from Retry-After, or else from the x-ratelimit-reset headers.

    Return None if no header has a usable value. Values in the past and values above
    `LONGEST_WAIT` seconds are not usable.
    """
    if "retry-after" in headers:
        return _acceptable_wait(_seconds(headers["retry-after"], now))
    resets = [_acceptable_wait(_seconds(headers[name], now)) for name in _RESETS if name in headers]
    return max((wait for wait in resets if wait is not None), default=None)


def _acceptable_wait(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= LONGEST_WAIT else None


def _seconds(text: str, now: datetime) -> float | None:
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        return _duration(text) if _DURATION.fullmatch(text) else _until(text, now)
    return number if math.isfinite(number) else None


def _duration(text: str) -> float:
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _until(text: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    try:
        return (aware - now).total_seconds()
    except OverflowError:
        return None


def read_reply(
    status: int, headers: Mapping[str, str], raw: bytes, read: Callable[[JSON, int], T]
) -> T:
    """Read the answer in a response. Raises BackendError with the beginning of the body.

    `read` is the protocol's function that reads the JSON and the status of a successful response.
    """
    try:
        if 200 <= status < 300:
            return read(_parse_body(raw), status)
        raise _refusal(status, headers, raw)
    except BackendError as error:
        error.status = status
        error.body = error.body or raw[:KEPT_BODY].decode("utf-8", "replace")
        raise


def _refusal(status: int, headers: Mapping[str, str], raw: bytes) -> BackendError:
    error = _error_text(raw)
    message = f"the server answered {status}" + (f": {error}" if error else "")
    if status == 429 and "insufficient_quota" not in error:
        return RateError(message, wait=parse_retry_wait(headers, datetime.now(UTC)))
    if status in (503, 529) and "retry-after" in headers:
        return RateError(message, wait=parse_retry_wait(headers, datetime.now(UTC)))
    if status in (401, 402, 403, 404, 429) or 300 <= status < 400 or _UNPAID in error.lower():
        return FatalError(f"status-{status}", message)
    if status in (408, 409, 425) or status >= 500:
        return TransientError(f"status-{status}", message)
    if status == 413 or any(words in error.lower() for words in _TOO_LONG):
        return FinalError("too-long", message)
    if any(words in error.lower() for words in _FILTERED):
        return FinalError("filtered", message)
    return RejectedError(f"status-{status}", message)


def _error_text(raw: bytes) -> str:
    """Return the server's error message and code on one line."""
    try:
        error = json.loads(raw[:KEPT_BODY])
    except (ValueError, RecursionError):
        return ""
    error = error.get("error", error) if isinstance(error, dict) else error
    if not isinstance(error, dict):
        return " ".join(str(error).split())[:300]
    parts = [str(error[key]) for key in ("message", "code") if error.get(key) is not None]
    return " ".join(" ".join(parts).split())[:300]


def _parse_body(raw: bytes) -> JSON:
    if not raw.strip():
        raise TransientError("empty-body", "the server sent an empty body")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TransientError("bad-utf8", "the server's body is not UTF-8") from error
    try:
        body = (_FINITE if _VAST.search(text) else _PLAIN).decode(text)
    except (ValueError, RecursionError) as error:
        state = "html" if text.lstrip().startswith("<") else "not-json"
        raise TransientError(state, "the server's body is not JSON") from error
    if not isinstance(body, dict):
        raise TransientError("not-an-object", "the server's body is not a JSON object")
    return body


def _finite(number: str) -> float | None:
    """Return null for a number that overflows, since databases cannot store infinity in JSON."""
    value = float(number)
    return value if math.isfinite(value) else None


# Python's reader accepts `Infinity` and `NaN`, which are not JSON.
_PLAIN = json.JSONDecoder(parse_constant=lambda constant: None)
_FINITE = json.JSONDecoder(parse_constant=lambda constant: None, parse_float=_finite)


def text_of(content: Any) -> str | None:
    """Join the parts of a content into one text. Return None if it has no text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    words = [text for text in texts if isinstance(text, str)]
    return "".join(words) if words else None


def word_of(value: Any) -> str:
    """Return the value if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""


def break_in(part: JSON) -> str:
    """Return the error beside an answer, on one line. Empty if there is none."""
    error = part.get("error")
    return error_in(part) or " ".join(str(error).split())[:300] if error else ""


def error_in(body: JSON) -> str:
    """Return the error message in a response with a successful status, on one line."""
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(message).split())[:300] if message else ""
