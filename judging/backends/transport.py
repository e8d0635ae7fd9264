"""HTTP for judges: read bodies and replies, classify failures, and read how long to wait.

`encodings` brings a body to UTF-8, `streams` joins events, and `server_errors` reads errors. Bodies
have a size limit. Neither an error nor a log contains a secret.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
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
from judging.backends.encodings import MAX_BODY_BYTES, decode_text, too_large
from judging.backends.server_errors import (
    NO_ERROR,
    SHOWN,
    ServerError,
    error_of,
    error_within,
)
from judging.backends.streams import is_stream, join_stream

T = TypeVar("T")
SHORTEST_SECRET = 12
CHUNK_BYTES = 64 * 1024
KEPT_BODY = 64 * 1024
CONNECT_SECONDS = 5.0
LONGEST_RESET, LONGEST_REST = 120.0, 7 * 24 * 3600.0
_WAITS = ("retry-after", "retry-after-ms")
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_ASKED = re.compile(r"\blimit:? ([\d,]{1,15})\b[^\d]{1,40}\brequested:? ([\d,]{1,15})\b")
_VAST = re.compile(r"\d[eE]\+?\d{3}")
_TITLE = re.compile("<title[^>]{0,200}>([^<]{1,300})", re.IGNORECASE)
# The last two are those of a proxy before the server.
_DENIED = (401, 402, 403, 404, 429, 407, 511)
_UNPAID = "credit balance is too low"


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    if (length := response.content_length) is not None and length <= MAX_BODY_BYTES:
        return await response.read()
    raw = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            response.close()
            error = too_large(bytes(raw[:CHUNK_BYTES]))
            error.status = response.status
            raise error
    return bytes(raw)


def redact_secrets(secrets: Iterable[str], raw: bytes) -> bytes:
    """Remove secrets from a body, since some servers repeat them. Short ones stay."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            raw = raw.replace(secret.encode(), b"[key]")
    return raw


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


def redact_error(secrets: Iterable[str], error: BackendError) -> None:
    """Remove secrets from a failure, since some servers repeat them."""
    for secret in secrets:
        error.message = error.message.replace(secret, "[key]")
        error.body = error.body.replace(secret, "[key]")
    error.args = (error.message,)


def parse_retry_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read the seconds to wait from Retry-After, or else from the x-ratelimit-reset headers.

    Milliseconds in retry-after-ms come first. Return None if no header has a usable value. Values
    in the past or beyond `LONGEST_REST` are not usable, nor are resets beyond `LONGEST_RESET`,
    which may be those of another limit.
    """
    if (millis := _number(headers.get("retry-after-ms", ""))) is not None and millis >= 0:
        return _acceptable_wait(millis / 1000)
    if "retry-after" in headers:
        return _acceptable_wait(_seconds(headers["retry-after"], now))
    resets = [_acceptable_wait(_seconds(headers[name], now)) for name in _RESETS if name in headers]
    usable = [wait for wait in resets if wait is not None and wait <= LONGEST_RESET]
    return max(usable, default=None)


def _acceptable_wait(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= LONGEST_REST else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def can_never_pass(words: str) -> bool:
    """Return whether a rate limit refuses a request that is larger than the limit itself."""
    said = words.lower()
    if "request too large" in said:
        return True
    if (asked := _ASKED.search(said)) is None:
        return False
    limit, requested = (int(each.replace(",", "") or 0) for each in asked.groups())
    return requested > limit


def _seconds(text: str, now: datetime) -> float | None:
    text = text.strip()
    try:
        float(text)
    except ValueError:
        return _duration(text) if _DURATION.fullmatch(text) else _until(text, now)
    return _number(text)


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
    An error in its body that names a status counts as a response with that status.
    """
    try:
        if not 200 <= status < 300:
            raise _refusal(status, headers, _error_in_body(headers, raw))
        body = _parse_body(headers, raw)
        if inner := error_within(body).status:
            status = inner
            raise _refusal(inner, headers, error_within(body), under="within a successful reply ")
        return read(body, status)
    except BackendError as error:
        error.status = status
        error.body = error.body or raw[:KEPT_BODY].decode("utf-8", "replace")
        raise


def _refusal(
    status: int, headers: Mapping[str, str], error: ServerError, under: str = ""
) -> BackendError:
    message = f"the server answered {under}{status}" + (f": {error.words}" if error.words else "")
    said = error.searched
    if status == 429 and can_never_pass(said):
        return FinalError("too-long", message)
    if status == 429 and "insufficient_quota" not in said:
        return RateError(message, wait=parse_retry_wait(headers, datetime.now(UTC)))
    if status in (503, 529) and any(name in headers for name in _WAITS):
        return RateError(message, wait=parse_retry_wait(headers, datetime.now(UTC)))
    if status in (400, 422) and error.is_of_key:
        return FatalError("status-401", message)
    if status == 403 and error.reason in ("filtered", "refused"):
        return FinalError(error.reason, message)
    if status in _DENIED or 300 <= status < 400 or _UNPAID in said:
        return FatalError(f"status-{status}", message)
    if status >= 500 and error.exceeds_context:
        return FinalError("too-long", message)
    if status in (408, 409, 425) or status >= 500:
        return TransientError(f"status-{status}", message)
    if reason := error.reason or ("too-long" if status == 413 else None):
        return FinalError(reason, message)
    return RejectedError(f"status-{status}", message)


def _error_in_body(headers: Mapping[str, str], raw: bytes) -> ServerError:
    """Return the error in the body of a response with a bad status.

    Of a proxy's page it is the title, and of a plain text its beginning.
    """
    text, kind = "", headers.get("content-type", "")
    try:
        text = decode_text(headers, raw)
        is_joined = is_stream(kind, text)
        return error_of(join_stream(text, json.loads) if is_joined else json.loads(text))
    except (ValueError, RecursionError, BackendError):
        words = _title(text) if text.lstrip().startswith("<") else ""
        if kind.startswith("text/plain"):
            words = " ".join(text[:SHOWN].split())
        return ServerError(words, searched=words.lower()) if words else NO_ERROR


def _parse_body(headers: Mapping[str, str], raw: bytes) -> JSON:
    if not raw.strip():
        raise TransientError("empty-body", "the server sent an empty body")
    text, kind = decode_text(headers, raw), headers.get("content-type", "")
    decode = (_FINITE if _VAST.search(text) else _PLAIN).decode
    if is_stream(kind, text):
        return join_stream(text, decode)
    try:
        body = decode(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(kind, text) from error
    if not isinstance(body, dict):
        # Some gateways wrap an error in a list.
        if error_of(body).status and isinstance(body, list):
            return {"error": body}
        raise TransientError("not-an-object", "the server's body is not a JSON object")
    return body


def _not_json(kind: str, text: str) -> TransientError:
    """Describe what came instead of JSON: a page with its title, or another type."""
    if not text.lstrip().startswith("<"):
        came = f"; its type is {kind[:80]}" if kind and "json" not in kind.lower() else ""
        return TransientError("not-json", f"the server's body is not JSON{came}")
    named = f" titled {title!r}" if (title := _title(text)) else ""
    return TransientError(
        "html",
        f"the server sent a page{named} instead of JSON; check the base URL, and whether a proxy "
        "or a login stands before the server",
    )


def _title(page: str) -> str:
    found = _TITLE.search(page[:KEPT_BODY])
    return " ".join(found[1].split())[:100] if found else ""


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
    return error_of(part).words if part.get("error") else ""


def error_in(body: JSON) -> str:
    """Return the error message in a response with a successful status, on one line."""
    if "error" not in body:
        return error_of(body).words
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(message).split())[:SHOWN] if message else ""
