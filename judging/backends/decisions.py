"""The backend for decision models: typed questions about one state, and a probability per answer.

All units of an item share one state and, up to the server's limits, one request. Conditional
variables are asked afterwards, for the units that meet the condition. A test question finds the
form that a server accepts, since a path in its description proves nothing. `decision_forms` has the
forms, and `decision_questions` what is asked. The answer's text is JSON of the decisions, in one
form for all servers: `{"form", "answers": {unit: {variable: decision}}}`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from judging.backends.base import (
    JSON,
    Answer,
    BackendError,
    FatalError,
    Findings,
    RejectedError,
    Request,
    Setup,
    SetupError,
    UnassignedReply,
    note_reply,
)
from judging.backends.capabilities import describe_absence, explain_denial, fetch_identity
from judging.backends.contents import HEADERS
from judging.backends.decision_forms import FORMS, Dialect, Form, Sheet
from judging.backends.decision_probe import (
    ABSENT,
    ENDPOINTS,
    FALLBACK,
    NOT_ACCEPTED,
    AbsentFormError,
    describe_server,
    find_form,
)
from judging.backends.decision_questions import (
    MASS_FLOOR,
    Decision,
    Labels,
    NoLabelError,
    Question,
    every_question,
    is_closed,
    join_decisions,
    label_of,
    next_questions,
    split_question,
)
from judging.backends.openai import OpenAICompatible
from judging.backends.transport import read_reply

OWN_PARAMS = ("form", "two_codes", "mass_floor")
TWO_CODES = ("noul", "choice")
LEAST_OPTIONS = 2
OFFER_SECONDS = 3.0
_AT_MOST = re.compile(r"(?:at most|maximum(?: length| number)?(?: of)?|up to)\D{0,12}(\d+)", re.I)
_OPTIONS = re.compile(r"option|alternative|choices|criteria|label", re.I)


@dataclass
class Progress:
    """The part of an item's answer received so far, and its cost."""

    decisions: dict[str, dict[str, Decision]] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    usage: Counter[str] = field(default_factory=Counter)
    model: str = ""


async def find_offered_form(setup: Setup, noted: list[UnassignedReply]) -> str:
    """Return the name of the server's decision endpoint, empty if none is found.

    Asks at most a few short questions, each for `OFFER_SECONDS` at most, and adds the replies to
    `noted`.
    """
    try:
        params = {name: setup.params[name] for name in (HEADERS,) if name in setup.params}
        params["timeout"] = OFFER_SECONDS
        async with DecisionModel(replace(setup, params=params)) as backend:
            try:
                return (await find_form(backend.probing, ENDPOINTS, MASS_FLOOR)).form.name
            finally:
                noted.extend(backend.unassigned)
    except (AbsentFormError, BackendError, SetupError):
        return ""


class _Probing:
    """The server of a decision model as the probe asks it: each reply is noted.

    A path that the server does not have is no call.
    """

    def __init__(self, asked: DecisionModel) -> None:
        self._asked = asked
        self.model, self.api_key_env = asked.model, asked.api_key_env

    async def post(self, path: str, body: JSON) -> JSON:
        found: list[UnassignedReply] = []
        try:
            with note_reply(found) as note:
                reply = await self._asked.post(path, body)
                usage = _usage(_counts(reply.get("usage")))
                note(Answer("", usage=usage, model=str(reply.get("model") or ""), status=200))
                return reply
        finally:
            self._asked.unassigned.extend(e for e in found if e.reply.status not in ABSENT)

    async def fetch(self, path: str) -> str | None:
        return await self._asked.fetch(path)


class DecisionModel:
    """Asks a server for decisions, over the session of the openai backend.

    A probe has found `form` and `dialect`, or the judge's parameters set them.
    """

    forkable = True

    def __init__(self, setup: Setup) -> None:
        if not setup.model:
            raise SetupError("the decisions backend needs a model; give --model")
        own = {name: setup.params[name] for name in OWN_PARAMS if name in setup.params}
        self.forced = str(own.get("form", ""))
        if self.forced and self.forced not in FORMS:
            raise SetupError(f"the form is one of {', '.join(FORMS)}, not {self.forced!r}")
        self.two_codes = str(own.get("two_codes", TWO_CODES[0]))
        if self.two_codes not in TWO_CODES:
            raise SetupError(f"two_codes is noul or choice, not {self.two_codes!r}")
        self.floor = float(own.get("mass_floor", MASS_FLOOR))
        rest = {name: value for name, value in setup.params.items() if name not in OWN_PARAMS}
        self.http = OpenAICompatible(replace(setup, params=rest))
        self.endpoint = self._identity_url = self.http.endpoint
        self.model = setup.model
        self.api_key_env = setup.api_key_env
        self._extra: JSON = dict(setup.params.get("extra_body", {}))
        self.form: Form | None = FORMS.get(self.forced)
        self.dialect: Dialect | None = None
        self._most_questions = self._most_options = 0
        self._finding = asyncio.Lock()

    def at(self, base_url: str) -> Self:
        """Return a backend that asks the same at another address. Raises SetupError."""
        other = copy(self)
        other.http = self.http.at(base_url)
        other.endpoint, other._finding = other.http.endpoint, asyncio.Lock()
        return other

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.http.__aexit__(*exc)

    def identity(self, request: Request) -> JSON:
        """Return the address, the form, and a digest of all that may be asked of the item."""
        sheet = self._sheet(request)
        every = every_question(request.facts, self.two_codes)
        asked = [asdict(question) for question in every]
        under = [dict(v.asked_if) for unit in request.facts.units for v in unit.variables]
        dialect = asdict(self.dialect) if self.dialect else {}
        sent = json.dumps(
            [
                asdict(sheet),
                asked,
                under,
                dialect,
                self.two_codes,
                self.floor,
                request.sample,
                self._extra,
            ],
            ensure_ascii=False,
            sort_keys=True,
        )
        digest = hashlib.sha256(sent.encode("utf-8", "surrogatepass")).hexdigest()
        form = self.form.name if self.form else ""
        found = {"endpoint": self._identity_url, "backend": "decisions"}
        found |= {"form": form, "sent": digest}
        return found | ({HEADERS: self.http.headers} if self.http.headers else {})

    async def ask(self, request: Request) -> Answer:
        if not is_closed(request.facts):
            raise RejectedError(
                "not-closed",
                "a decision model gives no written texts, no lists and no several codes",
            )
        form = await self._form_in_use()
        key = (self, "received")
        progress = self._resumed(request, key)
        try:
            await self._follow(request, form, progress)
        except (BackendError, asyncio.CancelledError):
            # A retry asks only the remaining questions.
            request.written[key] = _progress_as_json(progress)
            raise
        answers = {
            unit.name: {
                variable: decision.as_json()
                for variable, decision in progress.decisions.get(unit.name, {}).items()
            }
            for unit in request.facts.units
        }
        text = json.dumps({"form": form.name, "answers": answers}, ensure_ascii=False)
        return Answer(text, usage=_usage(progress.usage), model=progress.model, status=200)

    async def _follow(self, request: Request, form: Form, progress: Progress) -> None:
        """Ask the due questions until none is left."""
        sheet = self._sheet(request)
        while questions := next_questions(request.facts, progress.labels, self.two_codes):
            await self._decide(form, sheet, questions, progress)

    async def _decide(
        self, form: Form, sheet: Sheet, questions: Sequence[Question], progress: Progress
    ) -> None:
        """Ask questions in as few requests as the server allows, and store their labels."""
        rest, before = list(questions), self._limits
        while rest:
            parts, number = self._part(rest)
            try:
                answers = await self._once(form, sheet, parts, progress)
            except RejectedError as error:
                if not self._learn(error, parts):
                    self._most_questions, self._most_options = before
                    raise
                continue
            for question in rest[:number]:
                size = len(split_question(question, self._most_options))
                decision = join_decisions(question, answers[:size])
                answers = answers[size:]
                self._note(question, decision, progress)
            rest = rest[number:]

    @property
    def _limits(self) -> tuple[int, int]:
        return self._most_questions, self._most_options

    def _part(self, questions: Sequence[Question]) -> tuple[list[Question], int]:
        """Return the questions that fit into the next request, and how many of them it settles.

        The parts of a question with too many options stay together.
        """
        parts: list[Question] = []
        for number, question in enumerate(questions):
            more = split_question(question, self._most_options)
            if parts and len(parts) + len(more) > self._most_questions:
                return parts, number
            parts += more
        return parts, len(questions)

    async def _once(
        self, form: Form, sheet: Sheet, parts: Sequence[Question], progress: Progress
    ) -> list[Decision]:
        found: list[Decision] = []
        size = max(self._most_questions, 1)
        for at in range(0, len(parts), size):
            some = parts[at : at + size]
            reply = await self.post(form.path, form.body(sheet, some, self._accepted))
            found += form.read(reply, some)
            progress.usage.update(_counts(reply.get("usage")))
            model = reply.get("model")
            progress.model = model if isinstance(model, str) else progress.model
        return found

    @property
    def _accepted(self) -> Dialect:
        return self.dialect or Dialect()

    def _learn(self, error: RejectedError, parts: Sequence[Question]) -> bool:
        """Lower a limit after a rejection, and return whether another attempt makes sense."""
        if error.status not in NOT_ACCEPTED:
            return False
        text = f"{error.message} {error.body}"
        numbers = [int(number) for number in _AT_MOST.findall(text)]
        widest = max(len(part.options) for part in parts)
        fewer = [n for n in numbers if LEAST_OPTIONS <= n < min(widest, self._most_options)]
        if fewer and _OPTIONS.search(text):
            self._most_options = fewer[0]
            return True
        sent = min(len(parts), self._most_questions)
        if sent < 2:
            return False
        self._most_questions = next((n for n in numbers if 0 < n < sent), sent // 2)
        return True

    def _note(self, question: Question, decision: Decision, progress: Progress) -> None:
        # The parser reads the rounded numbers and must arrive at the same label.
        decision = Decision.from_json(decision.as_json(), question.codes)
        progress.decisions.setdefault(question.unit, {})[question.variable] = decision
        try:
            label: str | None = label_of(decision, self.floor)
        except NoLabelError:
            label = None
        progress.labels.setdefault(question.unit, {})[question.variable] = label

    def _resumed(self, request: Request, key: object) -> Progress:
        """Return the answers that an earlier attempt at this request received."""
        progress = Progress()
        if (raw := request.written.get(key)) is None:
            return progress
        stored = json.loads(raw)
        progress.usage.update(stored["usage"])
        progress.model = stored["model"]
        codes = {(u.name, v.name): v.codes for u in request.facts.units for v in u.variables}
        for question in every_question(request.facts, self.two_codes):
            place = question.unit, question.variable
            found = stored["decisions"].get(question.unit, {}).get(question.variable)
            if found is not None:
                self._note(question, Decision.from_json(found, codes[place]), progress)
        return progress

    def _sheet(self, request: Request) -> Sheet:
        """Return the instructions, and the state as the prompt shows it.

        The state is the part of the messages that all units of the item share. Questions and the
        form of the answer come after it, unless the prompt has another order.
        """
        system = [m.content for m in request.messages if m.role == "system"]
        *earlier, last = [m for m in request.messages if m.role != "system"]
        shared = last.content[: last.shared]
        whole = all(text in shared for text in request.facts.texts) and shared.strip()
        state = [*(m.content for m in earlier), shared if whole else last.content]
        return Sheet(self.model, "\n\n".join(system), "\n\n".join(state).strip())

    async def post(self, path: str, body: JSON) -> JSON:
        """Return the JSON object of a reply. Raises BackendError."""
        sent = json.dumps(body | self._extra, ensure_ascii=False).encode("utf-8", "replace")
        status, headers, raw = await self.http._exchange("POST", path, sent, self.http.timeout)
        try:
            return read_reply(status, headers, raw, lambda reply, status: reply)
        except BackendError as error:
            self.http._redact(error)
            # A retry would not help if the model cannot decide.
            if error.status == 501:
                raise FatalError("status-501", error.message, status=501) from error
            raise

    async def fetch(self, path: str) -> str | None:
        return await self.http.fetch(path)

    @property
    def unassigned(self) -> list[UnassignedReply]:
        return self.http.unassigned

    @property
    def probing(self) -> _Probing:
        return _Probing(self)

    async def _form_in_use(self) -> Form:
        """Return the form to ask in. A run whose probe failed finds it with its first request."""
        if self.form is not None and self.dialect is not None:
            return self.form
        async with self._finding:
            if self.form is None or self.dialect is None:
                try:
                    found = await find_form(self.probing, self._candidates, self.floor)
                except AbsentFormError as error:
                    words = f"the server answers questions in no form ({error})"
                    raise FatalError("no-decisions", words) from error
                self._use(found.form, found.dialect)
        assert self.form is not None
        return self.form

    @property
    def _candidates(self) -> tuple[str, ...]:
        return (self.forced,) if self.forced else tuple(FORMS)

    async def probe(self) -> Findings:
        facts, served = await describe_server(self)
        try:
            found = await find_form(self.probing, self._candidates, self.floor)
        except AbsentFormError as error:
            lacks = f"gives no probabilities ({error})"
            return Findings(facts, refusal=describe_absence(self.model, served, lacks))
        except FatalError as error:
            raise explain_denial(error, self) from error
        self._use(found.form, found.dialect)
        warnings = found.warnings(self.floor)
        if facts.get("listed") is False:
            warnings.append(f"the server does not list the model {self.model!r}, but answers")
        return Findings(facts | found.facts, tuple(warnings))

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Apply the facts of an earlier probe, made here or in another process."""
        form, dialect = FORMS.get(str(facts.get("form", ""))), facts.get("dialect")
        if form is not None and isinstance(dialect, Mapping):
            known = asdict(Dialect())
            self._use(form, Dialect(**{name: dialect.get(name, known[name]) for name in known}))

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        """Return which model and version answers."""
        return await fetch_identity(self.http)

    def _use(self, form: Form, dialect: Dialect) -> None:
        self.form, self.dialect = form, dialect
        self._most_questions, self._most_options = form.questions, form.options
        if form.name == FALLBACK:
            # An option that is not among the alternatives would have no probability.
            self._most_options = min(form.options, dialect.top)


def _progress_as_json(progress: Progress) -> bytes:
    decisions = {
        unit: {variable: decision.as_json() for variable, decision in found.items()}
        for unit, found in progress.decisions.items()
    }
    kept = {"decisions": decisions, "usage": progress.usage, "model": progress.model}
    return json.dumps(kept).encode()


def _counts(usage: object) -> dict[str, int]:
    """Return the numbers of tokens by the names of chat completions."""
    if not isinstance(usage, Mapping):
        return {}
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
    found = {
        "prompt_tokens": usage.get("input_tokens", usage.get("prompt_tokens")),
        "completion_tokens": usage.get("output_tokens", usage.get("completion_tokens")),
        "cached_tokens": details.get("cached_tokens") if isinstance(details, Mapping) else None,
    }
    return {k: n for k, n in found.items() if isinstance(n, int) and not isinstance(n, bool)}


def _usage(counts: Mapping[str, int]) -> JSON:
    usage: JSON = {k: n for k, n in counts.items() if k != "cached_tokens"}
    if usage:
        usage["total_tokens"] = sum(usage.values())
    if "cached_tokens" in counts:
        usage["prompt_tokens_details"] = {"cached_tokens": counts["cached_tokens"]}
    return usage
