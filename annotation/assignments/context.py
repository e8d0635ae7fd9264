"""The context of an item: a judge's labels to validate, and a person's own nuggets to correct.

An assignment shows a judge's labels only if it was created to validate them, which means that it is
`assisted_by` the judge that its campaign validates. No other rater's answer is read here. Nuggets
are the spans that a rater marked in reports as the answer to a sub-question (CRUX, task 1). They
are shown beside the same rater's rating of passages and may be corrected there. A correction is a
revision of the rater's own report coverage, stored by `submit`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from annotation.answers.drafts import check_draft
from annotation.answers.submission import Circumstances, Outcome, prepare, store
from annotation.answers.types import check_correction
from annotation.assignments.queue import has_lost_access
from annotation.blinding import Blinding, field_aliases
from annotation.models import Assignment, Item, Label, Rater, Response, Span
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.label_validation import source_campaign, validated_judge
from annotation.presentation import present, schema
from tandem.grouping import grouped
from tandem.messages import Message
from tandem.protocols.base import ItemSpec, name_units
from tandem.protocols.schema import EVIDENCE_KEY, Schema
from tandem.protocols.validation import Problem, RefusedError


@dataclass(frozen=True)
class Cited:
    """A quote by the judge. `start` is in code points, or None if the quote was not found."""

    field: str
    quote: str
    start: int | None


@dataclass(frozen=True)
class JudgeAnswer:
    """A judge's answer to one unit.

    `answer` has the form of a person's answer that confirms it: codes by variable, `evidence` with
    only the quotes found in the text, and the other keys. `scores` are by variable.
    """

    judge: str
    answer: Mapping[str, Any]
    scores: Mapping[str, float] = field(default_factory=dict)
    quotes: tuple[Cited, ...] = ()


def judge_answers_for(
    assignment: Assignment, spec: ItemSpec, blinding: Blinding | None = None
) -> dict[str, JudgeAnswer]:
    """Return the judge's answers to the units of an assignment, by name.

    The result is empty unless the campaign validates a judge. With `blinding`, names and codes are
    those of the page.
    """
    judge = validated_judge(assignment.item.campaign)
    if not judge or assignment.assisted_by != judge:
        return {}
    found = _stored_answers(assignment, spec, judge)
    asked = {name: found[name] for name in assignment.asked if name in found}
    return _blind_answers(asked, blinding, field_aliases(assignment, spec)) if blinding else asked


def _stored_answers(assignment: Assignment, spec: ItemSpec, judge: str) -> dict[str, JudgeAnswer]:
    campaign = assignment.item.campaign
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__rater__name=judge,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
        response__assignment__replicate=0,
        response__assignment__item__campaign__name=source_campaign(campaign),
        response__assignment__item__key=assignment.item.key,
    )
    names = {(unit.kind, unit.key): name for name, unit in name_units(spec.units).items()}
    given: dict[str, list[Label]] = {}
    related = labels.select_related("unit", "response").prefetch_related("spans")
    for label in related.order_by("pk"):
        # Skip units that only the judge's campaign has.
        if name := names.get((label.unit.kind, label.unit.key)):
            given.setdefault(name, []).append(label)
    asked = schema(campaign, "people")
    return {name: _verdict(judge, asked, of_unit) for name, of_unit in given.items()}


def _verdict(judge: str, asked: Schema, labels: list[Label]) -> JudgeAnswer:
    unit = labels[0].unit
    payload = labels[0].response.payload["units"].get(unit.name) or {}
    quotes = tuple(_quotes(labels))
    answer = {key: payload[key] for key in asked.keys(unit.kind) if key in payload}
    answer |= {v.name: None for v in asked.variables_of(unit.kind)}
    answer |= {label.variable: label.value for label in labels}
    if rule := asked.evidence(unit.kind):
        located = [q for q in quotes if q.start is not None and rule.covers(q.field)]
        answer[EVIDENCE_KEY] = [rule.quote(q.quote, q.start, q.field) for q in located]
    scores = {label.variable: label.score for label in labels if label.score is not None}
    return JudgeAnswer(judge, answer, scores, quotes)


def _quotes(labels: Iterable[Label]) -> Iterable[Cited]:
    for label in labels:
        for span in label.spans.all():
            yield Cited(span.field, span.quote, span.start)


def _blind_answers(
    verdicts: Mapping[str, JudgeAnswer], blinding: Blinding, fields: Mapping[str, str]
) -> dict[str, JudgeAnswer]:
    """Return the answers under the page's names, with a pair's codes swapped as it is shown."""
    answers = {"units": {name: verdict.answer for name, verdict in verdicts.items()}}
    page = (blinding.for_page(answers) or answers)["units"]
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
    """The spans marked in one report for one question.

    `uid` is the assignment to that report, and `unit` the position of the question in it. `report`
    is the report's number among those of the query, from 1, since its name would reveal the system.
    """

    uid: uuid.UUID
    unit: int
    report: int
    quotes: tuple[str, ...]
    is_open: bool


@dataclass(frozen=True)
class Nuggets:
    """A rater's nuggets for one question, and the number of reports that the rater answered."""

    found: tuple[Nugget, ...]
    reports: int


def nuggets_for(assignment: Assignment) -> dict[str, Nuggets]:
    """Return the rater's own nuggets in the prerequisite, by question."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign__name=prerequisite_of(assignment.item.campaign),
        response__assignment__item__query=assignment.item.query_id,
        response__assignment__rater=assignment.rater_id,
        response__assignment__replicate=0,
        response__assignment__scope="",
        response__assignment__status=Assignment.Status.DONE,
        variable=VARIABLE,
    )
    related = ("unit", "response__assignment__item__campaign")
    rows = labels.select_related(*related).prefetch_related("spans")
    in_order = rows.order_by("response__assignment__item__position")
    by_question = grouped((label.unit.key, label) for label in in_order)
    numbers = _numbers(assignment.item) if by_question else {}
    return {question: _nuggets(found, numbers) for question, found in by_question.items()}


def _nuggets(labels: Iterable[Label], numbers: dict[int, int]) -> Nuggets:
    labels = list(labels)
    found = tuple(_nugget(label, numbers) for label in labels if label.value == FOUND)
    return Nuggets(found, len(labels))


def _nugget(label: Label, numbers: dict[int, int]) -> Nugget:
    assignment = label.response.assignment
    return Nugget(
        uid=assignment.uid,
        unit=label.unit.position,
        report=numbers[assignment.item_id],
        quotes=tuple(span.quote for span in label.spans.all()),
        is_open=assignment.item.campaign.takes_answers,
    )


def _numbers(item: Item) -> dict[int, int]:
    """Return the numbers of a query's reports, by their items in the prerequisite, from 1."""
    beside = Item.objects.filter(
        campaign__name=prerequisite_of(item.campaign), query=item.query_id
    ).order_by("position")
    return {pk: number for number, pk in enumerate(beside.values_list("pk", flat=True), start=1)}


@dataclass(frozen=True)
class Editable:
    """The rater's own answer to one question of one report, which may be corrected."""

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
        """The current quotes with their starts. The start of a quote that was not found is None."""
        spans = Span.objects.filter(
            label__response=self.response, label__unit__name=self.unit, label__variable=VARIABLE
        )
        return [{"quote": span.quote, "start": span.start} for span in spans.order_by("pk")]


def editable(assignment: Assignment, position: int) -> Editable | None:
    """Return the rater's answer to the question at this position, or None if there is none."""
    item = assignment.item
    if item.campaign.protocol != PROTOCOL:
        return None
    response = assignment.responses.filter(current=True).first()
    unit = item.units.filter(position=position).first()
    if response is None or unit is None or unit.name not in response.payload["units"]:
        return None
    spec = present(item)
    question = next(each.text for each in spec.units if each.key == unit.key)
    return Editable(assignment, response, unit.name, question, spec.texts[0].text)


def correct_nugget(there: Editable, evidence: Any, circumstances: Circumstances) -> Outcome:
    """Store the answer with other quotes for one question, as the next revision.

    Raises RefusedError if the rater did not find the question answered, or a quote is not in the
    report. Raises ConflictError if the client had another revision, or if the rater has begun to
    revise the report, because the new revision would delete that draft.
    """
    campaign = there.assignment.item.campaign
    if not campaign.takes_answers:
        closed = Message("the report campaign is closed; ask its researcher to open it again")
        raise RefusedError([Problem("", "", closed)])
    if has_lost_access(there.assignment):
        out = Message("you no longer take part in the report campaign; ask its researcher")
        raise RefusedError([Problem("", "", out)])
    if there.answer != FOUND:
        no = Message("you did not find it answered; revise your answer on the report’s page")
        raise RefusedError([Problem(there.unit, VARIABLE, no)])
    payload = deepcopy(there.response.payload)
    payload["units"][there.unit]["evidence"] = evidence
    check_draft(payload, schema(campaign).sets)
    spec = present(there.assignment.item)
    ready = prepare(
        there.assignment, payload, "page", spec, schema(campaign, "people"), keep_refusal=True
    )
    with transaction.atomic():
        return store(ready, circumstances, lambda held: check_correction(held.draft, held.current))
