"""Places that people hold for a time: how long, and how they go back.

One place goes back in one transaction, which holds its assignment first and its item then, and
nothing besides. So nobody waits in a circle: whoever takes a place holds only its item.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import DateTimeField, F, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Item, User
from datasets.prepared import Given, Prepared

Status = Assignment.Status
LONGEST = 366 * 24 * 60


class Ended(StrEnum):
    """Why a place went back; an expired one may be taken again by whoever held it."""

    EXPIRED = "expired"
    FREED = "freed"
    LEFT = "left"


EXPIRED = {"status": Status.CANCELLED, "reason": Ended.EXPIRED}


def until(campaign: Campaign) -> datetime | None:
    """Until when a place is held that is taken, or used, now; None for good."""
    minutes = campaign.hold_minutes
    return timezone.now() + timedelta(minutes=minutes) if minutes else None


def held(campaign: Campaign) -> QuerySet[Assignment]:
    """The places of a campaign that people hold and have not answered yet."""
    return Assignment.objects.filter(_is_held(), item__campaign=campaign)


def set_hold(campaign: Campaign, minutes: int | None) -> None:
    """Sets how long a place is held, from now on, for those that are held already too."""
    campaign.hold_minutes = minutes
    with transaction.atomic():
        campaign.save(update_fields=["hold_minutes"])
        held(campaign).update(held_until=until(campaign))


def extend(assignment: Assignment) -> None:
    """A sign of life: the place is held as long again."""
    campaign = assignment.item.campaign
    if campaign.hold_minutes:
        rows = Assignment.objects.filter(_is_held(), pk=assignment.pk)
        rows.update(held_until=until(campaign))


def return_expired(campaign: Campaign) -> int:
    """Gives back every place of a campaign whose time has run out. Call it outside a transaction.

    How many went back. A place that is used meanwhile stays with its person.
    """
    if not campaign.hold_minutes:
        return 0
    now = timezone.now()
    over = _over.rows(campaign=campaign.pk, now=now)
    return sum(_give_back(pk, item, Ended.EXPIRED, Q(held_until__lt=now)) for pk, item in over)


def give_back(assignment: Assignment, why: Ended) -> bool:
    """Gives back a place that somebody holds; False where it is answered, or back, already."""
    return _give_back(assignment.pk, assignment.item_id, why)


def give_back_all(user: User, why: Ended, campaign: Campaign | None = None) -> int:
    """The same for all places that a person holds, in one campaign or everywhere."""
    mine = Assignment.objects.filter(_is_held(), rater__user=user)
    if campaign is not None:
        mine = mine.filter(item__campaign=campaign)
    # In one order for everybody, since several may stand in one transaction here.
    return sum(give_back(each, why) for each in mine.order_by("item"))


def _give_back(pk: int, item: int, why: Ended, also: Q | None = None) -> bool:
    rows = Assignment.objects.filter(_is_held(), also or Q(), pk=pk)
    with transaction.atomic():
        back = rows.update(status=Status.CANCELLED, reason=why, slot=None, held_until=None)
        if back:
            Item.objects.filter(pk=item).update(taken=F("taken") - 1)
    return bool(back)


def _is_held() -> Q:
    return Q(status=Status.OPEN, slot__isnull=False)


def _over_query() -> QuerySet[Assignment, tuple[int, int]]:
    over = Q(held_until__lt=Given("now", DateTimeField()))
    rows = Assignment.objects.filter(_is_held(), over, item__campaign=Given("campaign"))
    return rows.order_by("pk").values_list("pk", "item")


_over = Prepared(_over_query)
