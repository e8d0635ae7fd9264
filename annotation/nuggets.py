"""Nuggets: what a rater marked in reports as the answer to a sub-question (CRUX, task 1).

They are shown beside the same rater's rating of passages, and may be mended there. That makes a
revision of the rater's own report coverage, by `submit`, and never of anybody else's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.drafts import StaleDraftError, check_shape, standing_of
from annotation.follows.base import prerequisite_of
from annotation.models import Assignment, Item, Label, Response, Span
from annotation.places import is_put_out
from annotation.presenting import present, schema
from annotation.protocols.checking import Problem, RefusedError
from annotation.submit import Circumstances, Held, Outcome, prepare, store

PROTOCOL, VARIABLE, FOUND = "report-coverage", "answerable", "yes"
Quote = dict[str, Any]


@dataclass(frozen=True)
class Nugget:
    """What was marked in one report for one question.

    `uid` is the assignment to that report and `unit` the place of the question in it. `report` is
    the report's number among those of the query, from 1: its name would tell who wrote it.
    """

    uid: uuid.UUID
    unit: int
    report: int
    quotes: tuple[str, ...]
    is_open: bool


@dataclass(frozen=True)
class Nuggets:
    """What a rater found for one question, and in how many of the reports that he answered."""

    found: tuple[Nugget, ...]
    reports: int


def nuggets_of(assignment: Assignment) -> dict[str, Nuggets]:
    """The rater's own nuggets in the prerequisite, by question; none for what he did not answer."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign__name=prerequisite_of(assignment.item.campaign),
        response__assignment__item__campaign__protocol=PROTOCOL,
        response__assignment__item__query=assignment.item.query_id,
        response__assignment__rater=assignment.rater_id,
        response__assignment__replicate=0,
        response__assignment__scope="",
        response__assignment__status=Assignment.Status.DONE,
        variable=VARIABLE,
    )
    related = ("unit", "response__assignment__item__campaign")
    rows = labels.select_related(*related).prefetch_related("spans")
    by_question: dict[str, list[Label]] = {}
    for label in rows.order_by("response__assignment__item__position"):
        by_question.setdefault(label.unit.key, []).append(label)
    numbers = _numbers(assignment.item) if by_question else {}
    return {question: _nuggets(found, numbers) for question, found in by_question.items()}


def _nuggets(labels: Iterable[Label], numbers: dict[int, int]) -> Nuggets:
    labels = list(labels)
    found = tuple(_nugget(label, numbers) for label in labels if label.value == FOUND)
    return Nuggets(found, len(labels))


def _nugget(label: Label, numbers: dict[int, int]) -> Nugget:
    held = label.response.assignment
    return Nugget(
        uid=held.uid,
        unit=label.unit.position,
        report=numbers[held.item_id],
        quotes=tuple(span.quote for span in label.spans.all()),
        is_open=held.item.campaign.takes_answers,
    )


def _numbers(item: Item) -> dict[int, int]:
    """The reports of a query by their items in the prerequisite, numbered as they stand there."""
    beside = Item.objects.filter(
        campaign__name=prerequisite_of(item.campaign), query=item.query_id
    ).order_by("position")
    return {pk: number for number, pk in enumerate(beside.values_list("pk", flat=True), start=1)}


@dataclass(frozen=True)
class Editable:
    """One question of one answered report, as it is mended: all of it is the rater's own."""

    assignment: Assignment
    response: Response
    unit: str
    question: str
    text: str

    @property
    def answer(self) -> str | None:
        value = self.response.payload["units"].get(self.unit, {}).get(VARIABLE)
        return None if value is None else str(value)

    @property
    def quotes(self) -> list[Quote]:
        """The quotes that stand, each where it was found; a quote found nowhere has no start."""
        spans = Span.objects.filter(
            label__response=self.response, label__unit__name=self.unit, label__variable=VARIABLE
        )
        return [{"quote": span.quote, "start": span.start} for span in spans.order_by("pk")]


def editable(assignment: Assignment, place: int) -> Editable | None:
    """The question at that place of the rater's answer; None where there is no such answer."""
    item = assignment.item
    if item.campaign.protocol != PROTOCOL:
        return None
    response = assignment.responses.filter(current=True).first()
    unit = item.units.filter(position=place).first()
    if response is None or unit is None or unit.name not in response.payload["units"]:
        return None
    spec = present(item)
    question = next(each.text for each in spec.units if each.key == unit.key)
    return Editable(assignment, response, unit.name, question, spec.texts[0].text)


def mend(there: Editable, evidence: Any, circumstances: Circumstances) -> Outcome:
    """The same answer with other quotes for one question, as the next revision.

    Raises RefusedError where the question was not found answered or a quote does not stand in the
    report, ConflictError where another revision was seen, StaleDraftError where the rater has begun
    to revise the report: the new revision would throw that draft away.
    """
    campaign = there.assignment.item.campaign
    if not campaign.takes_answers:
        closed = "the report campaign is closed; ask its researcher to open it again"
        raise RefusedError([Problem("", "", closed)])
    if is_put_out(there.assignment):
        out = "you take part in the report campaign no more; ask its researcher"
        raise RefusedError([Problem("", "", out)])
    if there.answer != FOUND:
        no = "you did not find it answered; revise that in the report's own page"
        raise RefusedError([Problem(there.unit, VARIABLE, no)])
    payload = deepcopy(there.response.payload)
    payload["units"][there.unit]["evidence"] = evidence
    check_shape(payload)
    spec = present(there.assignment.item)
    ready = prepare(there.assignment, payload, "page", spec, schema(campaign), keep_refusal=True)
    with transaction.atomic():
        return store(ready, circumstances, _no_draft)


def _no_draft(held: Held) -> None:
    if held.draft:
        raise StaleDraftError(standing_of(held.draft, held.current))
