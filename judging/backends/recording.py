"""Record a server's replies to a few requests, without secrets, so that tests can read them again.

Sends five short requests. Each reply is stored with the result of reading it, `expected`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from judging.backends.base import (
    ANY_FORM,
    JSON,
    Answer,
    BackendError,
    Facts,
    FinalError,
    Message,
    Request,
)
from judging.backends.capabilities import LABEL_SCHEMA, QUESTION
from judging.backends.wire import WireBackend

LONG_TASK = "Count from 1 to 200 in words."
FEW_TOKENS = 16
UNKNOWN_MODEL = "no-such-model"
IMPOSSIBLE = 99
REMOVED = "[removed]"
_HEADERS = re.compile(r"content-type|retry-after|(x|anthropic)-ratelimit-[a-z-]+", re.ASCII)
_PRIVATE = {
    "id", "request_id", "organization", "user", "safety_identifier", "prompt_cache_key",
    "encrypted_content", "signature",
}  # fmt: skip
_IDS = re.compile(r"\b(?:sk|org|proj|req)[-_][\w*.-]{8,}", re.ASCII)


def requests_of(backend: WireBackend) -> Iterator[tuple[str, JSON]]:
    """Yield named request bodies: valid ones, one that gets truncated, and two invalid ones."""
    labelled = backend.body(_request(LABEL_SCHEMA))
    yield "label", labelled
    yield "free", backend.body(_request(ANY_FORM))
    yield "truncated", backend.short_body(LONG_TASK, FEW_TOKENS)
    yield "unknown-model", labelled | {"model": UNKNOWN_MODEL}
    yield "impossible-temperature", labelled | {"temperature": IMPOSSIBLE}


async def record(backend: WireBackend) -> list[JSON]:
    """Return each reply with its status, some headers and its body. Raises BackendError."""
    found = []
    for name, body in requests_of(backend):
        status, headers, raw = await backend.exchange(body)
        kept = {k.lower(): v for k, v in headers.items() if _HEADERS.fullmatch(k.lower())}
        reply = {
            "status": status,
            "headers": kept,
            "body": without_secrets(parse_recorded_body(raw)),
        }
        found.append({"name": name, **reply, "expected": reread_reply(backend, reply)})
    return found


def reread_reply(backend: WireBackend, reply: Mapping[str, Any]) -> JSON:
    """Read a recorded reply again."""
    body = reply["body"]
    raw = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    try:
        return _answer(backend.read_reply(reply["status"], reply["headers"], raw.encode()))
    except BackendError as error:
        found: JSON = {"error": type(error).__name__, "state": error.state}
        if (wait := getattr(error, "wait", None)) is not None:
            found["wait"] = wait
        if isinstance(error, FinalError) and error.answer is not None:
            found |= _answer(error.answer)
        return found


def _answer(answer: Answer) -> JSON:
    return {
        "text": answer.text,
        "finish_reason": answer.finish_reason,
        "model": answer.model,
        "usage": dict(answer.usage),
        "reasoning": answer.reasoning,
        "logprobs": answer.logprobs is not None,
    }


def parse_recorded_body(raw: bytes) -> Any:
    """Parse a body as JSON, or return it as text."""
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def without_secrets(value: Any) -> Any:
    """Remove ids of accounts and requests, and encrypted values, from JSON."""
    if isinstance(value, Mapping):
        return {
            key: REMOVED if key in _PRIVATE and isinstance(each, str) else without_secrets(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    return _IDS.sub(REMOVED, value) if isinstance(value, str) else value


def _request(schema: JSON) -> Request:
    return Request((Message("user", QUESTION),), schema, Facts("", (), (), unit_by_unit=True))
