"""Read stored assignments with all answers to them, in chunks of plain values.

Only one chunk and the texts of a few queries are in memory, for any number of labels. No model
instances are created.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from annotation.campaigns.relevance import Uses
from annotation.exports.rows import chunks
from annotation.models import (
    REVOKED,
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
from annotation.presentation import items_of, schema
from annotation.registry import get_protocol, is_known
from audit.sealed.checking import SealedCounts
from audit.violations import Place, Violation
from datasets.material import as_rows
from datasets.models import Query
from tandem.files import rows
from tandem.protocols.base import ItemSpec, UnitSpec
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Entry, Problem, RefusedError, check


class ItemRow(NamedTuple):
    """An item. `query` is a primary key, and `passages` are the ids that it shows (None: all)."""

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
    reason: str

    @property
    def is_revoked(self) -> bool:
        """Whether the answers are kept although their author revoked consent."""
        return self.status == Assignment.Status.CANCELLED and self.reason == REVOKED


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


class DecisionRow(NamedTuple):
    """A decision. `unit` is a primary key."""

    pk: int
    response: int
    unit: int
    by_kind: str


class DraftRow(NamedTuple):
    """A draft."""

    pk: int
    assignment: int
    payload: Any
    version: int


class NamedUnit(NamedTuple):
    """A unit of an item, with its name in answers."""

    name: str
    spec: UnitSpec


_ROW = (
    "pk",
    "item_id",
    "rater_id",
    "rater__name",
    "rater__kind",
    "replicate",
    "scope",
    "asked",
    "status",
    "reason",
)


def rows_of(campaign: Campaign, chunk: int) -> Iterator[Row]:
    """Yield the assignments of a campaign, by query and item."""
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


def decisions_of(responses: Sequence[int]) -> Mapping[int, DecisionRow]:
    found = Decision.objects.filter(response__in=responses).order_by()
    rows = found.values_list("pk", "response_id", "unit_id", "by__kind")
    return {row[1]: DecisionRow(*row) for row in rows}


def drafts_of(assignments: Sequence[int]) -> Iterator[DraftRow]:
    found = Draft.objects.filter(assignment__in=assignments).order_by()
    yield from map(DraftRow._make, found.values_list("pk", "assignment_id", "payload", "version"))


def items_by_pk(items: set[int]) -> Mapping[int, ItemRow]:
    found = Item.objects.filter(pk__in=items).order_by()
    rows = found.values_list("pk", "key", "query_id", "shown_passages", "passage_uses")
    return {row[0]: ItemRow(*row) for row in rows}


def units_of(items: set[int]) -> Mapping[int, Mapping[int, NamedUnit]]:
    by: dict[int, dict[int, NamedUnit]] = defaultdict(dict)
    found = Unit.objects.filter(item__in=items).order_by("item", "position")
    for pk, item, name, kind, key in found.values_list("pk", "item_id", "name", "kind", "key"):
        by[item][pk] = NamedUnit(name, UnitSpec(kind, key, ""))
    return by


CHUNK, QUERIES = 500, 20
STRICT = ("page", "api", "judge")
"""The channels that accept only whole answers. A file may contain a part of an answer."""


@dataclass
class CheckedCounts(SealedCounts):
    """The numbers of rows that were checked."""

    campaigns: int = 0
    assignments: int = 0
    answers: int = 0
    labels: int = 0
    spans: int = 0


class ParsedAnswer(NamedTuple):
    """The entries and warnings of an answer, or the reason why its payload is not an answer."""

    entries: Sequence[Entry]
    warnings: Sequence[Problem]
    refused: str = ""


class Study:
    """A campaign with its schema, and the texts of the queries that are being checked.

    `ahead` are the primary keys of the next queries, in order, so that several are read at once.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.ahead: list[int] = []
        self._queries: dict[int, rows.Query] = {}
        self._texts: tuple[object, dict[str, ItemSpec]] = (None, {})

    @cached_property
    def schema(self) -> Schema | None:
        """The campaign's schema, or None if this version of Tandem lacks its protocol."""
        return schema(self.campaign) if is_known(self.campaign) else None

    @cached_property
    def is_of_this_version(self) -> bool:
        """Whether answers were checked by the current version of the protocol."""
        if not is_known(self.campaign):
            return False
        return get_protocol(self.campaign).version == self.campaign.protocol_version

    def shown(self, item: ItemRow) -> ItemSpec | None:
        """Return an item as built from the batch now, or None if the batch no longer has it."""
        of = item.query, item.passages, item.uses
        if self._texts[0] != of:
            made = items_of(self.campaign, self._query(item.query), item.passages, item.uses)
            self._texts = of, {spec.key: spec for spec in made}
        return self._texts[1].get(item.key)

    def _query(self, pk: int) -> rows.Query:
        if pk not in self._queries:
            start = self.ahead.index(pk)
            some = Query.objects.filter(pk__in=self.ahead[start : start + QUERIES])
            self._queries = as_rows(some, get_protocol(self.campaign).needs)
        return self._queries[pk]


@dataclass
class AnsweredAssignment:
    """An assignment with everything that belongs to it: answers by revision, units by key."""

    study: Study
    row: Row
    item: ItemRow
    units: Mapping[int, NamedUnit]
    answers: Sequence[Answer]
    labels: Mapping[int, Sequence[Value]]
    spans: Mapping[int, Sequence[Range]]
    decisions: Mapping[int, DecisionRow]
    draft: DraftRow | None

    @cached_property
    def asked(self) -> dict[str, UnitSpec]:
        """The units that the assignment asks and its item has, by name."""
        mine = {unit.name: unit.spec for unit in self.units.values()}
        return {name: mine[name] for name in self.row.asked if name in mine}

    @cached_property
    def entries(self) -> Mapping[int, ParsedAnswer]:
        """The content of each answer's payload, by primary key, regardless of labels."""
        return {answer.pk: parse_answer(self.study, self.asked, answer) for answer in self.answers}

    @cached_property
    def spec(self) -> ItemSpec | None:
        return self.study.shown(self.item)

    def wrong(
        self, check: str, what: str, row: tuple[str, int] | None = None, **where: str | int
    ) -> Violation:
        """Return a violation at this assignment. `row` is a table and a key in it.

        `where` may name a revision, a unit and a variable, which the message has in this order.
        """
        mine, campaign = self.row, self.study.campaign.name
        place: Place = {
            "campaign": campaign,
            "rater": mine.rater_name,
            "item": self.item.key,
        }
        place |= {"replicate": mine.replicate} if mine.replicate else {}
        place |= {"scope": mine.scope} if mine.scope else {}
        place |= where
        words = [f"campaign {campaign}", mine.rater_name, f"item {self.item.key}"]
        words += [f"{name} {place[name]}" for name in _MESSAGE_PARTS if name in place]
        table, pk = row or (Assignment._meta.db_table, mine.pk)
        place |= {"table": table, "id": pk}
        return Violation(check, f"{', '.join(words)}: {what}", place)

    def of_answer(self, check: str, answer: Answer, what: str, **where: str | int) -> Violation:
        row = Response._meta.db_table, answer.pk
        return self.wrong(check, what, row, revision=answer.revision, **where)


_MESSAGE_PARTS = ("replicate", "scope", "revision", "unit", "variable")
"""The parts of a message after campaign, rater and item, in this order."""


def parse_answer(study: Study, asked: Mapping[str, UnitSpec], answer: Answer) -> ParsedAnswer:
    """Read a payload again, leniently.

    An answer that was accepted once is not refused by a newer rule. If the rules have not changed,
    a warning about a whole answer is a violation.
    """
    payload = answer.payload
    if study.schema is None:
        return ParsedAnswer((), ())
    if not isinstance(payload, dict) or not isinstance(payload.get("units"), dict):
        return ParsedAnswer((), (), "its payload contains no units")
    try:
        return ParsedAnswer(*check(study.schema, asked, payload["units"], "import"))
    except RefusedError as error:
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        return ParsedAnswer((), (), f"its payload is not an answer: {error.problems[0]}{more}")


def answered_assignments(study: Study, checked: CheckedCounts) -> Iterator[AnsweredAssignment]:
    """Yield every assignment of a campaign with its answers, by query and item."""
    for chunk in chunks(rows_of(study.campaign, CHUNK), CHUNK):
        yield from _with_answers(study, chunk, checked)


def _with_answers(
    study: Study, chunk: Sequence[Row], checked: CheckedCounts
) -> Iterator[AnsweredAssignment]:
    keys = [row.pk for row in chunk]
    answers = answers_of(keys)
    responses = [answer.pk for each in answers.values() for answer in each]
    labels, spans, decisions = labels_of(responses), spans_of(responses), decisions_of(responses)
    drafts = {draft.assignment: draft for draft in drafts_of(keys)}
    items = {row.item for row in chunk}
    placed, units = items_by_pk(items), units_of(items)
    study.ahead = list(dict.fromkeys(placed[row.item].query for row in chunk))
    checked.assignments += len(chunk)
    checked.answers += len(responses)
    checked.labels += sum(map(len, labels.values()))
    checked.spans += sum(map(len, spans.values()))
    for row in chunk:
        yield AnsweredAssignment(
            study,
            row,
            placed[row.item],
            units[row.item],
            answers.get(row.pk, ()),
            labels,
            spans,
            decisions,
            drafts.get(row.pk),
        )
