"""The rows of assignments and of what hangs on them, as plain values: no model is made of any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from annotation.models import (
    Assignment,
    Campaign,
    Decision,
    Draft,
    Item,
    Label,
    Response,
    Span,
    Unit,
)
from annotation.protocols.base import UnitSpec
from annotation.relevance import Uses


class Placed(NamedTuple):
    """An item; `query` is a primary key, `passages` the ids that it was left (None: all)."""

    pk: int
    key: str
    query: int
    passages: list[str] | None
    uses: Uses | None


class Row(NamedTuple):
    """An assignment. `rater` and `item` are primary keys."""

    pk: int
    item: int
    rater: int
    rater_name: str
    rater_kind: str
    replicate: int
    scope: str
    asked: list[str]
    status: str


class Answer(NamedTuple):
    pk: int
    assignment: int
    revision: int
    current: bool
    payload: Any
    comment: str
    door: str


class Value(NamedTuple):
    """A label. `unit` is a primary key."""

    pk: int
    response: int
    unit: int
    variable: str
    value: str


class Range(NamedTuple):
    """A span."""

    pk: int
    label: int
    field: str
    start: int | None
    end: int | None
    quote: str
    method: str


class Decided(NamedTuple):
    """A decision. `unit` is a primary key."""

    pk: int
    response: int
    unit: int
    by_kind: str


class Kept(NamedTuple):
    """A draft."""

    pk: int
    assignment: int
    payload: Any
    version: int


class Named(NamedTuple):
    """A unit of an item, by the name that answers give it."""

    name: str
    spec: UnitSpec


_ROW = (
    "pk", "item_id", "rater_id", "rater__name", "rater__kind", "replicate", "scope", "asked",
    "status",
)  # fmt: skip


def rows_of(campaign: Campaign, chunk: int) -> Iterator[Row]:
    """The assignments of a campaign, by query and item."""
    rows = Assignment.objects.filter(item__campaign=campaign)
    ordered = rows.order_by("item__query", "item", "pk").values_list(*_ROW)
    yield from map(Row._make, ordered.iterator(chunk_size=chunk))


def answers_of(assignments: Sequence[int]) -> Mapping[int, list[Answer]]:
    found = Response.objects.filter(assignment__in=assignments).order_by("assignment", "revision")
    by: dict[int, list[Answer]] = defaultdict(list)
    columns = "pk", "assignment_id", "revision", "current", "payload", "comment", "door"
    for answer in map(Answer._make, found.values_list(*columns)):
        by[answer.assignment].append(answer)
    return by


def labels_of(responses: Sequence[int]) -> Mapping[int, list[Value]]:
    found = Label.objects.filter(response__in=responses).order_by()
    by: dict[int, list[Value]] = defaultdict(list)
    columns = "pk", "response_id", "unit_id", "variable", "value"
    for value in map(Value._make, found.values_list(*columns)):
        by[value.response].append(value)
    return by


def spans_of(responses: Sequence[int]) -> Mapping[int, list[Range]]:
    found = Span.objects.filter(label__response__in=responses).order_by("label", "pk")
    by: dict[int, list[Range]] = defaultdict(list)
    columns = "pk", "label_id", "field", "start", "end", "quote", "method"
    for span in map(Range._make, found.values_list(*columns)):
        by[span.label].append(span)
    return by


def decisions_of(responses: Sequence[int]) -> Mapping[int, Decided]:
    found = Decision.objects.filter(response__in=responses).order_by()
    rows = found.values_list("pk", "response_id", "unit_id", "by__kind")
    return {row[1]: Decided(*row) for row in rows}


def drafts_of(assignments: Sequence[int]) -> Iterator[Kept]:
    found = Draft.objects.filter(assignment__in=assignments).order_by()
    yield from map(Kept._make, found.values_list("pk", "assignment_id", "payload", "version"))


def placed_of(items: set[int]) -> Mapping[int, Placed]:
    found = Item.objects.filter(pk__in=items).order_by()
    rows = found.values_list("pk", "key", "query_id", "shown_passages", "passage_uses")
    return {row[0]: Placed(*row) for row in rows}


def units_of(items: set[int]) -> Mapping[int, Mapping[int, Named]]:
    by: dict[int, dict[int, Named]] = defaultdict(dict)
    found = Unit.objects.filter(item__in=items).order_by("item", "position")
    for pk, item, name, kind, key in found.values_list("pk", "item_id", "name", "kind", "key"):
        by[item][pk] = Named(name, UnitSpec(kind, key, ""))
    return by
