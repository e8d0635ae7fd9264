"""What a server can do, found out before a run with at most ten completions.

Asked are: the list of models, a label out of words that no model would choose by itself, a long
text twice, and a few short questions whose answers tell one model from another. Nothing that a
server wrote is repeated, but for names of models.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from judging.answers.likelihoods import likelihoods_at
from judging.answers.tokens import NoLikelihoodError, place_tokens
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
from judging.backends.identifying import (
    LONGEST_NAME,
    Server,
    entry_of,
    models_in,
    places_at,
    short_answers,
    version_in,
)

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
