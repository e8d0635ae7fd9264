"""Probe a server before a run: which model answers, log probabilities, support of schemas.

A probe makes `PROBE_COMPLETIONS` completions, and a few more if a part of a request is rejected. It
requests the list of models, a choice among invented words, two answers to a long prompt, and
answers to a few short questions that distinguish models. Apart from model names, its messages
repeat nothing from the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from judging.backends.base import (
    ANY_FORM,
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
from judging.backends.completeness import ACCEPT, accepts_no_reason
from judging.backends.contents import STRUCTURE
from judging.backends.logprobs import NoLikelihoodError, likelihoods_at, locate_tokens

MAX_NAME_LENGTH = 100
IDENTITY_KEYS = ("id", "root", "max_model_len", "created")
SHORT_QUESTIONS = (
    "Continue: one, two, three,",
    "Name a river in Africa.",
    "Write a sentence about snow.",
    "What is 17 times 23?",
    "Give a word that rhymes with stone.",
)
SHORT_TOKENS = 16
TWICE = 2
# One of a few answers may differ by chance, since batching shifts probabilities a bit.
CHANGED_ANSWERS = 2
PROBE_COMPLETIONS = 1 + TWICE * len(SHORT_QUESTIONS) + TWICE
DEFAULT_CONCURRENCY = 16
LABELS = ("quorvel", "zimtack", "brundow")
QUESTION = "What colour is the sky on a clear day? Answer with one word."
LABEL_SCHEMA: JSON = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": list(LABELS)}},
    "required": ["word"],
    "additionalProperties": False,
}
# Longer than 1,024 tokens, the minimum for caching on hosted servers.
LONG_TEXT = "\n".join(f"Line {n} of this text says nothing of interest." for n in range(150))
LONG_TOKENS = 2_000
MAX_NAMES = 5

_CACHING = re.compile(r'^vllm:cache_config_info\{.*enable_prefix_caching="(\w+)"', re.MULTILINE)
_DENIALS = {
    "status-401": "the server does not accept this key",
    "status-402": "the account of this key has no credit left",
    "status-403": "the server forbids this request with this key",
    "status-429": "the quota of this key is used up",
}
# Why a server may reject a body, by the param that it rejects, and the remedy.
_OPTIONAL_PARTS = {
    "logprobs": (
        "no log probabilities, or not as many",
        "leave out logprobs, or ask for fewer",
    ),
    STRUCTURE: ("no JSON schema for its answers", ""),
    "temperature": ("no temperature, or not this one", ""),
    "seed": ("no seed", ""),
    "max_tokens": ("no max_tokens", "give max_completion_tokens instead"),
    "max_completion_tokens": ("no max_completion_tokens", "give max_tokens instead"),
    "top_p": ("no top_p", "leave out top_p"),
    "reasoning_effort": ("no such reasoning_effort", "leave it out, or give another"),
    "chat_template_kwargs": ("no chat_template_kwargs", "leave them out"),
    "extra_body": ("not all of extra_body", "leave out what the server does not know"),
}


NO_REASON = (
    "the server does not say why an answer ended, so answers that were cut off look complete, and "
    "every answer will be missing as error; to accept such answers, create a judge with "
    f"{ACCEPT}=1 (Accept answers without a reason)"
)
ACCEPTED = (
    f"the server does not say why an answer ended, and the judge has {ACCEPT}=1, so answers that "
    "were cut off count too"
)


class Server(Protocol):
    """The part of a backend that a probe needs. Its failures are already redacted."""

    model: str
    params: Mapping[str, Any]
    api_key_env: str

    def body(self, request: Request) -> JSON: ...

    def short_body(self, question: str, tokens: int) -> JSON:
        """Return the JSON of a short question, with equal sampling for all judges of a model."""
        ...

    def without(self, body: Mapping[str, Any], names: Iterable[str]) -> JSON:
        """Return a body without the keys set by these parameters."""
        ...

    async def complete(self, body: JSON) -> tuple[Answer, JSON]:
        """Return a completion, and the whole response. Raises BackendError."""
        ...

    async def list_models(self) -> str | None:
        """Read the list of models, as `fetch` does."""
        ...

    async def fetch(self, path: str) -> str | None:
        """Read a path next to the completions, or return None if the server refuses.

        A path that begins with a slash is under the server's root. Raises TransientError if no
        connection is established.
        """
        ...


async def fetch_identity(server: Server) -> dict[str, Any]:
    """Return which model and version answers, without a completion."""
    models = parse_models(await server.list_models())
    own = find_model(models, server.model)
    found: JSON = {key: own[key] for key in IDENTITY_KEYS if key in own}
    # vLLM gives the time of the request as the model's time of creation.
    if own.get("owned_by") == "vllm":
        found.pop("created", None)
        found |= {"version": parse_version(await server.fetch("/version"))}
    return {key: value for key, value in found.items() if value is not None}


def call_slots(server: Server) -> asyncio.Semaphore:
    """Return a semaphore with a slot for each call that the judge may have in flight.

    That is what was `granted`, if workers share the server.
    """
    most = int(server.params.get("concurrency", DEFAULT_CONCURRENCY))
    return asyncio.Semaphore(min(most, getattr(server, "granted", None) or most))


async def short_answers(
    server: Server, slots: asyncio.Semaphore, times: int = 1
) -> list[str] | None:
    """Return a hash of each answer to a few questions, to distinguish models.

    Return None if a question gets no answer, or different answers when it is repeated. If a model
    returned only reasoning, that is its answer.
    """

    async def one(question: str) -> str | None:
        async with slots:
            return await _short_answer(server, question)

    found = await asyncio.gather(*(one(each) for each in SHORT_QUESTIONS * times))
    first = found[: len(SHORT_QUESTIONS)]
    answered = [answer for answer in found if answer is not None]
    return answered[: len(SHORT_QUESTIONS)] if list(first) * times == answered else None


def count_differences(before: Sequence[str], now: Sequence[str] | None) -> int:
    """Count the short answers that differ. One may, since batching shifts probabilities a bit."""
    return sum(old != new for old, new in zip(before, now or before, strict=False))


async def _short_answer(server: Server, question: str) -> str | None:
    try:
        answer, _ = await server.complete(server.short_body(question, SHORT_TOKENS))
    except FinalError as error:
        if error.answer is None:
            return None
        answer = error.answer
    except BackendError:
        return None
    # A reasoning model may use up so few tokens before it answers.
    said = answer.text.strip() or answer.reasoning.strip()
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16] if said else None


def parse_models(raw: str | None) -> list[JSON]:
    listed = _object(raw).get("data")
    every = listed if isinstance(listed, list) else []
    return [each for each in every if isinstance(each, dict) and isinstance(each.get("id"), str)]


def find_model(models: Sequence[JSON], name: str) -> JSON:
    own = next((each for each in models if each["id"] == name), {})
    kinds: dict[str, type] = {"id": str, "root": str, "owned_by": str}
    numbers = dict.fromkeys(("max_model_len", "created"), int)
    return {k: own[k] for k, kind in (kinds | numbers).items() if isinstance(own.get(k), kind)}


def parse_version(raw: str | None) -> str | None:
    version = _object(raw).get("version")
    return version[:MAX_NAME_LENGTH] if isinstance(version, str) else None


def _object(raw: str | None) -> JSON:
    try:
        found = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


async def probe(server: Server) -> Findings:
    """Probe a server.

    Raises TransientError if it cannot be reached, and FatalError if it denies access.
    """
    return await _Probe(server).findings()


class _Probe:
    def __init__(self, server: Server) -> None:
        self.server, self.slots = server, call_slots(server)
        self.facts: JSON = {}
        self.warnings: list[str] = []
        self.refusal = ""
        self.structured = True
        self.models: list[JSON] = []

    async def findings(self) -> Findings:
        self.models = parse_models(await self.server.list_models())
        await self._check_model()
        await self._check_answers()
        return Findings(self.facts, tuple(self.warnings), self.refusal)

    async def _check_answers(self) -> None:
        """Send as many requests at once as possible, since a run waits for the result."""
        short = asyncio.ensure_future(short_answers(self.server, self.slots, times=TWICE))
        try:
            if not await self._check_schema():
                return
            self.facts["answers"] = await short
            self.facts["repeatable"] = self.facts["answers"] is not None
            await self._check_cache()
        finally:
            short.cancel()
            await asyncio.gather(short, return_exceptions=True)

    async def _complete(self, body: JSON) -> tuple[Answer, JSON]:
        async with self.slots:
            return await self.server.complete(body)

    async def _check_model(self) -> None:
        own = find_model(self.models, self.server.model)
        if own.get("owned_by") == "vllm":
            self.facts["server"] = "vllm"
            self.facts["version"] = parse_version(await self.server.fetch("/version"))
        for name in ("root", "max_model_len"):
            if own.get(name) is not None:
                self.facts[name] = own[name]
        if self.models:
            self.facts["listed"] = bool(own)

    async def _check_schema(self) -> bool:
        """Send a request like the judge's, and return whether the server answers at all."""
        body = self.server.body(_request_for(QUESTION, LABEL_SCHEMA))
        self.structured = body != self.server.body(_request_for(QUESTION, ANY_FORM))
        try:
            answer, whole = await self._complete(body)
        except FatalError as error:
            self._refuse(error)
            return False
        except RejectedError as error:
            if error.status is not None and error.status < 300:
                # The server accepted the request, but its answer cannot be read.
                self.refusal = error.message
            else:
                self.refusal = await self._find_rejected_part(body, error)
            return False
        except FinalError as error:
            if error.answer is None or error.answer.finish_reason:
                self._warn_of(error)
                if error.answer is not None:
                    self._check_answer(error.answer, {})
                return True
            answer, whole = error.answer, {}
        except BackendError as error:
            self._warn_of(error)
            return False
        self._check_answer(answer, whole)
        self._check_label(answer)
        return True

    def _check_answer(self, answer: Answer, whole: Mapping[str, Any]) -> None:
        self.facts["model_returned"] = answer.model[:MAX_NAME_LENGTH]
        fingerprint = whole.get("system_fingerprint")
        if isinstance(fingerprint, str):
            self.facts["system_fingerprint"] = fingerprint[:MAX_NAME_LENGTH]
        if self.facts.get("listed") is False:
            self.warnings.append(
                f"the server does not list the model {self.server.model!r}, but answers for it"
            )
        if answer.model and not answer.model.startswith(self.server.model):
            self.warnings.append(
                f"asked for {self.server.model!r}, the server answers as "
                f"{answer.model[:MAX_NAME_LENGTH]!r}"
            )
        if not answer.finish_reason:
            self.warnings.append(ACCEPTED if accepts_no_reason(self.server.params) else NO_REASON)
        self.facts["usage"] = bool(answer.usage)
        self.facts["cached_tokens_told"] = _cached_tokens(answer) is not None
        if not answer.usage:
            self.warnings.append("the server does not count tokens, so costs can only be estimated")

    def _check_label(self, answer: Answer) -> None:
        try:
            label = json.loads(answer.text)
        except (ValueError, RecursionError):
            label = None
        obeyed = isinstance(label, dict) and label.keys() == {"word"} and label["word"] in LABELS
        if not self.structured:
            self.facts["structured_output"] = "omitted"
        else:
            self.facts["structured_output"] = "obeyed" if obeyed else "ignored"
        if self.structured and not obeyed:
            self.warnings.append(
                "the server ignores the schema of the answer: the model may answer in any form, "
                "and unreadable answers count as missing"
            )
        if self.server.params.get("logprobs"):
            self._check_logprobs(answer, str(label["word"]) if obeyed else "")

    def _check_logprobs(self, answer: Answer, word: str) -> None:
        try:
            tokens = locate_tokens(answer.text, answer.logprobs)
        except NoLikelihoodError:
            self.facts["logprobs"] = "none"
            self.warnings.append(
                "the server gives no log probabilities, so there will be no scores; leave out "
                "logprobs, or ask for several samples"
            )
            return
        begin = answer.text.rfind(word) if word else -1
        try:
            if begin < 0:
                raise NoLikelihoodError("the answer contains no label")
            likely = likelihoods_at(answer.text, tokens, (begin, begin + len(word)), LABELS)
            self.facts["logprobs"] = "renormalised" if likely.masked else "raw"
        except NoLikelihoodError:
            self.facts["logprobs"] = "given"

    async def _check_cache(self) -> None:
        """Send a prompt twice to find out whether the server caches the beginning of prompts.

        If answers do not report cached tokens, only vLLM's metrics show them.
        """
        if self.facts.get("server") == "vllm":
            self._read_metrics(await self.server.fetch("/metrics") or "")
        if not self.facts.get("cached_tokens_told"):
            return
        if self.facts.get("max_model_len", LONG_TOKENS) < LONG_TOKENS:
            return
        body = self.server.body(_request_for(f"{LONG_TEXT}\n\n{QUESTION}", LABEL_SCHEMA))
        cached = None
        for _ in range(TWICE):
            try:
                answer, _ = await self._complete(body)
            except BackendError:
                return
            cached = _cached_tokens(answer)
        self.facts["prefix_cache"] = bool(cached)

    def _read_metrics(self, text: str) -> None:
        self.facts["metrics"] = "vllm:num_requests_waiting" in text
        if enabled := _CACHING.search(text):
            self.facts["prefix_cache"] = enabled[1] == "True"

    def _refuse(self, error: FatalError) -> None:
        """Store a problem for a person to correct.

        Raises the error if it affects the whole server.
        """
        if error.status != 404:
            raise explain_denial(error, self.server)
        self.refusal = describe_absence(self.server.model, self.models, "offers no completions")

    async def _find_rejected_part(self, body: JSON, error: RejectedError) -> str:
        """Find out why the server rejects this judge's requests, by leaving parts out.

        Several parts may be rejected, so each is added alone to a request without any of them.
        """
        parts = [n for n in _OPTIONAL_PARTS if self.server.without(body, [n]) != body]
        if parts and await self._is_accepted(self.server.without(body, parts)):
            rejected = [
                name
                for name in parts
                if not await self._is_accepted(
                    self.server.without(body, [other for other in parts if other != name])
                )
            ]
            return _describe_rejected(rejected, parts)
        status = f" (status {error.status})" if error.status else ""
        return f"the server rejects this judge's requests{status}; check its model and parameters"

    async def _is_accepted(self, body: JSON) -> bool:
        try:
            await self._complete(body)
        except BackendError as error:
            return isinstance(error, FinalError) and error.answer is not None
        return True

    def _warn_of(self, error: BackendError) -> None:
        what = f"status {error.status}" if error.status and error.status >= 300 else error.state
        self.warnings.append(
            f"the server gave the probe no usable answer ({what}), so it is unknown whether the "
            "server keeps to a schema"
        )


class Denied(Protocol):
    """The part of a backend that a denial is explained for."""

    api_key_env: str


def explain_denial(error: FatalError, server: Denied) -> FatalError:
    """Add to the error what to do."""
    if words := _DENIALS.get(error.state):
        error.message = f"{words} (status {error.status})"
        if error.state == "status-401" and server.api_key_env:
            error.message += f"; check the key in {server.api_key_env}"
        error.args = (error.message,)
    return error


def describe_absence(model: str, models: Sequence[JSON], otherwise: str) -> str:
    """Describe a server that answers for a model as if it, or the path, did not exist.

    `models` are those that it lists. `otherwise` is what the server may lack instead.
    """
    names = [str(each["id"])[:MAX_NAME_LENGTH] for each in models]
    if model in names:
        return (
            f"the server lists the model {model!r}, but {otherwise} for it under this address "
            "with this key; check the base URL, and what the account may use"
        )
    listed = ", ".join(names[:MAX_NAMES])
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    remedy = f"it has {listed}{more}" if names else "check the base URL and the model"
    return f"the server does not know the model {model!r}, or {otherwise}; {remedy}"


def _describe_rejected(rejected: Sequence[str], parts: Sequence[str]) -> str:
    if not rejected:
        names = ", ".join(parts)
        return f"the server rejects this judge's requests unless one of these is left out: {names}"
    whats, remedies = zip(*(_OPTIONAL_PARTS[name] for name in rejected), strict=True)
    omitted = [name for name in rejected if not _OPTIONAL_PARTS[name][1]]
    steps = [remedy for remedy in remedies if remedy]
    if omitted:
        steps.append(f"define the judge with omit={','.join(omitted)}")
    return f"the server accepts {', and '.join(whats)}; {', and '.join(steps)}"


def _request_for(question: str, schema: JSON) -> Request:
    return Request((Message("user", question),), schema, Facts("", (), (), unit_by_unit=True))


def _cached_tokens(answer: Answer) -> int | None:
    """Return how many tokens of the prompt were cached, if the server reports it."""
    details = answer.usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return cached if isinstance(cached, int) else None
