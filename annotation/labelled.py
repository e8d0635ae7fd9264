"""The rows of the labels file, read from the database in chunks of plain values.

No model instances are made on the way: a project's labels are many, and each is read once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from annotation.files.rows import LabelRow, SpanRow
from annotation.missing import Reasons, reasons
from annotation.models import Assignment, Campaign, Item, Label, Rater, Span, Unit
from annotation.presenting import schema
from annotation.protocols.schema import Schema

CHUNK = 500
T = TypeVar("T")


class _Answered(NamedTuple):
    """A closed assignment with what each of its rows says of it."""

    pk: int
    item_id: int
    item: str
    query: str
    system: str | None
    setting: str | None
    rater: str
    rater_kind: str
    replicate: int
    status: str
    reason: str
    missing: Reasons
    asked: list[str]
    seconds: float | None
    assisted_by: str


_ANSWERED = (
    "pk", "item_id", "item__key", "item__query__key", "item__report__system",
    "item__report__setting", "rater__name", "rater__kind", "replicate", "status", "reason",
    "missing", "asked", "seconds", "assisted_by",
)  # fmt: skip


class UnitFacts(NamedTuple):
    """A unit without its item."""

    pk: int
    name: str
    key: str
    kind: str


class _Label(NamedTuple):
    pk: int
    value: str
    score: float | None
    meta: dict[str, Any] | None
    created_at: datetime
    revision: int


def label_rows(campaign: Campaign, since: int = 0) -> Iterator[LabelRow]:
    """Every current label, and every missing one with its reason, by item, rater and replicate.

    What judges said under changed conditions is about them alone, and left out; so are the answers
    to gold and practice items.
    `since` leaves out the items before that position.
    """
    asked, batch = schema(campaign), campaign.batch.name
    for chunk in chunks(_closed(campaign, since), CHUNK):
        there = _Chunk(chunk)
        for assignment in chunk:
            yield from there.rows(campaign, batch, asked, assignment)


def chunks(values: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(values, size)):
        yield chunk


def _closed(campaign: Campaign, since: int) -> Iterator[_Answered]:
    closed = (
        Assignment.objects.filter(item__campaign=campaign, item__position__gte=since)
        .filter(item__use=Item.Use.STUDY)
        .exclude(status__in=("open", "leased", "cancelled"), missing={})
        .exclude(rater__kind=Rater.Kind.TRIAL)
        .order_by("item__position", "rater__name", "replicate", "id")
        .values_list(*_ANSWERED)
    )
    return map(_Answered._make, closed.iterator(chunk_size=CHUNK))


class _Chunk:
    """The units, labels and spans of some assignments."""

    def __init__(self, assignments: Sequence[_Answered]) -> None:
        keys = [assignment.pk for assignment in assignments]
        self.units = units_by_item({assignment.item_id for assignment in assignments})
        self.labels = _labels(keys)
        self.spans = _spans(keys)

    def rows(
        self, campaign: Campaign, batch: str, asked: Schema, assignment: _Answered
    ) -> Iterator[LabelRow]:
        """In the order of the item's units and the protocol's variables."""
        named = set(assignment.asked)
        units = [unit for unit in self.units[assignment.item_id] if unit.name in named]
        missing = _missing(assignment, asked, units)
        for unit in units:
            told = missing.get(unit.name, {})
            for variable in asked.of(unit.kind):
                label = self.labels.get((assignment.pk, unit.pk, variable.name))
                reason = told.get(variable.name)
                if label is not None or reason:
                    facts = {"variable": variable.name, "missing": None if label else reason}
                    facts |= self._of_label(label) if label else {}
                    yield _row(campaign, batch, assignment, unit, facts)

    def _of_label(self, label: _Label) -> dict[str, Any]:
        return {
            "value": label.value,
            "created_at": label.created_at.isoformat(),
            "revision": label.revision,
            "score": label.score,
            "spans": tuple(self.spans.get(label.pk, ())) or None,
            "meta": label.meta,
        }


def _row(
    campaign: Campaign, batch: str, assignment: _Answered, unit: UnitFacts, facts: dict[str, Any]
) -> LabelRow:
    return LabelRow(
        campaign=campaign.name,
        protocol=campaign.protocol,
        item=assignment.item,
        unit=unit.key,
        kind=unit.kind,
        rater=assignment.rater,
        rater_kind=assignment.rater_kind,
        replicate=assignment.replicate,
        seconds=assignment.seconds,
        assisted_by=assignment.assisted_by or None,
        batch=batch,
        query=assignment.query,
        system=assignment.system,
        setting=assignment.setting,
        **facts,
    )


def _missing(assignment: _Answered, asked: Schema, units: Sequence[UnitFacts]) -> Reasons:
    if assignment.status == Assignment.Status.DONE:
        return assignment.missing
    closed = Assignment(
        status=assignment.status, reason=assignment.reason, missing=assignment.missing
    )
    return reasons(closed, asked, {unit.name: unit.kind for unit in units})


def units_by_item(items: set[int]) -> dict[int, list[UnitFacts]]:
    """The units of items, by the items' primary keys, each in its stored order."""
    rows = Unit.objects.filter(item__in=items).order_by("position")
    found: dict[int, list[UnitFacts]] = defaultdict(list)
    for item, *unit in rows.values_list("item_id", "pk", "name", "key", "kind"):
        found[item].append(UnitFacts._make(unit))
    return found


def _labels(assignments: Sequence[int]) -> dict[tuple[int, int, str], _Label]:
    current = Label.objects.filter(
        response__assignment__in=assignments, response__current=True
    ).values_list(
        "response__assignment_id", "unit_id", "variable", "pk", "value", "score", "meta",
        "response__created_at", "response__revision",
    )  # fmt: skip
    return {(held, unit, name): _Label._make(label) for held, unit, name, *label in current}


def _spans(assignments: Sequence[int]) -> dict[int, list[SpanRow]]:
    of = Span.objects.filter(
        label__response__assignment__in=assignments, label__response__current=True
    )
    found: dict[int, list[SpanRow]] = defaultdict(list)
    rows = of.order_by("label_id", "pk").values_list("label_id", "field", "start", "end", "quote")
    for label, field, start, end, quote in rows:
        found[label].append(SpanRow(field, start, end, quote))
    return found
