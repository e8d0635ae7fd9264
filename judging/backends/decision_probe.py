"""Find the form in which a server takes questions, by asking a test question.

The server's description is no proof: vLLM lists the path even for models that lack the feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from judging.backends.base import JSON, FatalError, RejectedError
from judging.backends.capabilities import (
    MAX_NAME_LENGTH,
    find_model,
    parse_models,
    parse_version,
)
from judging.backends.decision_forms import FORMS, Dialect, Form, Sheet
from judging.backends.decision_questions import Decision, Question

FALLBACK = "first-token"
ENDPOINTS = tuple(name for name in FORMS if name != FALLBACK)
ABSENT = (404, 405, 501)
NOT_ACCEPTED = (400, 422)
VERSION_PATHS = ("/version", "/api/version")
QUESTION = Question(
    "sky",
    "blue",
    "predicate",
    "Is the sky blue on a clear day?",
    (("yes", "it is blue"), ("no", "it has another colour")),
)
INSTRUCTIONS = "Answer from common knowledge."
STATE = "It is noon on a clear day."


class AbsentFormError(Exception):
    """The server does not take questions in this form, or in any."""


class Server(Protocol):
    """The part of a backend that the probe needs. Its failures are already redacted."""

    model: str
    api_key_env: str

    async def post(self, path: str, body: JSON) -> JSON:
        """Return the JSON object of a reply. Raises BackendError."""
        ...

    async def fetch(self, path: str) -> str | None: ...


@dataclass(frozen=True)
class FormProbe:
    """The form and dialect in which a server answers, with its answer to the test question.

    `tried` has the results of the forms tried before.
    """

    form: Form
    dialect: Dialect
    decision: Decision
    reply: Mapping[str, Any]
    tried: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> JSON:
        mass, model = self.decision.mass, self.reply.get("model")
        found: JSON = {
            "form": self.form.name,
            "dialect": vars(self.dialect),
            "mass": None if mass is None else float(f"{mass:.3g}"),
            "usage": isinstance(self.reply.get("usage"), dict),
            "model_returned": model[:MAX_NAME_LENGTH] if isinstance(model, str) else "",
        }
        return found | ({"tried": dict(self.tried)} if self.tried else {})

    def warnings(self, floor: float) -> list[str]:
        found, mass = [], self.decision.mass
        if self.form.name == FALLBACK and self.tried:
            found.append(
                f"the server takes no decisions ({describe_attempts(self.tried)}); probabilities "
                "are read from the first token of a chat completion, one question at a time"
            )
        if mass is None:
            found.append(
                "the server does not report how much of its probability is on the options, so an "
                "answer outside the options cannot be recognised"
            )
        elif mass < floor:
            found.append(
                f"the model puts {mass:.2g} of its probability on the options of a test question; "
                f"labels with less than {floor:g} will be missing as off-label"
            )
        if not self.facts["usage"]:
            found.append("the server counts no tokens, so costs can only be estimated")
        return found


def describe_attempts(tried: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {what}" for name, what in tried.items())


async def find_form(server: Server, names: Iterable[str], floor: float) -> FormProbe:
    """Return the first of the forms in which the server answers a question.

    Raises AbsentFormError if there is none, and BackendError.
    """
    tried: dict[str, str] = {}
    for name in names:
        try:
            dialect, decision, reply = await _try_form(server, FORMS[name], floor)
        except AbsentFormError as error:
            tried[name] = str(error)
        else:
            return FormProbe(FORMS[name], dialect, decision, reply, tried)
    raise AbsentFormError(describe_attempts(tried))


async def _try_form(server: Server, form: Form, floor: float) -> tuple[Dialect, Decision, JSON]:
    """Return the first dialect in which the server answers, preferably on the options."""
    best: tuple[Dialect, Decision, JSON] | None = None
    why = ""
    for dialect in form.dialects:
        body = form.body(Sheet(server.model, INSTRUCTIONS, STATE), [QUESTION], dialect)
        try:
            reply = await server.post(form.path, body)
        except (RejectedError, FatalError) as error:
            if error.status in NOT_ACCEPTED:
                why = f"status {error.status}"
                continue
            if error.status in ABSENT:
                raise AbsentFormError(f"status {error.status}") from error
            raise
        (decision,) = form.read(reply, [QUESTION])
        if not decision.probabilities and decision.mass is None:
            why = "no probabilities"
            continue
        if decision.mass is None or decision.mass >= floor:
            return dialect, decision, reply
        if best is None or decision.mass > (best[1].mass or 0.0):
            best = dialect, decision, reply
    if best is None:
        raise AbsentFormError(why)
    return best


async def describe_server(server: Server) -> tuple[JSON, list[JSON]]:
    """Return facts about the server and its version, and the models that it lists."""
    models = parse_models(await server.fetch("models"))
    own = find_model(models, server.model)
    facts: JSON = {name: own[name] for name in ("root", "max_model_len") if name in own}
    if models:
        facts["listed"] = bool(own)
    if own.get("owned_by") == "vllm":
        facts["server"] = "vllm"
    for path in VERSION_PATHS:
        if version := parse_version(await server.fetch(path)):
            facts["version"] = version
            break
    return facts, models
