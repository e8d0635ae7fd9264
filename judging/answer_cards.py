"""A judge's answers as cards: an item's question and texts, and the verdict on each unit.

Pages follow the order of items, so the cost of a page does not depend on the number of answers. The
caller checks whether other raters' labels may be seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.adjudication.disputes import counted_labels
from annotation.exposure.ledger import saw_answers
from annotation.item_context import tone_of, word_of
from annotation.models import Assignment, Campaign, Item, Label, Rater, Response, Span
from annotation.presentation import (
    CHANGED,
    FORGOTTEN,
    preload,
    present,
    schema,
    stored_units,
    with_value,
)
from datasets.text import cut
from judging.costs import cost_of_stored_call, count_tokens
from judging.models import Judge, JudgeCall
from tandem.grouping import grouped
from tandem.labels.grades import grade_of
from tandem.protocols.base import ItemSpec, Text, UnitSpec, Variable, name_units, names_code
from tandem.protocols.schema import Schema

LOOK = "judged"
CLOSED = (Assignment.Status.DONE, Assignment.Status.FAILED)
WHOLE, AROUND = 2400, 360
"""Longer texts are cut to this distance from a quote, in code points."""
LONGEST_REASON = 6000
GAP = "\u2009…\u2009"


@dataclass(frozen=True)
class Choice:
    """Which answers are shown.

    `verdict` is a code of `variable`, and `state` is *failed*, *repaired* or empty. `reason` is the
    missing reason of a whole answer. `find` is text to look for in the query and in the names of
    item and system. `item` is the position of one item.
    """

    variable: str = ""
    verdict: str = ""
    state: str = ""
    reason: str = ""
    find: str = ""
    item: int | None = None


@dataclass(frozen=True)
class Verdict:
    """A judge's label on one variable of a unit, as the button words it, with people's labels.

    `people` maps names to words. `grade` is the judge's own scale, and `score` the probability or
    expected rating.
    """

    variable: str
    question: str
    code: str
    word: str
    tone: str
    grade: str
    score: float | None
    people: Mapping[str, str]


@dataclass(frozen=True)
class CallTotals:
    """Totals over the calls of one assignment. `call` is the last one, None for an imported answer.

    `seconds` is the total time, and `cost` is in US dollars, None if no price is known. `thought`
    is the model's reasoning, and `wrote` its answer, verbatim.
    """

    call: int | None = None
    calls: int = 0
    repairs: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: Decimal | None = None
    reused: bool = False
    reading: str = ""
    thought: str = ""
    wrote: str = ""
    detail: str = ""


@dataclass(frozen=True)
class UnitAnswer:
    """A unit with the judge's labels of it. `missing` has a reason by variable."""

    pk: int
    words: str
    verdicts: tuple[Verdict, ...]
    quotes: tuple[str, ...]
    lost_quotes: int
    written: str
    missing: tuple[tuple[str, str], ...]
    spent: CallTotals | None
    """None if the calls were about the whole item."""


@dataclass(frozen=True)
class Piece:
    text: str
    is_quoted: bool


@dataclass(frozen=True)
class Excerpt:
    """A text of the item, cut where it is long, with the judge's quotes marked."""

    title: str
    pieces: tuple[Piece, ...]
    is_cut: bool


@dataclass(frozen=True)
class Card:
    """An item with all its units, or with one. `left_out` counts its texts that are not shown.

    `problem` says why it has no units, if its texts were changed.
    """

    item: Item
    units: tuple[UnitAnswer, ...]
    texts: tuple[Excerpt, ...]
    left_out: int
    spent: CallTotals | None
    problem: str = ""

    @property
    def tally(self) -> list[tuple[str, str, int]]:
        """Count the words chosen for the first variable; each has its tone."""
        said: dict[tuple[str, str], int] = {}
        for unit in self.units:
            found = unit.verdicts[0] if unit.verdicts else None
            shown = (found.word, found.tone) if found else ("missing", "no")
            said[shown] = said.get(shown, 0) + 1
        return [(word, tone, number) for (word, tone), number in said.items()]


def judged_items(campaign: Campaign, judge: Judge, choice: Choice) -> QuerySet[Item]:
    """Return the items with an answer or a missing reason of the judge, in order."""
    asked = Assignment.objects.filter(item=OuterRef("pk"), rater=judge.rater_id, replicate=0)
    items = campaign.items.select_related("query", "report")
    # Each condition starts from an item's own few rows. Starting from a judge's labels, the
    # database would read all of them for each item.
    asked = asked.filter(_is_incomplete() if choice.state == "failed" else Q(status__in=CLOSED))
    if choice.reason:
        asked = asked.filter(status=Assignment.Status.FAILED, reason=choice.reason)
    if choice.state == "repaired":
        calls = JudgeCall.objects.filter(assignment=OuterRef("pk"), repair=True)
        asked = asked.filter(Exists(calls))
    if choice.verdict:
        labels = Label.objects.filter(
            with_value(schema(campaign, "judges"), choice.variable, choice.verdict),
            response__assignment=OuterRef("pk"),
            response__current=True,
            variable=choice.variable,
        )
        asked = asked.filter(Exists(labels))
    items = items.filter(Exists(asked))
    if choice.find:
        words = Q(key__icontains=choice.find) | Q(query__text__icontains=choice.find)
        items = items.filter(words | Q(report__system__icontains=choice.find))
    if choice.item is not None:
        items = items.filter(position=choice.item)
    # Primary keys follow the order of items, and the index by campaign follows the primary keys.
    return items.order_by("pk")


def _is_incomplete() -> Q:
    return Q(status=Assignment.Status.FAILED) | Q(status=Assignment.Status.DONE) & ~Q(missing={})


def cards_of(
    campaign: Campaign, judge: Judge, items: Sequence[Item], choice: Choice, by_unit: bool
) -> list[Card]:
    """Return a card for each item, or for each chosen unit, in a few queries.

    Records a look at all their answers.
    """
    saw_answers(LOOK, campaign, items=[item.pk for item in items])
    preload(campaign, items)
    found = _Answers(campaign, judge, items)
    cards: list[Card] = []
    for item in items:
        item.campaign = campaign
        try:
            cards += list(found.cards_by_unit(item, choice)) if by_unit else [found.card(item)]
        except FORGOTTEN:
            cards.append(Card(item, (), (), 0, None, problem=CHANGED))
    return cards


class _Answers:
    """The answers of a judge and of people to some items."""

    def __init__(self, campaign: Campaign, judge: Judge, items: Sequence[Item]) -> None:
        self.schema: Schema = schema(campaign, "judges")
        rows = Assignment.objects.filter(item__in=items, rater=judge.rater_id, replicate=0)
        self.asked: Mapping[int, list[Assignment]] = defaultdict(list)
        for row in rows.order_by("pk"):
            self.asked[row.item_id].append(row)
        keys = [row.pk for rows in self.asked.values() for row in rows]
        self.spent = _call_totals(keys)
        labels = Label.objects.filter(response__assignment__in=keys, response__current=True)
        in_order = labels.prefetch_related("spans").order_by("pk")
        self.labels = grouped((label.unit_id, label) for label in in_order)
        self.people = _people(campaign, items)
        self.payloads = self._payloads(keys)

    def _payloads(self, keys: Sequence[int]) -> Mapping[int, Mapping[str, Any]]:
        """Return the answers by assignment, if they contain written texts."""
        if not any(self.schema.free_keys(v.kind) for v in self.schema.variables):
            return {}
        rows = Response.objects.filter(assignment__in=keys, current=True)
        return dict(rows.values_list("assignment", "payload"))

    def card(self, item: Item) -> Card:
        """Return the card of an item with all units that the judge was asked about."""
        units = [unit for unit, _ in self._units(item)]
        rows = self.asked[item.pk]
        whole = self.spent.get(rows[0].pk) if rows and not rows[0].scope else None
        texts, left_out = self._texts(item, [unit.pk for unit in units], ())
        return Card(item, tuple(units), texts, left_out, whole)

    def cards_by_unit(self, item: Item, choice: Choice) -> Iterator[Card]:
        """Yield a card for each unit that was chosen."""
        for unit, spec in self._units(item):
            if not self._is_chosen(unit, item, choice):
                continue
            texts, left_out = self._texts(item, [unit.pk], spec.of)
            rows = self.asked[item.pk]
            whole = None if unit.spent else self.spent.get(rows[0].pk)
            yield Card(item, (unit,), texts, left_out, whole)

    def _is_chosen(self, unit: UnitAnswer, item: Item, choice: Choice) -> bool:
        if choice.state == "failed" and not unit.missing:
            return False
        if choice.reason and choice.reason not in dict(unit.missing).values():
            return False
        if choice.state == "repaired":
            spent = unit.spent or self.spent.get(self.asked[item.pk][0].pk, CallTotals())
            if not spent.repairs:
                return False
        codes = (each.code for each in unit.verdicts if each.variable == choice.variable)
        return not choice.verdict or any(names_code(code, (choice.verdict,)) for code in codes)

    def _units(self, item: Item) -> Iterator[tuple[UnitAnswer, UnitSpec]]:
        specs = name_units(present(item).units)
        asked = {name: row for row in self.asked[item.pk] for name in row.asked}
        for name, pk in stored_units(item).items():
            if row := asked.get(name):
                yield self._unit(name, pk, specs[name], row), specs[name]

    def _unit(self, name: str, pk: int, spec: UnitSpec, row: Assignment) -> UnitAnswer:
        labels = self.labels.get(pk, [])
        verdicts = [
            _verdict(label, variable, self.people.get((pk, label.variable), {}))
            for label in labels
            if (variable := self.schema.variable(label.variable, spec.kind))
        ]
        spans = [span for label in labels for span in label.spans.all()]
        missing = dict(row.missing.get(name, {}))
        if row.status == Assignment.Status.FAILED:
            missing = {v.name: row.reason for v in self.schema.variables_of(spec.kind)}
        return UnitAnswer(
            pk,
            spec.text,
            tuple(verdicts),
            tuple(span.quote for span in spans),
            sum(span.start is None for span in spans),
            self._written(row, name, spec.kind),
            tuple(missing.items()),
            self.spent.get(row.pk) if row.scope else None,
        )

    def _written(self, row: Assignment, name: str, kind: str) -> str:
        """Return the text or the list of points that the judge wrote for a unit."""
        answer = (self.payloads.get(row.pk, {}).get("units") or {}).get(name) or {}
        if (rule := self.schema.written(kind)) and (text := answer.get(rule.name)):
            return str(text.get("text", "")) if isinstance(text, Mapping) else str(text)
        if listed := self.schema.listed(kind):
            return "\n".join(
                f"• {point.get('text', '')}" for point in answer.get(listed.name) or ()
            )
        return ""

    def _texts(
        self, item: Item, units: Sequence[int], own: Sequence[str]
    ) -> tuple[tuple[Excerpt, ...], int]:
        """Return the quoted texts.

        Without quotes, return the units' own texts, or the item's first.
        """
        spec = present(item)
        spans: Mapping[str, list[Span]] = defaultdict(list)
        for unit in units:
            for label in self.labels.get(unit, ()):
                for span in label.spans.all():
                    if span.start is not None:
                        spans[span.field].append(span)
        chosen = _chosen_texts(spec, set(spans) or set(own))
        shown = tuple(_excerpt(text, spans.get(text.field, ())) for text in chosen)
        return shown, len(spec.texts) - len(shown)


def _chosen_texts(spec: ItemSpec, fields: set[str]) -> Sequence[Text]:
    return [text for text in spec.texts if text.field in fields] or spec.texts[:1]


def _verdict(label: Label, variable: Variable, people: Mapping[str, str]) -> Verdict:
    return Verdict(
        label.variable,
        variable.question,
        label.value,
        word_of(variable, label.value),
        tone_of(variable, label.value),
        grade_of(label.meta),
        label.score,
        {name: word_of(variable, code) for name, code in people.items()},
    )


def _people(campaign: Campaign, items: Sequence[Item]) -> Mapping[tuple[int, str], dict[str, str]]:
    """Return people's current labels by unit and variable, as codes by name."""
    rows = counted_labels(campaign).filter(
        unit__item__in=items, response__assignment__rater__kind=Rater.Kind.HUMAN
    )
    columns = ("unit", "variable", "response__assignment__rater__name", "value")
    found: Mapping[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for unit, variable, name, value in rows.order_by(columns[2]).values_list(*columns):
        found[unit, variable][name] = value
    return found


def _call_totals(assignments: Sequence[int]) -> dict[int, CallTotals]:
    """Return the totals of each assignment's calls."""
    calls: Mapping[int, list[JudgeCall]] = defaultdict(list)
    rows = JudgeCall.objects.filter(assignment__in=assignments)
    for call in rows.select_related("run").defer("body", "logprobs").order_by("pk"):
        calls[call.assignment_id].append(call)
    return {row: _total(of) for row, of in calls.items()} | {
        row: CallTotals() for row in assignments if row not in calls
    }


def _total(calls: Sequence[JudgeCall]) -> CallTotals:
    last = calls[-1]
    tokens = [count_tokens(call.usage) for call in calls if call.reused_from_id is None]
    costs = [cost for call in calls if (cost := cost_of_stored_call(call)) is not None]
    return CallTotals(
        last.pk,
        len(calls),
        sum(call.repair for call in calls),
        sum(call.seconds for call in calls),
        sum(each.prompt_tokens + each.completion_tokens for each in tokens),
        sum(costs, Decimal(0)) if costs else None,
        last.reused_from_id is not None,
        last.reading,
        next((call.reasoning for call in reversed(calls) if call.reasoning), "")[:LONGEST_REASON],
        (last.completion or "")[:LONGEST_REASON],
        last.detail,
    )


def _excerpt(text: Text, spans: Sequence[Span]) -> Excerpt:
    ends = ((span.start, span.end) for span in spans)
    ranges = sorted((a, b) for a, b in ends if a is not None and b is not None)
    kept = _visible_ranges(len(text.text), ranges)
    pieces: list[Piece] = []
    for start, end in kept:
        if start:
            pieces.append(Piece(GAP, False))
        for a, b in cut(start, end, ranges):
            quoted = any(first <= a and b <= last for first, last in ranges)
            pieces.append(Piece(text.text[a:b], quoted))
    is_cut = kept != [(0, len(text.text))]
    if is_cut and kept[-1][1] < len(text.text):
        pieces.append(Piece(GAP, False))
    return Excerpt(text.heading, tuple(pieces), is_cut)


def _visible_ranges(length: int, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the visible ranges: all of a short text, otherwise the surroundings of quotes."""
    if length <= WHOLE:
        return [(0, length)]
    kept: list[tuple[int, int]] = []
    for start, end in ranges or [(0, 2 * AROUND)]:
        start, end = max(0, start - AROUND), min(length, end + AROUND)
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return kept
