"""What an OpenAI-compatible server sent back: an answer, or which of its many failures it is."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

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
from judging.backends.patience import wait_of

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
