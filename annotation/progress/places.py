"""How many of the answers that a campaign asks people for exist, imported ones included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, F, IntegerField, Q, Sum
from django.db.models.functions import Coalesce, Least

from annotation.models import Assignment, Campaign, Item, Rater
from annotation.progress.counts import Counted, Total, cached


class Places(NamedTuple):
    """The study items of a campaign, the number of people's answers to get, and those that exist.

    An item counts at most as many answers as it asks for, each by another person.
    """

    items: int
    asked: int
    answered: int

    @property
    def open(self) -> int:
        return self.asked - self.answered


def places_now(campaign: Campaign, found: Total, people: Sequence[Counted]) -> Places:
    """Like `places_of`, from the counts if nothing was imported; else up to a minute old."""
    placed = sum(each.placed for each in people)
    if placed == sum(each.done for each in people):
        return Places(found.items, found.places, placed)
    return cached(f"places-{campaign.pk}", lambda: (places_of(campaign), found.items))


def places_of(campaign: Campaign) -> Places:
    """Count the answers that people owe and have given, item by item."""
    done = Q(assignments__status=Assignment.Status.DONE, assignments__rater__kind=Rater.Kind.HUMAN)
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    counted = items.annotate(people=Count("assignments__rater", filter=done, distinct=True))
    given = counted.annotate(counts=Least(F("people"), F("quota"), output_field=IntegerField()))
    found = given.aggregate(
        asked=Coalesce(Sum("quota"), 0), answered=Coalesce(Sum("counts"), 0), items=Count("pk")
    )
    return Places(found["items"], found["asked"], found["answered"])
