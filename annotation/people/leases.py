"""Leases: how long an item is reserved for a person, and how its slot is released.

Code that claims or releases a slot locks the assignment first, then the rater, then the item. It
never waits for a lock out of this order, so no two transactions wait for each other.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import DateTimeField, F, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Item, User
from audit.recording import record
from datasets.db.prepared import Parameter, Prepared

Status = Assignment.Status
MAX_LEASE = 366 * 24 * 60


class Ended(StrEnum):
    """Why a lease ended. Its person may claim an item again only after an expired lease."""

    EXPIRED = "expired"
    FREED = "freed"
    LEFT = "left"


EXPIRED = {"status": Status.CANCELLED, "reason": Ended.EXPIRED}


def lease_end(campaign: Campaign) -> datetime | None:
    """Return the end of a lease that starts or is renewed now; None if leases have no end."""
    minutes = campaign.hold_minutes
    return timezone.now() + timedelta(minutes=minutes) if minutes else None


def open_assignments(campaign: Campaign) -> QuerySet[Assignment]:
    """Return the assignments of a campaign that are reserved for people and not answered yet."""
    return Assignment.objects.filter(_is_reserved(), item__campaign=campaign)


def set_lease(campaign: Campaign, minutes: int | None) -> None:
    """Set the length of leases, and renew the current ones with it."""
    campaign.hold_minutes = minutes
    with transaction.atomic():
        campaign.save(update_fields=["hold_minutes"])
        open_assignments(campaign).update(held_until=lease_end(campaign))


def extend(assignment: Assignment) -> None:
    """Renew a lease after a sign of life."""
    campaign = assignment.item.campaign
    if campaign.hold_minutes:
        rows = Assignment.objects.filter(_is_reserved(), pk=assignment.pk)
        rows.update(held_until=lease_end(campaign))


def release_expired(campaign: Campaign) -> int:
    """Release every assignment of a campaign whose lease has expired. Returns their number.

    Call it outside a transaction. A lease that is renewed meanwhile is not released.
    """
    if not campaign.hold_minutes:
        return 0
    now = timezone.now()
    over = _expired.rows(campaign=campaign.pk, now=now)
    return sum(_release(pk, item, Ended.EXPIRED, Q(held_until__lt=now)) for pk, item in over)


def release(assignment: Assignment, why: Ended) -> bool:
    """Release an assignment. Returns False if it is answered or released already."""
    return _release(assignment.pk, assignment.item_id, why)


def free(campaign: Campaign, rater: int) -> int:
    """Release the open assignments of a rater in a campaign. Returns their number."""
    with transaction.atomic():
        freed = _release_rows(open_assignments(campaign).filter(rater=rater), Ended.FREED)
        if freed:
            record("places.freed", campaign.pk, ("rater", rater), places=freed)
    return freed


def release_all(user: User, why: Ended, campaign: Campaign | None = None) -> int:
    """Release the open assignments of an account, in one campaign or in all."""
    mine = Assignment.objects.filter(_is_reserved(), rater__user=user)
    if campaign is not None:
        mine = mine.filter(item__campaign=campaign)
    with transaction.atomic():
        return _release_rows(mine, why)


def release_others(users: QuerySet[User], campaign: Campaign) -> int:
    """Release the open assignments of all other accounts in a campaign. They may be reclaimed."""
    others = open_assignments(campaign).exclude(rater__user=None).exclude(rater__user__in=users)
    with transaction.atomic():
        return _release_rows(others, Ended.EXPIRED)


def _release_rows(rows: QuerySet[Assignment], why: Ended) -> int:
    # Lock all assignments before any item, and items always in the same order, because a person who
    # saves at the same time has locked an assignment and may wait for an item.
    locked = list(rows.select_for_update(of=("self",)).order_by("pk"))
    return sum(release(each, why) for each in sorted(locked, key=lambda a: a.item_id))


def _release(pk: int, item: int, why: Ended, also: Q | None = None) -> bool:
    rows = Assignment.objects.filter(_is_reserved(), also or Q(), pk=pk)
    with transaction.atomic():
        back = rows.update(status=Status.CANCELLED, reason=why, slot=None, held_until=None)
        if back:
            Item.objects.filter(pk=item).update(taken=F("taken") - 1)
    return bool(back)


def _is_reserved() -> Q:
    return Q(status=Status.OPEN, slot__isnull=False)


def _expired_query() -> QuerySet[Assignment, tuple[int, int]]:
    over = Q(held_until__lt=Parameter("now", DateTimeField()))
    rows = Assignment.objects.filter(_is_reserved(), over, item__campaign=Parameter("campaign"))
    return rows.order_by("pk").values_list("pk", "item")


_expired = Prepared(_expired_query)
