"""Probing a server before a run: which model answers, log probabilities, support of schemas.

A probe makes at most ten completions. It asks for the list of models, for a label made of words
that no model would choose by itself, for a long text twice, and a few short questions whose
answers tell one model from another. Nothing that a server wrote is repeated, except names of
models.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    Facts,
    FatalError,
    FinalError,
    Findings,
    Message,
    RejectedError,
    Request,
)
from judging.backends.logprobs import NoLikelihoodError, likelihoods_at, place_tokens

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


WORDS = ("quorvel", "zimtack", "brundow")
QUESTION = "What colour is the sky on a clear day? Answer with one word."
NONSENSE: JSON = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": list(WORDS)}},
    "required": ["word"],
    "additionalProperties": False,
}
# Longer than the 1,024 tokens from which hosted servers cache.
LONG = "\n".join(f"Line {n} of this text says nothing of interest." for n in range(150))
LONG_TOKENS = 2_000
MOST_NAMES = 5

_CACHING = re.compile(r'^vllm:cache_config_info\{.*enable_prefix_caching="(\w+)"', re.MULTILINE)
_FATAL = {
    401: "the server lets nobody in with this key",
    402: "the account of this key has nothing left to spend",
    403: "the server forbids this key what is asked",
    429: "the quota of this key is used up",
}
_PARTS = {
    ("logprobs", "top_logprobs"): (
        "the server gives no log probabilities, or not so many; leave out logprobs, or ask fewer"
    ),
    ("response_format",): (
        "the server takes no JSON schema for its answers, and judges are asked by one; choose "
        "another model or server"
    ),
}


async def probe(server: Server) -> Findings:
    """Raises TransientError where nobody is there, FatalError where nobody is let in."""
    return await _Probe(server).findings()


class _Probe:
    def __init__(self, server: Server) -> None:
        self.server, self.places = server, places_at(server)
        self.facts: JSON = {}
        self.warnings: list[str] = []
        self.refusal = ""
        self.models: list[JSON] = []

    async def findings(self) -> Findings:
        self.models = models_in(await self.server.look("models"))
        await self._see_model()
        await self._see_answers()
        return Findings(self.facts, tuple(self.warnings), self.refusal)

    async def _see_answers(self) -> None:
        """All that can be asked at once is, for a run waits for it."""
        short = asyncio.ensure_future(short_answers(self.server, self.places, times=2))
        try:
            if not await self._see_constraint():
                return
            self.facts["answers"] = await short
            self.facts["repeatable"] = self.facts["answers"] is not None
            await self._see_cache()
        finally:
            short.cancel()
            await asyncio.gather(short, return_exceptions=True)

    async def _complete(self, body: JSON) -> tuple[Answer, JSON]:
        async with self.places:
            return await self.server.complete(body)

    async def _see_model(self) -> None:
        own = entry_of(self.models, self.server.model)
        if own.get("owned_by") == "vllm":
            self.facts["server"] = "vllm"
            self.facts["version"] = version_in(await self.server.look("/version"))
        for name in ("root", "max_model_len"):
            if own.get(name) is not None:
                self.facts[name] = own[name]
        if self.models:
            self.facts["listed"] = bool(own)

    async def _see_constraint(self) -> bool:
        """Asks as the judge would; whether the server answers at all."""
        body = self.server.body(_asking(QUESTION, NONSENSE))
        try:
            answer, whole = await self._complete(body)
        except FatalError as error:
            self._refuse(error)
            return False
        except RejectedError as error:
            self.refusal = await self._what_is_not_taken(body, error)
            return False
        except FinalError as error:
            self._warn_of(error)
            if error.answer is not None:
                self._see_answer(error.answer, {})
            return True
        except BackendError as error:
            self._warn_of(error)
            return False
        self._see_answer(answer, whole)
        self._see_label(answer)
        return True

    def _see_answer(self, answer: Answer, whole: Mapping[str, Any]) -> None:
        self.facts["model_returned"] = answer.model[:LONGEST_NAME]
        fingerprint = whole.get("system_fingerprint")
        if isinstance(fingerprint, str):
            self.facts["system_fingerprint"] = fingerprint[:LONGEST_NAME]
        if self.facts.get("listed") is False:
            self.warnings.append(
                f"the server does not list the model {self.server.model!r}, but answers for it"
            )
        if answer.model and not answer.model.startswith(self.server.model):
            self.warnings.append(
                f"asked for {self.server.model!r}, the server answers as "
                f"{answer.model[:LONGEST_NAME]!r}"
            )
        self.facts["usage"] = bool(answer.usage)
        self.facts["cached_tokens_told"] = _cached(answer) is not None
        if not answer.usage:
            self.warnings.append("the server counts no tokens, so costs can only be estimated")

    def _see_label(self, answer: Answer) -> None:
        try:
            said = json.loads(answer.text)
        except (ValueError, RecursionError):
            said = None
        obeyed = isinstance(said, dict) and said.keys() == {"word"} and said["word"] in WORDS
        self.facts["structured_output"] = "obeyed" if obeyed else "ignored"
        if not obeyed:
            self.warnings.append(
                "the server ignores the schema of the answer: the model may answer in any form, "
                "and what cannot be read is missing"
            )
        if self.server.params.get("logprobs"):
            self._see_probabilities(answer, str(said["word"]) if obeyed else "")

    def _see_probabilities(self, answer: Answer, word: str) -> None:
        try:
            tokens = place_tokens(answer.text, answer.logprobs)
        except NoLikelihoodError:
            self.facts["logprobs"] = "none"
            self.warnings.append(
                "the server gives no log probabilities, so there will be no scores; leave out "
                "logprobs, or ask several samples"
            )
            return
        begin = answer.text.rfind(word) if word else -1
        try:
            if begin < 0:
                raise NoLikelihoodError("there is no label to look at")
            likely = likelihoods_at(answer.text, tokens, (begin, begin + len(word)), WORDS)
            self.facts["logprobs"] = "renormalised" if likely.masked else "raw"
        except NoLikelihoodError:
            self.facts["logprobs"] = "given"

    async def _see_cache(self) -> None:
        """Whether the beginning of a text is remembered, by the second of two equal prompts.

        Where no answer tells that, only vLLM's own word for it is left.
        """
        if self.facts.get("server") == "vllm":
            self._read_metrics(await self.server.look("/metrics") or "")
        if not self.facts.get("cached_tokens_told"):
            return
        if self.facts.get("max_model_len", LONG_TOKENS) < LONG_TOKENS:
            return
        body = self.server.body(_asking(f"{LONG}\n\n{QUESTION}", NONSENSE))
        cached = None
        for _ in range(2):
            try:
                answer, _ = await self._complete(body)
            except BackendError:
                return
            cached = _cached(answer)
        self.facts["prefix_cache"] = bool(cached)

    def _read_metrics(self, text: str) -> None:
        self.facts["metrics"] = "vllm:num_requests_waiting" in text
        if enabled := _CACHING.search(text):
            self.facts["prefix_cache"] = enabled[1] == "True"

    def _refuse(self, error: FatalError) -> None:
        """What somebody has to mend. Raises the failure where it is the whole server's."""
        model = self.server.model
        if error.status == 404:
            names = [str(each["id"])[:LONGEST_NAME] for each in self.models][:MOST_NAMES]
            there = (
                f"; it has {', '.join(names)}" if names else "; check the base URL and the model"
            )
            self.refusal = f"the server knows no model {model!r}, or takes no completions{there}"
            return
        if words := _FATAL.get(error.status or 0):
            error.message = f"{words} (status {error.status})"
            if error.status == 401 and self.server.api_key_env:
                error.message += f"; check the key in {self.server.api_key_env}"
            error.args = (error.message,)
        raise error

    async def _what_is_not_taken(self, body: JSON, error: RejectedError) -> str:
        """Why a request of this judge is turned down, found by leaving parts of it out."""
        for keys, words in _PARTS.items():
            left = {key: value for key, value in body.items() if key not in keys}
            if left != body and await self._is_taken(left):
                return words
        status = f" (status {error.status})" if error.status else ""
        return f"the server takes no request of this judge{status}; check its model and parameters"

    async def _is_taken(self, body: JSON) -> bool:
        try:
            await self._complete(body)
        except BackendError as error:
            return isinstance(error, FinalError) and error.answer is not None
        return True

    def _warn_of(self, error: BackendError) -> None:
        what = f"status {error.status}" if error.status and error.status >= 300 else error.state
        self.warnings.append(
            f"the server gave the probe no answer that tells anything ({what}), so it is not known "
            "whether it keeps to a schema"
        )


def _asking(question: str, schema: JSON) -> Request:
    return Request((Message("user", question),), schema, Facts("", (), (), unit_by_unit=True))


def _cached(answer: Answer) -> int | None:
    """How many tokens of the prompt were remembered, where the server tells."""
    details = answer.usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return cached if isinstance(cached, int) else None
