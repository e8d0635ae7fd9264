"""How many answers a campaign asks people for, and how many exist, imported ones included."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Count, F, IntegerField, Q, Sum
from django.db.models.functions import Coalesce, Least

from annotation.models import Assignment, Campaign, Item, Rater


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
