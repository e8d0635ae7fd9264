"""The units in dispute, the order of the queue, and who may decide.

A unit is in dispute if people disagree, or if a judge disagrees with most people. The labels that
count are those that the report compares: labels on study items, except labels of excluded raters
and labels given with a judge's label in view. Of a judge that was asked several times, the first
label counts. An escape counts as a value like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop

from annotation.exposure.ledger import saw_answers
from annotation.models import (
    AdjudicationRequest,
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
from annotation.presentation import preload, words_of_unit

Among = Literal["all", "sent", "people", "judges"]
State = Literal["open", "decided"]
DISPUTES_AMONG: dict[Among, str] = {
    "all": gettext_noop("All disputes"),
    "sent": gettext_noop("Sent by a researcher"),
    "people": gettext_noop("People disagree"),
    "judges": gettext_noop("A judge disagrees with most people"),
}
STATES: dict[State, str] = {
    "open": gettext_noop("To decide"),
    "decided": gettext_noop("Decided"),
}
UnitKey = tuple[int, int, int, int]
"""An item's position and primary key, a unit's position in it and primary key."""


@dataclass(frozen=True)
class Disagreement:
    """How the labels of one variable of a unit differ.

    `people` has the number of people behind each value, largest first, and `raters` the same for
    people and judges together. Only `raters` may be shown, since both together would reveal who is
    a judge. `judges` says whether a judge gave another value than most people.
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
        """Sorts ties first, then the smallest majorities, and last what only judges dispute."""
        kind = 0 if self.is_tie else 1 if self.among_people else 2
        return kind, self.people[0] / sum(self.people)


@dataclass(frozen=True)
class Dispute:
    """A unit in dispute, by primary keys and positions."""

    item: int
    item_position: int
    unit: int
    position: int
    disagreements: tuple[Disagreement, ...]

    @property
    def among_people(self) -> bool:
        return any(disagreement.among_people for disagreement in self.disagreements)

    @property
    def rank(self) -> tuple[int, float]:
        return min(disagreement.rank for disagreement in self.disagreements)


class _Tally(NamedTuple):
    """The number of raters of a kind who gave a unit a value."""

    unit: UnitKey
    variable: str
    value: str
    kind: str
    number: int


def counted_labels(campaign: Campaign) -> QuerySet[Label]:
    """Return the labels of people and judges that count."""
    exclusions = Exclusion.objects.filter(campaign=campaign, undone_at=None)
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
        .exclude(response__assignment__rater__in=exclusions.values("rater"))
        .order_by()
    )


def disputes(labels: QuerySet[Label], of: Among = "all", variable: str = "") -> list[Dispute]:
    """Return the units in dispute among labels that count, unsorted, in one query.

    `variable` restricts the labels to one variable, and `of` the disputes to one kind; those sent
    by a researcher are of any kind.
    """
    if variable:
        labels = labels.filter(variable=variable)
    units: dict[UnitKey, list[Disagreement]] = defaultdict(list)
    tallies: dict[tuple[UnitKey, str], list[_Tally]] = defaultdict(list)
    for tally in _tally(labels):
        tallies[tally.unit, tally.variable].append(tally)
    # Raters differ in a few ways, each of them on many units.
    alike: dict[tuple[object, ...], Disagreement | None] = {}
    for (unit_key, name), found in tallies.items():
        way = (name, *(tally[2:] for tally in found))
        if way not in alike:
            alike[way] = _disagreement(name, found)
        disagreement = alike[way]
        if disagreement and _is_of(disagreement, of):
            units[unit_key].append(disagreement)
    return [
        Dispute(item, item_position, unit, position, tuple(sorted(disagreements, key=_variable)))
        for (item_position, item, position, unit), disagreements in units.items()
    ]


def _is_of(disagreement: Disagreement, of: Among) -> bool:
    if of in ("all", "sent"):
        return disagreement.among_people or disagreement.judges
    return disagreement.judges if of == "judges" else disagreement.among_people


def _variable(disagreement: Disagreement) -> str:
    return disagreement.variable


def _tally(labels: QuerySet[Label]) -> Iterable[_Tally]:
    """Count the labels of units that have at least two values of a variable.

    The database filters out all other units, which are most of them.
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
    for item_position, item, position, unit, *tally in rows.iterator(chunk_size=5000):
        yield _Tally((item_position, item, position, unit), *tally)


def _disagreement(variable: str, found: Iterable[_Tally]) -> Disagreement | None:
    """Return the disagreement of a variable, or None if no person gave it a value."""
    people, raters = Counter[str](), Counter[str]()
    for tally in found:
        raters[tally.value] += tally.number
        if tally.kind == Rater.Kind.HUMAN:
            people[tally.value] += tally.number
    if not people:
        return None
    most, numbers = people.most_common(1)[0][0], _numbers(people)
    decided = len(numbers) == 1 or numbers[0] > numbers[1]
    judges = raters - people
    return Disagreement(
        variable, numbers, _numbers(raters), decided and bool(judges.keys() - {most})
    )


def _numbers(counts: Counter[str]) -> tuple[int, ...]:
    return tuple(number for _, number in counts.most_common())


def in_dispute(labels: QuerySet[Label], unit: int) -> list[Disagreement]:
    """Return the disagreements of one unit; empty if it is not in dispute."""
    return [
        disagreement
        for each in disputes(labels.filter(unit=unit))
        for disagreement in each.disagreements
    ]


def adjudicable(user: User) -> QuerySet[Campaign]:
    """Return the campaigns, open or closed, that an account adjudicates.

    A researcher who answered in a campaign may not decide there. An annotator who answered before
    becoming an adjudicator decides on all units but their own (see `own_units`).
    """
    if not user.is_active or user.role == User.Role.ADMIN:
        return Campaign.objects.none()
    memberships = Membership.objects.filter(
        campaign=OuterRef("pk"), user=user, role=Role.ADJUDICATOR, ended_at=None
    )
    found = Campaign.objects.filter(Exists(memberships))
    if user.role != User.Role.RESEARCHER:
        return found
    answered = Response.objects.filter(
        assignment__rater__user=user, assignment__item__campaign=OuterRef("pk")
    )
    return found.exclude(Exists(answered))


def own_units(user: User, campaign: Campaign) -> QuerySet[Label, int]:
    """Return the units that a user has labelled in any revision, and so may not decide."""
    own = Label.objects.filter(
        response__assignment__rater__user=user, response__assignment__item__campaign=campaign
    )
    return own.order_by().values_list("unit", flat=True)


def with_texts(campaign: Campaign, found: Sequence[Dispute]) -> Iterator[tuple[Dispute, str, str]]:
    """Yield each dispute with the texts of its query and its unit, in a few database queries."""
    rows = Item.objects.filter(pk__in={each.item for each in found}).select_related("query")
    items = {item.pk: item for item in rows}
    for item in items.values():
        item.campaign = campaign
    preload(campaign, items.values())
    units = Unit.objects.filter(pk__in=[each.unit for each in found]).order_by()
    names = dict(units.values_list("pk", "name"))
    for each in found:
        item = items[each.item]
        yield each, item.query.text, words_of_unit(item, names[each.unit])


@dataclass(frozen=True)
class QueuePart:
    """A part of the queue: open or decided disputes, perhaps of one kind, variable or item."""

    of: Among = "all"
    variable: str = ""
    state: State = "open"
    item: int | None = None


def queue(campaign: Campaign, user: User, part: QueuePart = QueuePart()) -> list[Dispute]:
    """Return a part of an adjudicator's queue in order, without units that they labelled."""
    found = _find(campaign, part, user)
    saw_answers("disputes", campaign, units=[each.unit for each in found])
    return _ordered(found, sent_units(campaign))


def queued_units(campaign: Campaign, user: User, part: QueuePart = QueuePart()) -> list[int]:
    """Return the primary keys of the units in a part of the queue, which reveal no answer."""
    found = _find(campaign, part, user)
    return [each.unit for each in _ordered(found, sent_units(campaign))]


def queue_sizes(campaign: Campaign, part: QueuePart = QueuePart()) -> dict[State, int]:
    """Return the numbers of open and of decided units in dispute."""
    return {state: len(_find(campaign, replace(part, state=state))) for state in STATES}


def disputed_units(campaign: Campaign) -> frozenset[int]:
    """Return the units in dispute, decided or not. Callers note the look at them.

    These are the units of `disputes`, in one query that returns nothing else of them: where two
    values differ and a person gave one, at least one value differs from most people's.
    """
    people = Count("pk", filter=Q(response__assignment__rater__kind=Rater.Kind.HUMAN))
    found = counted_labels(campaign).values("unit", "variable")
    found = found.annotate(least=Min("value"), most=Max("value"), people=people)
    several = found.filter(least__lt=F("most"), people__gt=0)
    return frozenset(several.values_list("unit", flat=True).iterator(chunk_size=5000))


def own_sizes(user: User, campaign: Campaign, disputed: frozenset[int]) -> dict[State, int]:
    """Return the sizes of an adjudicator's own queue, for the units in dispute."""
    mine = disputed.difference(own_units(user, campaign))
    done = len(mine & decided_units(campaign))
    return {"open": len(mine) - done, "decided": done}


def next_dispute(campaign: Campaign, user: User, unit: Unit, part: QueuePart) -> int | None:
    """Return the primary key of the unit to decide after `unit`, or None.

    Other disputes on the same item come first, since its texts were read just now.
    """
    for scope in (replace(part, item=unit.item_id), part):
        others = [each for each in queued_units(campaign, user, scope) if each != unit.pk]
        if others:
            return others[0]
    return None


def sent_units(campaign: Campaign) -> set[int]:
    """Return the units that a researcher sent to adjudication."""
    rows = AdjudicationRequest.objects.filter(unit__item__campaign=campaign)
    return set(rows.order_by().values_list("unit", flat=True))


def decided_units(campaign: Campaign) -> set[int]:
    rows = Decision.objects.filter(unit__item__campaign=campaign, response__current=True)
    return set(rows.order_by().values_list("unit", flat=True))


def _find(campaign: Campaign, part: QueuePart, user: User | None = None) -> list[Dispute]:
    labels = counted_labels(campaign)
    if part.item is not None:
        labels = labels.filter(unit__item=part.item)
    if user is not None:
        labels = labels.exclude(unit__in=own_units(user, campaign))
    if part.of == "sent":
        labels = labels.filter(unit__adjudication_request__isnull=False)
    done, found = decided_units(campaign), disputes(labels, part.of, part.variable)
    return [each for each in found if (each.unit in done) == (part.state == "decided")]


def _ordered(found: list[Dispute], sent: Collection[int]) -> list[Dispute]:
    """Sort items by their first-ranked dispute, and the disputes within an item by rank.

    Units that a researcher sent come before all others.
    """

    def rank(each: Dispute) -> tuple[bool, tuple[int, float]]:
        return each.unit not in sent, each.rank

    items: dict[int, list[Dispute]] = defaultdict(list)
    for each in sorted(found, key=lambda d: (rank(d), d.position)):
        items[each.item].append(each)
    blocks = sorted(items.values(), key=lambda block: (rank(block[0]), block[0].item_position))
    return [each for block in blocks for each in block]
