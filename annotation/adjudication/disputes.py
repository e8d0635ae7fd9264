"""The units in dispute or sent by a researcher, and who may decide.

A unit is in dispute if people disagree, or if a judge disagrees with most people. The labels that
count are those that the report compares: labels on study items, except labels of excluded raters
and labels given with a judge's label in view. If a judge was asked several times, its first label
counts. An escape counts as a value like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

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
    User,
)
from annotation.people.membership import Role
from annotation.trust import roles
from annotation.trust.roles import for_adjudicators, without_certify
from audit.recording import record
from tandem.grouping import grouped

UnitKey = tuple[int, int, int, int]
"""An item's position and primary key, a unit's position in it and primary key."""


@dataclass(frozen=True)
class Disagreement:
    """How the labels of one variable of a unit differ.

    `people` has the number of people behind each value, largest first: a judge is nobody's vote.
    `judges` says whether a judge gave another value than most people.
    """

    variable: str
    people: tuple[int, ...]
    judges: bool

    @property
    def among_people(self) -> bool:
        return len(self.people) > 1

    @property
    def is_tie(self) -> bool:
        return self.among_people and self.people[0] == self.people[1]

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts ties first, then the smallest majorities, then units that only judges dispute."""
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
    """Return the labels of people and judges that count, without those that certify a judge."""
    return without_certify(_counted_labels(campaign), campaign)


def adjudicated_labels(campaign: Campaign) -> QuerySet[Label]:
    """Return the labels that count and that adjudicators may see."""
    return for_adjudicators(_counted_labels(campaign), campaign)


def _counted_labels(campaign: Campaign) -> QuerySet[Label]:
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


def disputes(labels: QuerySet[Label]) -> list[Dispute]:
    """Return the units in dispute among labels that count, unsorted, in one query."""
    units = grouped(disagreements(labels))
    return [
        Dispute(
            item, item_position, unit, position, tuple(sorted(found, key=attrgetter("variable")))
        )
        for (item_position, item, position, unit), found in units.items()
    ]


def disagreements(labels: QuerySet[Label]) -> Iterator[tuple[UnitKey, Disagreement]]:
    """Yield each disagreement with its unit. Equal ones are the same object, since few differ."""
    tallies = grouped(((tally.unit, tally.variable), tally) for tally in _tally(labels))
    # Few different disagreements occur, each on many units.
    alike: dict[tuple[object, ...], Disagreement | None] = {}
    same: dict[Disagreement, Disagreement] = {}
    for (unit, name), found in tallies.items():
        way = (name, *(tally[2:] for tally in found))
        if way not in alike:
            made = _disagreement(name, found)
            alike[way] = made and same.setdefault(made, made)
        if (differ := alike[way]) and (differ.among_people or differ.judges):
            yield unit, differ


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
    people, judges = Counter[str](), set[str]()
    for tally in found:
        if tally.kind == Rater.Kind.HUMAN:
            people[tally.value] += tally.number
        else:
            judges.add(tally.value)
    if not people:
        return None
    most, numbers = people.most_common(1)[0][0], tuple(n for _, n in people.most_common())
    decided = len(numbers) == 1 or numbers[0] > numbers[1]
    return Disagreement(variable, numbers, decided and bool(judges - {most}))


def unit_disagreements(labels: QuerySet[Label], unit: int) -> list[Disagreement]:
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


def disputed_units(campaign: Campaign) -> frozenset[int]:
    """Return the units in dispute, decided or not. Callers note the look at them.

    These are the units of `disputes`, in one query that returns only keys. If two values differ and
    a person gave one, at least one value differs from that of most people.
    """
    people = Count("pk", filter=Q(response__assignment__rater__kind=Rater.Kind.HUMAN))
    found = adjudicated_labels(campaign).values("unit", "variable")
    found = found.annotate(least=Min("value"), most=Max("value"), people=people)
    several = found.filter(least__lt=F("most"), people__gt=0)
    return frozenset(several.values_list("unit", flat=True).iterator(chunk_size=5000))


def sent_units(campaign: Campaign) -> set[int]:
    """Return the units that a researcher sent to adjudication."""
    rows = AdjudicationRequest.objects.filter(unit__item__campaign=campaign)
    return set(rows.order_by().values_list("unit", flat=True))


def decided_units(campaign: Campaign) -> set[int]:
    rows = Decision.objects.filter(unit__item__campaign=campaign, response__current=True)
    return set(rows.order_by().values_list("unit", flat=True))


NOT_DISPUTED = "no rater disagrees with people about them"
ALREADY_DECIDED = "an adjudicator has decided them"
ALREADY_SENT = "they were sent before"


@dataclass(frozen=True)
class Selection:
    """The units (primary keys) that an action accepts, and the number of the others by reason."""

    units: tuple[int, ...]
    refused: Mapping[str, int]

    @classmethod
    def of(cls, units: Iterable[int], reasons: Mapping[int, str]) -> Selection:
        """Return a selection of units, without those that have a reason."""
        every = list(units)
        taken = tuple(unit for unit in every if unit not in reasons)
        return cls(taken, Counter(reasons[unit] for unit in every if unit in reasons))


def select_sendable(campaign: Campaign, units: Collection[int]) -> Selection:
    """Return which units can be sent to adjudication: those in dispute that nobody has decided."""
    disputed = {
        each.unit for each in disputes(counted_labels(campaign).filter(unit__in=list(units)))
    }
    decided, sent = decided_units(campaign), sent_units(campaign)
    certify = roles.certify_units(campaign, units)
    reasons = {}
    for unit in units:
        if unit in certify:
            reasons[unit] = roles.REASON
        elif unit in decided:
            reasons[unit] = ALREADY_DECIDED
        elif unit in sent:
            reasons[unit] = ALREADY_SENT
        elif unit not in disputed:
            reasons[unit] = NOT_DISPUTED
    return Selection.of(units, reasons)


def send(campaign: Campaign, units: Collection[int], by: User | None) -> int:
    """Send the units that `select_sendable` returns to adjudication, and return how many."""
    with transaction.atomic():
        # A simultaneous request for the same units waits here.
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        found = select_sendable(campaign, units).units
        AdjudicationRequest.objects.bulk_create(
            AdjudicationRequest(unit_id=unit, by=by) for unit in found
        )
        if found:
            record("adjudication.sent", campaign.pk, campaign, units=len(found))
    return len(found)
