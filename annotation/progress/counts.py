"""Counts of answers, by person and by day, cached if counting is slow, and recent totals.

Small counts are computed each time. A large count is reused for a minute. While one request
computes it again, other requests get the old one.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NamedTuple, TypeVar

from django.core.cache import caches
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.db.models.functions import Substr, TruncDate
from django.utils import timezone

from annotation.campaigns.answer_totals import AnswerTotals, answer_totals
from annotation.counters import answers, answers_by_rater, count_raters, numbers, sum_counts
from annotation.models import Assignment, Campaign, Item, Rater, Response
from annotation.provenance import LENGTH

DONE = Q(status=Assignment.Status.DONE)
STUDY = Q(item__use=Item.Use.STUDY)
GOLD_USES = (Item.Use.GOLD, Item.Use.PRACTICE)
STUDY_USE = Item.Use.STUDY.value
PLACED, IMPORTED = (answers(STUDY_USE, "done", placed) for placed in (True, False))
PEOPLE, JUDGES = (Q(rater__kind=kind.value) for kind in (Rater.Kind.HUMAN, Rater.Kind.JUDGE))
MANY = 20_000
"""A result over more items, answers or labels than this is cached."""
FRESH, LONGEST_WORK, STALE = 60, 60, 3600  # seconds
T = TypeVar("T")


class Total(NamedTuple):
    """The study items of a campaign, and their annotator slots."""

    items: int
    places: int


@dataclass(frozen=True)
class PersonCounts:
    """One person's numbers: answers to study items (`done`), those that fill a slot (`placed`),
    answers to gold and practice items (`known`), and reserved slots (`held`)."""

    rater: int
    name: str
    done: int
    placed: int
    known: int
    held: int


def total(campaign: Campaign) -> Total:
    """Count study items and their slots. Gold and practice items have unlimited slots."""
    found = numbers(campaign)
    return Total(found.get("items/study", 0), found.get("places/study", 0))


def by_person(campaign: Campaign) -> list[PersonCounts]:
    """Count the answers of each person with an assignment, in order of pseudonyms."""
    tallies = answers_by_rater(campaign)
    people = Rater.objects.filter(pk__in=tallies, kind=Rater.Kind.HUMAN).order_by("name")
    return [_person_counts(pk, name, tallies[pk]) for pk, name in people.values_list("pk", "name")]


def _person_counts(rater: int, name: str, of: Mapping[str, int]) -> PersonCounts:
    placed = of.get(answers("study", "done", True), 0)
    return PersonCounts(
        rater,
        name,
        placed + of.get(answers("study", "done", False), 0),
        placed,
        sum(of.get(answers(use, "done", at), 0) for use in GOLD_USES for at in (True, False)),
        sum(of.get(answers(use, "open", True), 0) for use in Item.Use.values),
    )


class Times(NamedTuple):
    """The times of a person's first and newest answer."""

    first_at: datetime
    newest_at: datetime


def times(campaign: Campaign, raters: Collection[int]) -> dict[int, Times]:
    """Return the times of each rater who has answered, by the rater's primary key."""
    answered = people_of(campaign, raters).filter(responses__revision=1)
    rows = (
        answered.order_by()
        .values_list("rater")
        .annotate(first=Min("responses__created_at"), newest=Max("responses__created_at"))
    )
    return {rater: Times(first, newest) for rater, first, newest in rows}


def people_of(campaign: Campaign, raters: Collection[int]) -> QuerySet[Assignment]:
    """Return these people's assignments in a campaign.

    Filtering by rater uses an index; filtering by campaign alone would read all of its items."""
    return Assignment.objects.filter(rater__in=raters, item__campaign=campaign)


def by_day(campaign: Campaign, today: date, days: int, raters: Collection[int]) -> list[int]:
    """Count first answers to study items on each of the last `days` days, up to today."""
    since = today - timedelta(days=days - 1)
    first = Response.objects.filter(
        revision=1,
        created_at__gte=timezone.make_aware(datetime.combine(since, time.min)),
        assignment__rater__in=raters,
        assignment__item__campaign=campaign,
        assignment__item__use=Item.Use.STUDY,
        assignment__slot__isnull=False,
    ).exclude(door="import")
    counted: Mapping[date, int] = dict(
        first.order_by()
        .annotate(day=TruncDate("created_at"))
        .values_list("day")
        .annotate(number=Count("pk"))
    )
    return [counted.get(since + timedelta(days=n), 0) for n in range(days)]


def answers_by_guideline(campaign: Campaign) -> dict[str, int]:
    """Count the items that people answered under each guideline, by its digest."""
    answered = Response.objects.filter(
        assignment__item__campaign=campaign,
        assignment__rater__kind=Rater.Kind.HUMAN,
        basis__isnull=False,
    )
    digest = Substr("basis", 2 * (LENGTH + 1) + 1)
    rows = answered.order_by().values_list(digest).annotate(n=Count("assignment", distinct=True))
    return {key: n for key, n in rows if key}


def cached(key: str, make: Callable[[], tuple[T, int]]) -> T:
    """Return the result of `make`, which also returns its size; reuse a large one for a minute."""
    cache = caches["reports"]
    found: tuple[float, T] | None = cache.get(key)
    if found is not None:
        is_fresh = clock.time() - found[0] < FRESH
        if is_fresh or not cache.add(f"{key}-at-work", "", LONGEST_WORK):
            return found[1]
    made, size = make()
    if size > MANY:
        cache.set(key, (clock.time(), made), STALE)
    return made


def with_counts(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Annotate campaigns with `items_total`, `places`, and the answers of people and judges.

    `people_done` is the sum of `places_done`, the filled slots, and of the `imported` answers.
    Gold and practice items do not count.
    """
    return campaigns.select_related("batch").annotate(
        items_total=sum_counts(f"items/{STUDY_USE}"),
        places=sum_counts(f"places/{STUDY_USE}"),
        places_done=sum_counts(PLACED, raters=PEOPLE),
        imported=sum_counts(IMPORTED, raters=PEOPLE),
        people_done=F("places_done") + F("imported"),
        people=count_raters(PLACED, IMPORTED, raters=PEOPLE),
        judges=count_raters(PLACED, IMPORTED, raters=JUDGES),
    )


def recent_answer_totals(
    campaign: Campaign, found: Total, people: Sequence[PersonCounts]
) -> AnswerTotals:
    """Like `answer_totals`, but from counters if nothing was imported, else up to a minute old."""
    placed = sum(each.placed for each in people)
    if placed == sum(each.done for each in people):
        return AnswerTotals(found.items, found.places, placed)
    return cached_answer_totals(campaign)


def cached_answer_totals(campaign: Campaign) -> AnswerTotals:
    """Like `answer_totals`, up to a minute old in a large campaign."""

    def count() -> tuple[AnswerTotals, int]:
        totals = answer_totals(campaign)
        return totals, totals.asked

    return cached(f"places-{campaign.pk}", count)
