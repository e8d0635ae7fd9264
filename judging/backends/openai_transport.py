"""HTTP for judges: sending requests, reading replies, and how long a server asks to be left alone.

Bodies have a size limit, failures have names, and neither an error nor a log contains a key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    FatalError,
    FinalError,
    RateError,
    RejectedError,
    TransientError,
)

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


LONGEST = 120.0
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)


def wait_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, from Retry-After or else the x-ratelimit-reset headers.

    None where nothing is said, or nothing that can be followed: garbage, a time that has passed,
    or more than `LONGEST` seconds.
    """
    if "retry-after" in headers:
        return _followable(_seconds(headers["retry-after"], now))
    resets = [_followable(_seconds(headers[name], now)) for name in _RESETS if name in headers]
    return max((wait for wait in resets if wait is not None), default=None)


def _followable(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= LONGEST else None


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


KEPT = 64 * 1024
_VAST = re.compile(r"\d[eE]\+?\d{3}")
_TOO_LONG = ("context_length", "context length", "maximum context", "max_model_len", "too long")
_FILTERED = ("content_filter", "content management policy")


def read_reply(status: int, headers: Mapping[str, str], raw: bytes) -> Answer:
    """The answer in a response. Raises BackendError with the beginning of its body."""
    try:
        if 200 <= status < 300:
            return _answer(_completion(raw), status)
        raise _refusal(status, headers, raw)
    except BackendError as error:
        error.status = status
        error.body = error.body or raw[:KEPT].decode("utf-8", "replace")
        raise


def _refusal(status: int, headers: Mapping[str, str], raw: bytes) -> BackendError:
    said = _said(raw)
    message = f"the server answered {status}" + (f": {said}" if said else "")
    if status == 429 and "insufficient_quota" not in said:
        return RateError(message, wait=wait_of(headers, datetime.now(UTC)))
    if status == 503 and "retry-after" in headers:
        return RateError(message, wait=wait_of(headers, datetime.now(UTC)))
    if status in (401, 402, 403, 404, 429) or 300 <= status < 400:
        return FatalError(f"status-{status}", message)
    if status in (408, 409, 425) or status >= 500:
        return TransientError(f"status-{status}", message)
    if status == 413 or any(words in said.lower() for words in _TOO_LONG):
        return FinalError("too-long", message)
    if any(words in said.lower() for words in _FILTERED):
        return FinalError("filtered", message)
    return RejectedError(f"status-{status}", message)


def _said(raw: bytes) -> str:
    """The server's own words for an error, with its code, on one line."""
    try:
        error = json.loads(raw[:KEPT])
    except (ValueError, RecursionError):
        return ""
    error = error.get("error", error) if isinstance(error, dict) else error
    if not isinstance(error, dict):
        return " ".join(str(error).split())[:300]
    told = [str(error[key]) for key in ("message", "code") if error.get(key) is not None]
    return " ".join(" ".join(told).split())[:300]


def _completion(raw: bytes) -> JSON:
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
    """A number that is too large for any becomes null, as no database keeps infinity in JSON."""
    value = float(number)
    return value if math.isfinite(value) else None


# Python's own reader takes words for infinity that no JSON has.
_PLAIN = json.JSONDecoder(parse_constant=lambda constant: None)
_FINITE = json.JSONDecoder(parse_constant=lambda constant: None, parse_float=_finite)


def _answer(body: JSON, status: int) -> Answer:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise TransientError("no-choices", f"the server sent no choices. {_error_in(body)}".strip())
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TransientError("no-message", "the server sent a choice without a message")
    text, refusal = _text(message.get("content")), message.get("refusal")
    answer = Answer(
        text=text if text is not None else str(refusal or ""),
        finish_reason=_word(choice.get("finish_reason")),
        usage=body["usage"] if isinstance(body.get("usage"), dict) else {},
        model=_word(body.get("model")),
        status=status,
        logprobs=choice.get("logprobs"),
    )
    _check_finish(answer, written=text is not None, refused=bool(refusal))
    return answer


def _check_finish(answer: Answer, written: bool, refused: bool) -> None:
    if answer.finish_reason == "content_filter":
        raise FinalError("filtered", "the server's content filter stopped it", answer=answer)
    if refused:
        raise FinalError("refused", "the model refused", answer=answer)
    if answer.finish_reason == "length":
        raise FinalError("truncated", "the completion was cut at its length limit", answer=answer)
    if not written:
        raise FinalError("unreadable", "the model wrote no text", answer=answer)


def _text(content: Any) -> str | None:
    """The content, which some servers send in parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    words = [text for text in texts if isinstance(text, str)]
    return "".join(words) if words else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _error_in(body: JSON) -> str:
    error = body.get("error")
    told = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(told).split())[:300] if told else ""
