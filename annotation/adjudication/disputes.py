"""Which units are in dispute: people disagree, or a judge does with most of them.

The labels that count are those that the report compares: of the study's items, neither of excluded
raters nor made with a judge's verdict in view, and of a judge that was asked several times the
first. An escape is an answer like any other here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from django.db.models import Count, QuerySet

from annotation.models import Campaign, Exclusion, Item, Label, Rater

Of = Literal["all", "people", "judges"]
Place = tuple[int, int, int, int]
"""The position and the key of an item, the position and the key of a unit in it."""


@dataclass(frozen=True)
class Split:
    """How the labels of one variable of a unit fall apart.

    `people` are the numbers of people behind each value, the most first; `raters` the same of
    people and judges together, which alone may be shown: of both, somebody could work out who is a
    judge. `judges` says whether a judge gave another value than most people.
    """

    variable: str
    people: tuple[int, ...]
    raters: tuple[int, ...]
    judges: bool

    @property
    def among_people(self) -> bool:
        return len(self.people) > 1

    @property
    def is_tie(self) -> bool:
        return self.among_people and self.people[0] == self.people[1]

    @property
    def rank(self) -> tuple[int, float]:
        """Ties come first, then the smallest majorities, and last what judges alone dispute."""
        kind = 0 if self.is_tie else 1 if self.among_people else 2
        return kind, self.people[0] / sum(self.people)


@dataclass(frozen=True)
class Dispute:
    """A unit in dispute, by primary keys and positions."""

    item: int
    item_position: int
    unit: int
    position: int
    splits: tuple[Split, ...]

    @property
    def rank(self) -> tuple[int, float]:
        return min(split.rank for split in self.splits)


class _Said(NamedTuple):
    """How many raters of a kind gave a unit a value."""

    place: Place
    variable: str
    value: str
    kind: str
    number: int


def counted(campaign: Campaign) -> QuerySet[Label]:
    """The labels that count, of people and judges."""
    out = Exclusion.objects.filter(campaign=campaign, undone_at=None)
    kinds = (Rater.Kind.HUMAN, Rater.Kind.JUDGE)
    return (
        Label.objects.filter(
            response__current=True,
            response__assignment__item__campaign=campaign,
            response__assignment__item__use=Item.Use.STUDY,
            response__assignment__rater__kind__in=kinds,
            response__assignment__replicate=0,
            response__assignment__assisted_by="",
        )
        .exclude(response__assignment__rater__in=out.values("rater"))
        .order_by()
    )


def disputes(labels: QuerySet[Label], of: Of = "all", variable: str = "") -> list[Dispute]:
    """The units in dispute among labels that count, in no order; one query.

    `variable` looks at the labels of that one alone, and `of` at the disputes of one kind.
    """
    if variable:
        labels = labels.filter(variable=variable)
    units: dict[Place, list[Split]] = defaultdict(list)
    tallies: dict[tuple[Place, str], list[_Said]] = defaultdict(list)
    for said in _said(labels):
        tallies[said.place, said.variable].append(said)
    for (place, name), found in tallies.items():
        split = _split(name, found)
        if split and _is_of(split, of):
            units[place].append(split)
    return [
        Dispute(item, item_position, unit, position, tuple(sorted(splits, key=_name)))
        for (item_position, item, position, unit), splits in units.items()
    ]


def _is_of(split: Split, of: Of) -> bool:
    if of == "all":
        return split.among_people or split.judges
    return split.judges if of == "judges" else split.among_people


def _name(split: Split) -> str:
    return split.variable


def _said(labels: QuerySet[Label]) -> Iterable[_Said]:
    """What was said of the variables of units that have two values at least, whoever gave them.

    The database leaves out the rest, which are the most.
    """
    several = (
        labels.values("unit", "variable")
        .annotate(values_given=Count("value", distinct=True))
        .filter(values_given__gt=1)
    )
    rows = (
        labels.filter(unit__in=several.values("unit"))
        .values_list(
            "unit__item__position", "unit__item_id", "unit__position", "unit_id",
            "variable", "value", "response__assignment__rater__kind",
        )
        .annotate(number=Count("pk"))
    )  # fmt: skip
    for item_position, item, position, unit, *said in rows.iterator(chunk_size=5000):
        yield _Said((item_position, item, position, unit), *said)


def _split(variable: str, found: Iterable[_Said]) -> Split | None:
    """None where no person gave a value: a judge has nobody to disagree with."""
    people, raters = Counter[str](), Counter[str]()
    for said in found:
        raters[said.value] += said.number
        if said.kind == Rater.Kind.HUMAN:
            people[said.value] += said.number
    if not people:
        return None
    most, numbers = people.most_common(1)[0][0], _numbers(people)
    decided = len(numbers) == 1 or numbers[0] > numbers[1]
    judges = raters - people
    return Split(variable, numbers, _numbers(raters), decided and bool(judges.keys() - {most}))


def _numbers(counts: Counter[str]) -> tuple[int, ...]:
    return tuple(number for _, number in counts.most_common())


def in_dispute(labels: QuerySet[Label], unit: int) -> list[Split]:
    """The splits of one unit, none where it is not in dispute."""
    return [split for each in disputes(labels.filter(unit=unit)) for split in each.splits]
