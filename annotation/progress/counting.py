"""What people have answered in a campaign, counted: by person and by day, in a query each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from django.db.models import Count, F, FilteredRelation, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotation.models import Assignment, Campaign, Item, Rater, Response

DONE = Q(status=Assignment.Status.DONE)
STUDY = Q(item__use=Item.Use.STUDY)
PLACED = Q(slot__isnull=False)


class Total(NamedTuple):
    """The study items of a campaign, and how many answers of people they have places for."""

    items: int
    places: int


@dataclass(frozen=True)
class Counted:
    """What one person has done: answers to study items, those of them in a `placed` place, answers
    to gold and practice items, places held, and when the first and the newest answer came."""

    rater: int
    name: str
    done: int
    placed: int
    known: int
    held: int
    held_since: datetime | None
    first_at: datetime | None
    newest_at: datetime | None


def total(campaign: Campaign) -> Total:
    """Gold and practice items have no end of places, and count in neither."""
    study = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY).order_by()
    found = study.aggregate(items=Count("pk"), places=Sum("quota"))
    return Total(found["items"], found["places"] or 0)


def by_person(campaign: Campaign, raters: tuple[int, ...] = ()) -> list[Counted]:
    """Everybody who was given an item, by pseudonym; or only those whose keys are named."""
    held = Q(status=Assignment.Status.OPEN) & PLACED
    asked = people_of(campaign)
    if raters:
        asked = asked.filter(rater__in=raters)
    rows = (
        asked.alias(first=FilteredRelation("responses", condition=Q(responses__revision=1)))
        .order_by()
        .values("rater", name=F("rater__name"))
        .annotate(
            done=Count("pk", filter=DONE & STUDY),
            placed=Count("pk", filter=DONE & STUDY & PLACED),
            known=Count("pk", filter=DONE & ~STUDY),
            held=Count("pk", filter=held),
            held_since=Min("created_at", filter=held),
            first_at=Min("first__created_at"),
            newest_at=Max("first__created_at"),
        )
    )
    return sorted((Counted(**row) for row in rows), key=lambda each: each.name)


def people_of(campaign: Campaign) -> QuerySet[Assignment]:
    """What people were asked in a campaign, as a whole or in part."""
    return Assignment.objects.filter(item__campaign=campaign, rater__kind=Rater.Kind.HUMAN)


def by_day(campaign: Campaign, today: date, days: int, rater: int | None = None) -> list[int]:
    """First answers to study items on each of the last days, today's last; revisions are none."""
    since = today - timedelta(days=days - 1)
    answers = Response.objects.filter(
        revision=1,
        created_at__gte=timezone.make_aware(datetime.combine(since, time.min)),
        assignment__item__campaign=campaign,
        assignment__item__use=Item.Use.STUDY,
        assignment__rater__kind=Rater.Kind.HUMAN,
        assignment__slot__isnull=False,
    )
    if rater is not None:
        answers = answers.filter(assignment__rater=rater)
    counted: Mapping[date, int] = dict(
        answers.order_by()
        .annotate(day=TruncDate("created_at"))
        .values_list("day")
        .annotate(number=Count("pk"))
    )
    return [counted.get(since + timedelta(days=n), 0) for n in range(days)]
