"""What a judge said of an item, for the person who confirms or corrects it.

Only an assignment that was made for it shows any of this: one that is `assisted_by` the judge that
its campaign validates. No other rater's answer is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from annotation.blinding import Blinding, hidden_fields
from annotation.follows.validating import validated_judge, verdict_campaign
from annotation.models import Assignment, Label, Rater
from annotation.presenting import schema
from annotation.protocols.base import ItemSpec, name_units
from annotation.protocols.schema import EVIDENCE_KEY, Schema


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
    answer |= {v.name: None for v in asked.of(unit.kind)}
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
