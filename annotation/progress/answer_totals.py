"""How many answers a campaign asks people for, and how many exist, imported ones included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, F, IntegerField, Q, Sum
from django.db.models.functions import Coalesce, Least

from annotation.models import Assignment, Campaign, Item, Rater
from annotation.progress.counts import PersonCounts, Total, cached


class AnswerTotals(NamedTuple):
    """A campaign's study items, the answers that it asks people for, and those that exist.

    The items are those that people are asked; in a campaign for judges only, all of them. An item
    counts at most as many answers as it asks for, each by another person.
    """

    items: int
    asked: int
    answered: int

    @property
    def open(self) -> int:
        return self.asked - self.answered


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


def answer_totals(campaign: Campaign) -> AnswerTotals:
    """Count the answers that people are asked for and have given."""
    done = Q(assignments__status=Assignment.Status.DONE, assignments__rater__kind=Rater.Kind.HUMAN)
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY)
    if not campaign.asks_people:
        return AnswerTotals(items.count(), 0, 0)
    items = items.filter(quota__gt=0)
    counted = items.annotate(people=Count("assignments__rater", filter=done, distinct=True))
    given = counted.annotate(counts=Least(F("people"), F("quota"), output_field=IntegerField()))
    found = given.aggregate(
        asked=Coalesce(Sum("quota"), 0), answered=Coalesce(Sum("counts"), 0), items=Count("pk")
    )
    return AnswerTotals(found["items"], found["asked"], found["answered"])
