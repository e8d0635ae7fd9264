"""Leases: how long an item is reserved for a person, and how its slot is released.

Code that takes or releases a slot locks the assignment first, then the rater, then the item, and
waits for no lock out of this order, so that no two transactions wait for each other.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import DateTimeField, F, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Item, User
from audit.recording import record
from datasets.db.prepared import Given, Prepared

Status = Assignment.Status
MAX_LEASE = 366 * 24 * 60


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


def free(campaign: Campaign, rater: int) -> int:
    """Takes the places back that a rater holds in a campaign; how many went back."""
    with transaction.atomic():
        freed = _give_back_rows(held(campaign).filter(rater=rater), Ended.FREED)
        if freed:
            record("places.freed", campaign.pk, ("rater", rater), places=freed)
    return freed


def give_back_all(user: User, why: Ended, campaign: Campaign | None = None) -> int:
    """The same for all places that a person holds, in one campaign or everywhere."""
    mine = Assignment.objects.filter(_is_held(), rater__user=user)
    if campaign is not None:
        mine = mine.filter(item__campaign=campaign)
    with transaction.atomic():
        return _give_back_rows(mine, why)


def give_back_but_of(users: QuerySet[User], campaign: Campaign) -> int:
    """Gives back what other accounts hold in a campaign; they may take it again."""
    others = held(campaign).exclude(rater__user=None).exclude(rater__user__in=users)
    with transaction.atomic():
        return _give_back_rows(others, Ended.EXPIRED)


def _give_back_rows(rows: QuerySet[Assignment], why: Ended) -> int:
    # All assignments before any item, which go in one order for everybody: a person who saves
    # meanwhile holds an assignment, and may wait for an item.
    locked = list(rows.select_for_update(of=("self",)).order_by("pk"))
    return sum(give_back(each, why) for each in sorted(locked, key=lambda a: a.item_id))


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
