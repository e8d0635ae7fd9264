"""Which units are in dispute, in which order they are decided, and who may decide them.

A unit is in dispute if people disagree, or if a judge disagrees with most people. The labels that
count are those that the report compares: labels of the study's items, without excluded raters, not
made with a judge's label in view, and the first label of a judge that was asked several times. An
escape counts as an answer like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.models import (
    Campaign,
    Decision,
    Exclusion,
    Item,
    Label,
    Membership,
    Rater,
    Response,
    Unit,
    User,
)
from annotation.people.membership import Role
from annotation.presentation import bring, present
from annotation.protocols.base import name_units

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
            "unit__item__position",
            "unit__item_id",
            "unit__position",
            "unit_id",
            "variable",
            "value",
            "response__assignment__rater__kind",
        )
        .annotate(number=Count("pk"))
    )
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


def adjudicable(user: User) -> QuerySet[Campaign]:
    """The campaigns, open or closed, that an account adjudicates.

    A researcher who answered in a campaign knows too much of it to decide there. An annotator who
    answered before the change of roles decides on the rest: see `own_units`.
    """
    if not user.is_active or user.role == User.Role.ADMIN:
        return Campaign.objects.none()
    there = Membership.objects.filter(
        campaign=OuterRef("pk"), user=user, role=Role.ADJUDICATOR, ended_at=None
    )
    found = Campaign.objects.filter(Exists(there))
    if user.role != User.Role.RESEARCHER:
        return found
    answered = Response.objects.filter(
        assignment__rater__user=user, assignment__item__campaign=OuterRef("pk")
    )
    return found.exclude(Exists(answered))


def own_units(user: User, campaign: Campaign) -> QuerySet[Label, int]:
    """The units that somebody labelled, in whatever revision: not theirs to decide."""
    mine = Label.objects.filter(
        response__assignment__rater__user=user, response__assignment__item__campaign=campaign
    )
    return mine.order_by().values_list("unit", flat=True)


def worded(campaign: Campaign, found: Sequence[Dispute]) -> Iterator[tuple[Dispute, str, str]]:
    """Each dispute with its request and the words of its unit.

    A handful of queries, however many there are.
    """
    items = Item.objects.filter(pk__in={each.item for each in found}).select_related("query")
    there = {item.pk: item for item in items}
    for item in there.values():
        item.campaign = campaign
    bring(campaign, there.values())
    units = Unit.objects.filter(pk__in=[each.unit for each in found]).order_by()
    names = dict(units.values_list("pk", "name"))
    for each in found:
        item = there[each.item]
        yield each, item.query.text, name_units(present(item).units)[names[each.unit]].text


State = Literal["open", "decided"]
OF: dict[Of, str] = {
    "all": "All disputes",
    "people": "People disagree",
    "judges": "A judge disagrees with most people",
}
STATES: dict[State, str] = {"open": "To decide", "decided": "Decided"}


@dataclass(frozen=True)
class Wanted:
    """A part of the queue: disputes of one kind, of one variable (none: of any), open or decided.

    `item` looks at one item alone.
    """

    of: Of = "all"
    variable: str = ""
    state: State = "open"
    item: int | None = None


def queue(campaign: Campaign, user: User, wanted: Wanted = Wanted()) -> list[Dispute]:
    """What an adjudicator is to decide, or decided has been, in order; the own units stay out."""
    return _ordered(_found(campaign, wanted, user))


def sizes(campaign: Campaign, wanted: Wanted = Wanted()) -> dict[State, int]:
    """How many units are in dispute and not decided yet, and how many are decided."""
    return {state: len(_found(campaign, replace(wanted, state=state))) for state in STATES}


def following(campaign: Campaign, user: User, unit: Unit, wanted: Wanted) -> int | None:
    """The unit to go on with after one, by its primary key; none where nothing is left.

    What else is in dispute on the same item comes first: its texts were read just now.
    """
    for part in (replace(wanted, item=unit.item_id), wanted):
        others = [each.unit for each in queue(campaign, user, part) if each.unit != unit.pk]
        if others:
            return others[0]
    return None


def decided_units(campaign: Campaign) -> set[int]:
    rows = Decision.objects.filter(unit__item__campaign=campaign, response__current=True)
    return set(rows.order_by().values_list("unit", flat=True))


def _found(campaign: Campaign, wanted: Wanted, user: User | None = None) -> list[Dispute]:
    labels = counted(campaign)
    if wanted.item is not None:
        labels = labels.filter(unit__item=wanted.item)
    if user is not None:
        labels = labels.exclude(unit__in=own_units(user, campaign))
    done, found = decided_units(campaign), disputes(labels, wanted.of, wanted.variable)
    return [each for each in found if (each.unit in done) == (wanted.state == "decided")]


def _ordered(found: list[Dispute]) -> list[Dispute]:
    """Items by their most useful dispute, and within an item the most useful first."""
    items: dict[int, list[Dispute]] = defaultdict(list)
    for each in sorted(found, key=lambda d: (d.rank, d.position)):
        items[each.item].append(each)
    blocks = sorted(items.values(), key=lambda block: (block[0].rank, block[0].item_position))
    return [each for block in blocks for each in block]
