"""What is shown beside an item: a judge's labels to validate, and one's own nuggets to correct.

Only an assignment that was created for validation shows a judge's labels: one that is
`assisted_by` the judge that its campaign validates. No other rater's answer is read here. Nuggets
are what a rater marked in reports as the answer to a sub-question (CRUX, task 1). They are shown
beside the same rater's rating of passages and may be corrected there; a correction is a revision
of the rater's own report coverage, through `submit`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from annotation.answers.drafts import StaleDraftError, check_shape, standing_of
from annotation.answers.submission import Circumstances, Held, Outcome, prepare, store
from annotation.assignments.queue import is_put_out
from annotation.models import Assignment, Item, Label, Rater, Response, Span
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.verdict_validation import validated_judge, verdict_campaign
from annotation.presentation import Blinding, hidden_fields, present, schema
from annotation.protocols.base import ItemSpec, name_units
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from annotation.protocols.validation import Problem, RefusedError


@dataclass(frozen=True)
class Cited:
    """A quote of the judge, in code points; without a place where it stands nowhere."""

    field: str
    quote: str
    start: int | None


@dataclass(frozen=True)
class Verdict:
    """A judge's answer to one unit.

    `answer` is what a person's answer would be who confirmed it: codes by variable, `evidence`
    (only quotes that stand in the text), and what else was given. `scores` are by variable.
    """

    judge: str
    answer: Mapping[str, Any]
    scores: Mapping[str, float] = field(default_factory=dict)
    quotes: tuple[Cited, ...] = ()


def verdicts_of(
    assignment: Assignment, spec: ItemSpec, blinding: Blinding | None = None
) -> dict[str, Verdict]:
    """The verdicts on the units that an assignment asks, by name; none in a blind campaign.

    With `blinding` the names and codes are those of the page.
    """
    judge = validated_judge(assignment.item.campaign)
    if not judge or assignment.assisted_by != judge:
        return {}
    found = _stored(assignment, spec, judge)
    asked = {name: found[name] for name in assignment.asked if name in found}
    return _hidden(asked, blinding, hidden_fields(assignment, spec)) if blinding else asked


def _stored(assignment: Assignment, spec: ItemSpec, judge: str) -> dict[str, Verdict]:
    campaign = assignment.item.campaign
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__rater__name=judge,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
        response__assignment__replicate=0,
        response__assignment__item__campaign__name=verdict_campaign(campaign),
        response__assignment__item__key=assignment.item.key,
    )
    names = {(unit.kind, unit.key): name for name, unit in name_units(spec.units).items()}
    given: dict[str, list[Label]] = {}
    related = labels.select_related("unit", "response").prefetch_related("spans")
    for label in related.order_by("pk"):
        # Units of the other campaign that this one does not have are no concern of it.
        if name := names.get((label.unit.kind, label.unit.key)):
            given.setdefault(name, []).append(label)
    asked = schema(campaign)
    return {name: _verdict(judge, asked, of_unit) for name, of_unit in given.items()}


def _verdict(judge: str, asked: Schema, labels: list[Label]) -> Verdict:
    unit = labels[0].unit
    payload = labels[0].response.payload["units"].get(unit.name) or {}
    quotes = tuple(_quotes(labels))
    answer = {key: payload[key] for key in asked.keys(unit.kind) if key in payload}
    answer |= {v.name: None for v in asked.variables_of(unit.kind)}
    answer |= {label.variable: label.value for label in labels}
    if rule := asked.evidence(unit.kind):
        stands = [q for q in quotes if q.start is not None and rule.covers(q.field)]
        answer[EVIDENCE_KEY] = [rule.quote(q.quote, q.start, q.field) for q in stands]
    scores = {label.variable: label.score for label in labels if label.score is not None}
    return Verdict(judge, answer, scores, quotes)


def _quotes(labels: Iterable[Label]) -> Iterable[Cited]:
    for label in labels:
        for span in label.spans.all():
            yield Cited(span.field, span.quote, span.start)


def _hidden(
    verdicts: Mapping[str, Verdict], blinding: Blinding, fields: Mapping[str, str]
) -> dict[str, Verdict]:
    """The same under the page's names, a pair's codes turned as it is shown."""
    answers = {"units": {name: verdict.answer for name, verdict in verdicts.items()}}
    page = (blinding.hidden(answers) or answers)["units"]
    return {
        alias: replace(
            verdict,
            answer=answer,
            quotes=tuple(replace(q, field=fields.get(q.field, q.field)) for q in verdict.quotes),
        )
        for (alias, answer), verdict in zip(page.items(), verdicts.values(), strict=True)
    }


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
