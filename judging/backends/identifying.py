"""Which model answers under a name: what its server says of it, and what it says itself."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from judging.backends.base import JSON, Answer, BackendError, FinalError, Request

LONGEST_NAME = 100
TELLING = ("id", "root", "max_model_len", "created")
SHORT = (
    "Continue: one, two, three,",
    "Name a river in Africa.",
    "Write a sentence about snow.",
    "What is 17 times 23?",
    "Give a word that rhymes with stone.",
)
SHORT_TOKENS = 16
MOST_AT_ONCE = 16


class Server(Protocol):
    """What a probe needs of a backend. Every failure has lost the server's words where it must."""

    model: str
    params: Mapping[str, Any]
    api_key_env: str

    def body(self, request: Request) -> JSON: ...

    async def complete(self, body: JSON) -> tuple[Answer, JSON]:
        """A chat completion, and the whole of what was sent. Raises BackendError."""
        ...

    async def look(self, path: str) -> str | None:
        """What stands at a path beside the completions; None where that is refused.

        A path with a slash in front is of the server's root. Raises TransientError where no
        connection comes about.
        """
        ...


async def identity_of(server: Server) -> dict[str, Any]:
    """Which model under which version answers, without a completion."""
    models = models_in(await server.look("models"))
    own = entry_of(models, server.model)
    found: JSON = {
        key: own[key] for key in ("id", "root", "max_model_len", "created") if key in own
    }
    # vLLM tells the time of the question as that of the model.
    if own.get("owned_by") == "vllm":
        found.pop("created", None)
        found |= {"version": version_in(await server.look("/version"))}
    return {key: value for key, value in found.items() if value is not None}


def places_at(server: Server) -> asyncio.Semaphore:
    """As many places as the judge may have calls under way."""
    return asyncio.Semaphore(int(server.params.get("concurrency", MOST_AT_ONCE)))


async def short_answers(
    server: Server, places: asyncio.Semaphore, times: int = 1
) -> list[str] | None:
    """A hash of each answer to a few questions, by which one model is told from another.

    None where one is not answered, or not always alike when it is asked several times: then the
    answers tell nothing.
    """

    async def one(question: str) -> str | None:
        async with places:
            return await _short_answer(server, question)

    found = await asyncio.gather(*(one(each) for each in SHORT * times))
    first, told = found[: len(SHORT)], [answer for answer in found if answer is not None]
    return told[: len(SHORT)] if list(first) * times == told else None


def differing(before: Sequence[str], now: Sequence[str] | None) -> int:
    """How many of the short answers differ. One may: batches move probabilities a little."""
    return sum(old != new for old, new in zip(before, now or before, strict=False))


async def _short_answer(server: Server, question: str) -> str | None:
    body: JSON = {
        "model": server.model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0.0,
        "seed": 0,
        "max_tokens": SHORT_TOKENS,
    }
    try:
        answer, _ = await server.complete(body)
    except FinalError as error:
        if error.answer is None:
            return None
        answer = error.answer
    except BackendError:
        return None
    return hashlib.sha256(answer.text.strip().encode("utf-8", "replace")).hexdigest()[:16]


def models_in(raw: str | None) -> list[JSON]:
    listed = _object(raw).get("data")
    every = listed if isinstance(listed, list) else []
    return [each for each in every if isinstance(each, dict) and isinstance(each.get("id"), str)]


def entry_of(models: Sequence[JSON], name: str) -> JSON:
    own = next((each for each in models if each["id"] == name), {})
    kinds: dict[str, type] = {"id": str, "root": str, "owned_by": str}
    numbers = dict.fromkeys(("max_model_len", "created"), int)
    return {k: own[k] for k, kind in (kinds | numbers).items() if isinstance(own.get(k), kind)}


def version_in(raw: str | None) -> str | None:
    version = _object(raw).get("version")
    return version[:LONGEST_NAME] if isinstance(version, str) else None


def _object(raw: str | None) -> JSON:
    try:
        found = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
