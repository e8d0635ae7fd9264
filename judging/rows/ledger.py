"""The ledger of a judge over a campaign: one assignment for each request that is to be answered.

Rows are open, leased to the holder of the run's lease, or closed. Every change is conditional, so
that whoever comes late changes nothing. A row whose holder died gets a strike, which its answer
takes away again: at two it is given out alone, so that it harms no other, at three it is closed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from django.db.models import Count, F, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging.models import Judge, JudgeCall, JudgeRun, Strike
from judging.rows.leasing import bring_items, free_rows, lease_rows

Status = Assignment.Status
OPEN, LEASED = Status.OPEN, Status.LEASED
ALONE, POISONED = 2, 3
CHUNK = 1000
MOST_REACHED = 100
_reached: dict[uuid.UUID, int] = {}


def rows_of(campaign: Campaign, judge: Judge) -> QuerySet[Assignment]:
    return Assignment.objects.filter(item__campaign=campaign, rater=judge.rater_id)


def claim(campaign: Campaign, judge: Judge, lease: uuid.UUID, count: int) -> list[Assignment]:
    """Leases the next open rows, in the order in which they were planned, and returns them.

    Rows with two strikes come last, one at a time, and only while nothing else is leased: an empty
    list may mean that such a row waits for others to be closed.
    """
    ours = campaign.pk, judge.rater_id, count
    # Without a place to begin, PostgreSQL would walk over all rows that are closed, each time.
    rows = free_rows(*ours, struck=ALONE, after=_reached.get(lease, 0))
    if len(rows) < count:
        rows = free_rows(*ours, struck=ALONE)
    if not rows and count > 0 and not _leased(campaign, judge).exists():
        struck = rows_of(campaign, judge).filter(status=OPEN, strike__count__gte=ALONE)
        rows = list(struck.order_by("id")[:1])
    elif rows:
        _reach(lease, rows[-1].pk)
    rows = _leased_to(lease, rows)
    bring_items(campaign, rows)
    return rows


def _reach(lease: uuid.UUID, row: int) -> None:
    """Remembers how far the holder of a lease has come; wrongly or not at all does no harm."""
    if len(_reached) > MOST_REACHED:
        _reached.clear()
    _reached[lease] = row


def _leased_to(lease: uuid.UUID, rows: list[Assignment]) -> list[Assignment]:
    """The rows that nobody was quicker to lease."""
    ids = [row.pk for row in rows]
    ours = Assignment.objects.filter(pk__in=ids)
    if lease_rows(rows, lease) < len(ids):
        got = set(ours.filter(status=LEASED, lease=lease).values_list("pk", flat=True))
        rows = [row for row in rows if row.pk in got]
    for row in rows:
        row.status, row.lease = LEASED, lease
    return rows


def _leased(campaign: Campaign, judge: Judge) -> QuerySet[Assignment]:
    return rows_of(campaign, judge).filter(status=LEASED)


def reopen(campaign: Campaign, judge: Judge) -> None:
    """Gives back what is leased, in good order; for whoever holds the run's lease."""
    _leased(campaign, judge).update(status=OPEN, lease=None)


def take_over(run: JudgeRun) -> int:
    """Gives back what a dead holder left, each row with a strike; how many rows were closed by it.

    For whoever has just taken the lease: what is leased then was in the hands of one who died.
    """
    campaign, judge = run.campaign, run.judge
    left = list(_leased(campaign, judge).values_list("pk", flat=True))
    for start in range(0, len(left), CHUNK):
        _strike(left[start : start + CHUNK])
    _leased(campaign, judge).update(status=OPEN, lease=None)
    struck = rows_of(campaign, judge).filter(status=OPEN, strike__count__gte=POISONED)
    return _poison(run, list(struck)) if left else 0


def _strike(rows: list[int]) -> None:
    there = Strike.objects.filter(assignment__in=rows)
    known = set(there.values_list("assignment", flat=True))
    there.update(count=F("count") + 1)
    Strike.objects.bulk_create(Strike(assignment_id=row) for row in rows if row not in known)


def _poison(run: JudgeRun, rows: list[Assignment]) -> int:
    JudgeCall.objects.bulk_create(
        JudgeCall(
            run=run, assignment=row, attempt=row.attempts + 1, state="poisoned", seconds=0.0,
            detail="three workers died while they held it",
            sent_at=timezone.now(),
        )
        for row in rows
    )  # fmt: skip
    ids = [row.pk for row in rows]
    Assignment.objects.filter(pk__in=ids).update(
        status=Status.FAILED, reason="error", lease=None, attempts=F("attempts") + 1
    )
    return len(rows)


def cancel(campaign: Campaign, judge: Judge) -> None:
    """Closes what has no result yet; `revive` opens it again."""
    unfinished = rows_of(campaign, judge).filter(status__in=(OPEN, LEASED))
    unfinished.update(status=Status.CANCELLED, lease=None)


def revive(campaign: Campaign, judge: Judge) -> None:
    """Opens the rows again that a cancelled run had closed."""
    rows_of(campaign, judge).filter(status=Status.CANCELLED).update(status=OPEN)


def set_aside(campaign: Campaign, judge: Judge) -> int:
    """How many open rows are given out alone, as workers died while they held them."""
    return rows_of(campaign, judge).filter(status=OPEN, strike__count__gte=ALONE).count()


def standing(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """How many rows there are by status."""
    counted = rows_of(campaign, judge).order_by().values("status").annotate(n=Count("id"))
    return dict(counted.values_list("status", "n"))


def reasons(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """How many rows failed, by reason."""
    failed = rows_of(campaign, judge).filter(status=Status.FAILED)
    return dict(
        failed.order_by().values("reason").annotate(n=Count("id")).values_list("reason", "n")
    )


def unclosed(standing: Mapping[str, int]) -> int:
    """How many of the rows by status have no result yet."""
    return standing.get(OPEN, 0) + standing.get(LEASED, 0)


def waiting(campaign: Campaign, judge: Judge) -> int:
    """How many rows have no result yet."""
    return rows_of(campaign, judge).filter(status__in=(OPEN, LEASED)).count()
