"""The ledger of a judge over a campaign: one assignment for each request that is to be answered.

Rows are open, leased to the holder of the run's lease, or closed. Every change is conditional, so
that whoever comes late changes nothing.
"""

from __future__ import annotations

import uuid

from django.db.models import Count, QuerySet

from annotation.models import Assignment, Campaign
from judging.models import Judge

OPEN, LEASED = Assignment.Status.OPEN, Assignment.Status.LEASED


def rows_of(campaign: Campaign, judge: Judge) -> QuerySet[Assignment]:
    return Assignment.objects.filter(item__campaign=campaign, rater=judge.rater_id)


def claim(campaign: Campaign, judge: Judge, lease: uuid.UUID, count: int) -> list[Assignment]:
    """Leases the next open rows, in the order of the campaign, and returns those it got."""
    free = rows_of(campaign, judge).filter(status=OPEN).order_by("item__position", "id")
    ids = list(free.values_list("id", flat=True)[:count])
    Assignment.objects.filter(id__in=ids, status=OPEN).update(status=LEASED, lease=lease)
    mine = Assignment.objects.filter(id__in=ids, status=LEASED, lease=lease)
    return list(
        mine.select_related("item__campaign", "item__query").order_by("item__position", "id")
    )


def reopen(campaign: Campaign, judge: Judge) -> None:
    """Gives back whatever a dead holder left leased; for whoever has just taken the lease."""
    rows_of(campaign, judge).filter(status=LEASED).update(status=OPEN, lease=None)


def standing(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """How many rows there are by status."""
    counted = rows_of(campaign, judge).order_by().values("status").annotate(n=Count("id"))
    return dict(counted.values_list("status", "n"))


def reasons(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """How many rows failed, by reason."""
    failed = rows_of(campaign, judge).filter(status=Assignment.Status.FAILED)
    return dict(
        failed.order_by().values("reason").annotate(n=Count("id")).values_list("reason", "n")
    )


def waiting(campaign: Campaign, judge: Judge) -> int:
    """How many rows have no result yet."""
    return rows_of(campaign, judge).filter(status__in=(OPEN, LEASED)).count()
