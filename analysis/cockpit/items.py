"""The items of a campaign with all answers: a page of items, and one item with all its labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from analysis.disagreements.votes import Votes
from annotation.adjudication.disputes import counted_labels
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Item, Rater
from annotation.presentation import preload, present, schema
from datasets.sorting import Column, Order
from tandem.protocols.base import Text, name_units

LOOK = "items"
RATER = ("response__assignment__rater__name", "response__assignment__rater__kind")


@dataclass(frozen=True)
class Row:
    """An item with the answers to one variable.

    `people` counts those who labelled it. `labels` counts the units by the word of people's
    majority, or of the only label. Among units with two people, `alike` have equal labels. Among
    those with a majority and a judge's label, `with_judge` has the numbers of equal labels and of
    all, by judge.
    """

    item: Item
    people: int
    labels: Sequence[tuple[str, int]]
    alike: int
    shared: int
    with_judge: Mapping[str, tuple[int, int]]


def rows_of(campaign: Campaign, items: Sequence[Item], variable: str) -> list[Row]:
    """Return items with the answers to a variable, in two queries."""
    saw_answers(LOOK, campaign, items=[item.pk for item in items])
    found, word = _votes(campaign, items, variable), partial(schema(campaign).word, variable)
    return [_row(item, list(found[item.pk].values()), word) for item in items]


COLUMNS = (
    Column("item", "Item"),
    Column("people", "People", is_number=True),
    Column("say", "People say", can_sort=False),
    Column("alike", "People alike", is_number=True),
    Column("judge", "Judge like people", is_number=True),
)
MOST_SORTED = 2000
"""Of more items, no column is sorted whose values are computed from all answers."""


def columns_of(number: int) -> list[Column]:
    """Return the columns of a table of so many items, most of which can be sorted."""
    if number <= MOST_SORTED:
        return list(COLUMNS)
    return [each if each.name == "item" else replace(each, can_sort=False) for each in COLUMNS]


def sorted_rows(rows: Sequence[Row], order: Order) -> list[Row]:
    """Sort rows by numbers of people or shares of equal labels; those without one are last."""
    known = [(value, row) for row in rows if (value := _value(row, order.by)) is not None]
    known.sort(key=lambda each: each[0], reverse=order.is_descending)
    return [row for _, row in known] + [row for row in rows if _value(row, order.by) is None]


def _value(row: Row, column: str) -> float | None:
    if column == "people":
        return row.people
    if column == "alike":
        return row.alike / row.shared if row.shared else None
    both = sum(of for _, of in row.with_judge.values())
    return sum(same for same, _ in row.with_judge.values()) / both if both else None


def _votes(
    campaign: Campaign, items: Sequence[Item], variable: str
) -> Mapping[int, dict[int, Votes]]:
    asked = schema(campaign).variables
    escapes = frozenset(code for v in asked if v.name == variable for code in v.escapes)
    rows = counted_labels(campaign).filter(
        unit__item__in=[item.pk for item in items], variable=variable
    )
    columns = ("unit__item", "unit", "unit__position", "value", *RATER)
    found: Mapping[int, dict[int, Votes]] = defaultdict(dict)
    for item, unit, position, value, name, kind in rows.values_list(*columns):
        votes = found[item].setdefault(unit, Votes(unit, (0, position), 0, "", escapes))
        (votes.people if kind == Rater.Kind.HUMAN else votes.judges)[name] = value
    return found


def _row(item: Item, votes: Sequence[Votes], word: Callable[[str], str]) -> Row:
    people = {name for each in votes for name in each.people}
    labels = Counter(each.majority for each in votes if each.majority)
    shared = [each for each in votes if len(each.people) > 1]
    judged: dict[str, list[bool]] = defaultdict(list)
    for each in votes:
        if (most := each.majority) is not None:
            for name, value in sorted(each.judges.items()):
                if value not in each.escapes:
                    judged[name].append(value == most)
    return Row(
        item,
        len(people),
        [(word(code), number) for code, number in labels.most_common(3)],
        sum(not each.dissent for each in shared),
        len(shared),
        {name: (sum(same), len(same)) for name, same in sorted(judged.items())},
    )


@dataclass
class UnitLine:
    """A unit of an item: its words, and each rater's labels by rater."""

    pk: int
    words: str
    labels: dict[str, list[str]] = field(default_factory=dict)
    differs: bool = False


@dataclass(frozen=True)
class ItemAnswers:
    """An item with its texts, its raters by name and kind, and a line for each unit."""

    item: Item
    texts: Sequence[Text]
    raters: Sequence[tuple[str, str]]
    lines: Sequence[UnitLine]


def answers_of(campaign: Campaign, item: Item) -> ItemAnswers:
    """Return all current labels of an item, unit by unit."""
    saw_answers(LOOK, campaign, items=[item.pk])
    item.campaign = campaign
    preload(campaign, [item])
    spec = present(item)
    words = {name: unit.text for name, unit in name_units(spec.units).items()}
    units = item.units.order_by("position").values_list("pk", "name")
    lines = {pk: UnitLine(pk, words.get(name, name)) for pk, name in units}
    asked = schema(campaign)
    several = len({variable.name for variable in asked.variables}) > 1
    raters: dict[str, str] = {}
    values: Mapping[tuple[int, str], set[str]] = defaultdict(set)
    rows = counted_labels(campaign).filter(unit__item=item).order_by("pk")
    columns = ("unit", "variable", "value", *RATER)
    for unit, variable, value, name, kind in rows.values_list(*columns):
        raters[name] = kind
        word = asked.word(variable, value)
        label_text = f"{variable}: {word}" if several else word
        lines[unit].labels.setdefault(name, []).append(label_text)
        values[unit, variable].add(value)
        lines[unit].differs |= len(values[unit, variable]) > 1
    order = sorted(raters.items(), key=lambda each: (each[1] != Rater.Kind.HUMAN, each[0]))
    return ItemAnswers(item, spec.texts, order, list(lines.values()))
