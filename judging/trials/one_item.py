"""Try a judge on one item with a single request, without storing an answer. Its cost is stored.

A model may take minutes, so workers do this (`judging.trials.one_item_jobs`), never the web server.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotation.answers.evidence import Spans
from annotation.answers.submission import prepare
from annotation.assignments.queue import order_for
from annotation.campaigns.sampling import DEVELOPMENT
from annotation.exposure.ledger import saw_answers
from annotation.models import Assignment, Campaign, Item, QuerySampling
from annotation.prerequisites import ready_for_judges, units_asked_of_judges
from annotation.presentation import stored_units
from datasets.work.guard import for_workers
from judging.answers.results import missing_of, payload_of
from judging.answers.unassigned import record_alone
from judging.backends.base import (
    Answer,
    Backend,
    BackendError,
    TransientError,
    UnassignedReply,
)
from judging.costs import cost_of_call
from judging.judge_backends import build_backend
from judging.models import Judge, UnassignedCall
from judging.parsers.base import Step, UnreadError
from judging.prompts.isolation import request_parts
from judging.prompts.perturbations import order_of_fields
from judging.prompts.request import Prepared, Preparer
from judging.runs.fit import check_file
from judging.runs.prompts import checked_prompt
from judging.servers import GUARDED, check_key
from tandem.messages import Message
from tandem.protocols.validation import Problem, RefusedError
from tandem.verbs import verb_of

DEADLINE = 180.0
# Slightly longer than the client waits for a connection.
UNCONNECTED_SECONDS = 5.5
RESERVED_QUERY = (
    "this item's query is reserved for evaluation or an audit, and prompts must not be tuned on "
    "it; try an item of a development query, or leave the number out for a random one"
)


class NothingToTryError(LookupError):
    """The item does not exist, or judges are not asked about it yet."""


@dataclass(frozen=True)
class Entry:
    """An answer's labels for one unit, the number of quotes, and the grades before mapping.

    `missing` has the reasons of variables without a label.
    """

    unit: str
    text: str
    values: dict[str, str]
    quotes: int
    grades: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """A request and its result: labels with the steps by which they were read, or problems.

    The judge may be one that is not stored.
    """

    judge: Judge
    item: Item
    prepared: Prepared
    asked: int
    seconds: float
    answer: Answer | None = None
    error: BackendError | None = None
    problems: tuple[Problem, ...] = ()
    entries: list[Entry] = field(default_factory=list)
    steps: tuple[Step, ...] = ()
    fault: str = ""
    cost: Decimal | None = None

    @property
    def reasoning(self) -> str:
        """The model's reasoning, even if its answer was of no use."""
        found = self.answer or getattr(self.error, "answer", None)
        return found.reasoning if found else ""

    def as_json(self) -> dict[str, Any]:
        """Return everything that pages and the API show, as JSON values."""
        answer, error = self.answer, self.error
        return {
            "item": self.item.key,
            "number": self.item.position + 1,
            "asked": self.asked,
            "by_unit": self.judge.granularity == Judge.Granularity.UNIT,
            "seconds": self.seconds,
            "messages": [
                {"role": each.role, "content": each.content}
                for each in self.prepared.request.messages
            ],
            "completion": answer.text if answer else None,
            "model": answer.model if answer else "",
            "asks_model": bool(self.judge.model),
            "reasoning": self.reasoning,
            "usage": dict(answer.usage) if answer else {},
            "cost": None if self.cost is None else str(self.cost),
            "entries": [asdict(each) for each in self.entries],
            "problems": [str(each) for each in self.problems],
            "fault": self.fault,
            "state": error.state if error else self.fault or "answered",
            "steps": list(self.steps),
            "message": error.message if error else "",
            "body": error.body if error else "",
        }


@for_workers
def try_judge(judge: Judge, campaign: Campaign, number: int | None = None) -> Trial:
    """Ask a judge, which need not be stored, about an item by its number from 1, or a random item.

    If an item takes several requests, only the first is sent. Raises NothingToTryError, SetupError,
    PromptError, ForgottenItemError.
    """
    if judge.backend == "vllm":
        raise NothingToTryError(
            "Tandem would have to start the server of this judge first, which takes minutes; use "
            f"{verb_of('run_judge')} --limit 1 on the command line"
        )
    check_file(campaign, judge)
    item, names = _item(campaign, judge, number)
    if not (parts := request_parts(judge, item, names)):
        raise NothingToTryError("this item has no units that the judge file reads; try another")
    scope, part = parts[0]
    shown = order_of_fields(judge, item)
    row = Assignment(item=item, rater=judge.rater, scope=scope, asked=part, shown=shown)
    check_key(judge)
    backend = build_backend(judge)
    preparer = Preparer(campaign, judge, checked_prompt(judge, campaign), backend)
    prepared = preparer.prepare(row)
    sent_at, started = timezone.now(), time.monotonic()
    answer, error = asyncio.run(_ask_backend(backend, prepared, bool(judge.params.get(GUARDED))))
    seconds = time.monotonic() - started
    if backend.endpoint:
        noted: list[UnassignedReply] = getattr(backend, "unassigned", [])
        reply: Answer | BackendError | None = error or answer
        noted += [UnassignedReply(sent_at, seconds, reply)] if reply else []
        record_alone(UnassignedCall.Purpose.TRY, judge, noted, campaign)
    units = stored_units(item)
    saw_answers("trial", campaign, units=[units[name] for name in part if name in units])
    trial = Trial(judge, item, prepared, len(names), seconds, answer, error)
    return _read(trial, preparer, judge) if answer else trial


def _item(campaign: Campaign, judge: Judge, number: int | None) -> tuple[Item, list[str]]:
    items = campaign.items.select_related("campaign", "query", "report")
    items = items.filter(ready_for_judges(campaign))
    tunable = _for_prompts(campaign, items)
    rows = tunable.order_by("?") if number is None else items.filter(position=number - 1)
    if (item := rows.first()) is None:
        raise NothingToTryError("the item does not exist, or judges are not asked about it yet")
    if number is not None and not tunable.filter(pk=item.pk).exists():
        raise NothingToTryError(RESERVED_QUERY)
    names = units_asked_of_judges(item, order_for(item, judge.rater)[0])
    if not names:
        raise NothingToTryError("this item has no questions yet; try another")
    return item, names


def _for_prompts(campaign: Campaign, items: QuerySet[Item]) -> QuerySet[Item]:
    """Keep the items that prompts may be tuned on: those of the development split, if any."""
    drawn = QuerySampling.objects.filter(campaign=campaign, role=DEVELOPMENT).values("query")
    return items.filter(query__in=drawn) if drawn.exists() else items


async def _ask_backend(
    backend: Backend, prepared: Prepared, guarded: bool
) -> tuple[Answer | None, BackendError | None]:
    started = time.monotonic()
    try:
        async with asyncio.timeout(DEADLINE), backend:
            return await backend.ask(prepared.request), None
    except TimeoutError:
        return None, TransientError("deadline", f"no answer within {DEADLINE:g} s")
    except BackendError as error:
        if guarded and isinstance(error, TransientError) and error.unreachable:
            # A refused connection must take as long as a timeout, or it would reveal open ports.
            await asyncio.sleep(max(0.0, UNCONNECTED_SECONDS - (time.monotonic() - started)))
        return getattr(error, "answer", None), error


def _read(trial: Trial, preparer: Preparer, judge: Judge) -> Trial:
    answer, prepared = trial.answer, trial.prepared
    if answer is None:
        raise ValueError("there is no answer to read")
    endpoint = preparer.backend.endpoint
    cost = cost_of_call(answer.usage, judge.model, timezone.now().date(), endpoint, judge.team_id)
    known: dict[str, Any] = {"cost": cost}
    if trial.error is None:
        try:
            reading = prepared.read(answer)
            known["steps"] = reading.steps
            ready = prepare(
                prepared.assignment,
                payload_of(prepared, reading),
                prepared.channel,
                prepared.spec,
                preparer.schema,
            )
        except UnreadError as error:
            known |= {"problems": (Problem("", "", Message(str(error))),), "fault": error.fault}
        except RefusedError as error:
            known |= {"problems": tuple(error.problems), "fault": "unreadable"}
        else:
            found, spans, _ = ready.checked
            missing = missing_of(prepared, reading)
            grades: dict[str, dict[str, str]] = {}
            for (name, variable), grade in reading.grades.items():
                grades.setdefault(prepared.names.get(name, name), {})[variable] = grade
            known["entries"] = [
                Entry(
                    e.name,
                    e.unit.text,
                    dict(e.values),
                    _quotes(spans, e.name),
                    grades.get(e.name, {}),
                    missing.get(e.name, {}),
                )
                for e in found
            ]
    return Trial(**{**trial.__dict__, **known})


def _quotes(spans: Spans, unit: str) -> int:
    return sum(len(found) for (name, _), found in spans.items() if name == unit)
