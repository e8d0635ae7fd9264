"""The ledger of a judge over a campaign: claim, lease, close and count its assignments.

Each request has one assignment. It is open, leased under the lease of one of the run's workers, or
closed. Every change is conditional, so that a late process changes nothing. An assignment whose
worker died gets a strike, which its answer removes. With two strikes it is asked alone, so that it
cannot affect other assignments. With three it is closed.

Transactions over a run and its assignments block other workers, so they must be short
(`datasets.db.locks`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from django.db import connection, transaction
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Item
from datasets.db.prepared import InList, Parameter, PreparedModels, PreparedUpdate, columns_of
from datasets.models import Query
from judging.models import Judge, JudgeCall, JudgeRun, Strike

Status = Assignment.Status
OPEN, LEASED = Status.OPEN, Status.LEASED
ALONE, POISONED = 2, 3
CHUNK = 1000
MAX_POSITIONS = 100
_positions: dict[uuid.UUID, int] = {}
_COLUMNS = ("id", "item_id", "rater_id", "replicate", "scope", "asked", "shown", "attempts")


def open_assignments(
    campaign: int, rater: int, count: int, struck: int, after: int = 0
) -> list[Assignment]:
    """Return up to `count` open assignments with fewer than `struck` strikes and ids over `after`.

    Only the columns needed for requests are loaded.
    """
    if count < 1:
        return []
    found = _open_query(count).all(campaign=campaign, rater=rater, struck=struck, after=after)
    return [assignment for assignment, _ in found]


def lease_assignments(rows: Sequence[Assignment], lease: uuid.UUID) -> int:
    """Lease the assignments that are still open, and return their number."""
    return _lease.run(rows=[row.pk for row in rows], lease=lease) if rows else 0


def attach_items(campaign: Campaign, rows: Iterable[Assignment]) -> None:
    """Attach their items to assignments, which may share items."""
    ids = list(dict.fromkeys(row.item_id for row in rows))
    items = {item.pk: item for item, _ in _items.all(items=ids)} if ids else {}
    for item in items.values():
        item.campaign = campaign
    for row in rows:
        row.item = items[row.item_id]


@cache
def _open_query(count: int) -> PreparedModels[Assignment]:
    """Prepare the query for one `count`, which is part of its SQL."""

    def build() -> QuerySet[Assignment]:
        open_ones = Assignment.objects.filter(
            item__campaign=Parameter("campaign"),
            rater=Parameter("rater"),
            status=Status.OPEN,
            id__gt=Parameter("after"),
        )
        rows = open_ones.exclude(strike__count__gte=Parameter("struck")).order_by("id")
        if connection.features.has_select_for_update_skip_locked:
            # Workers that claim at the same time get different rows.
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        return rows[:count]

    return PreparedModels(build, {"": _COLUMNS})


_lease = PreparedUpdate(
    lambda: Assignment.objects.filter(InList("pk", "rows"), status=Status.OPEN),
    status=Status.LEASED,
    lease=Parameter("lease", Assignment._meta.get_field("lease")),
)
_items = PreparedModels(
    lambda: Item.objects.filter(InList("pk", "items")),
    {"": columns_of(Item), "query": columns_of(Query)},
)


def lock(runs: QuerySet[JudgeRun]) -> None:
    """Lock runs until the transaction ends. Calls can still be stored meanwhile."""
    list(runs.select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))


def assignments_of(campaign: Campaign, judge: Judge) -> QuerySet[Assignment]:
    return Assignment.objects.filter(item__campaign=campaign, rater=judge.rater_id)


def claim(campaign: Campaign, judge: Judge, lease: uuid.UUID, count: int) -> list[Assignment]:
    """Lease the next open assignments in the order of planning, and return them.

    Assignments with two strikes come last, one at a time, and only while nothing else is leased. So
    an empty list may mean that such an assignment is waiting for others to close.
    """
    with transaction.atomic():
        rows = _next(campaign, judge, lease, count)
        rows = _lease_to(lease, rows)
    attach_items(campaign, rows)
    return rows


def _next(campaign: Campaign, judge: Judge, lease: uuid.UUID, count: int) -> list[Assignment]:
    ours = campaign.pk, judge.rater_id, count
    # Without a starting position, PostgreSQL would scan all closed assignments each time.
    rows = open_assignments(*ours, struck=ALONE, after=_positions.get(lease, 0))
    if len(rows) < count:
        rows = open_assignments(*ours, struck=ALONE)
    if rows:
        _remember_position(lease, rows[-1].pk)
    elif count > 0:
        # Of several workers, one at a time looks whether it may ask such an assignment alone.
        lock(JudgeRun.objects.filter(shards__lease=lease))
        if not _leased(campaign, judge).exists():
            struck = assignments_of(campaign, judge).filter(status=OPEN, strike__count__gte=ALONE)
            rows = list(struck.order_by("id")[:1])
    return rows


def _remember_position(lease: uuid.UUID, row: int) -> None:
    """Remember the position reached under a lease. A wrong or missing position does no harm."""
    if len(_positions) > MAX_POSITIONS:
        _positions.clear()
    _positions[lease] = row


def _lease_to(lease: uuid.UUID, rows: list[Assignment]) -> list[Assignment]:
    """Lease assignments and return those that no other process leased first."""
    ids = [row.pk for row in rows]
    ours = Assignment.objects.filter(pk__in=ids)
    if lease_assignments(rows, lease) < len(ids):
        got = set(ours.filter(status=LEASED, lease=lease).values_list("pk", flat=True))
        rows = [row for row in rows if row.pk in got]
    for row in rows:
        row.status, row.lease = LEASED, lease
    return rows


def _leased(campaign: Campaign, judge: Judge) -> QuerySet[Assignment]:
    return assignments_of(campaign, judge).filter(status=LEASED)


def reopen(campaign: Campaign, judge: Judge) -> None:
    """Reopen the leased assignments without a strike. The caller is alone on the run."""
    _leased(campaign, judge).update(status=OPEN, lease=None)


def give_back(campaign: Campaign, judge: Judge, lease: uuid.UUID) -> None:
    """Reopen the assignments of one worker without a strike."""
    _leased(campaign, judge).filter(lease=lease).update(status=OPEN, lease=None)


def has_more(run: JudgeRun) -> bool:
    """Return whether a run has an open assignment that another worker may claim now."""
    rows = assignments_of(run.campaign, run.judge)
    unstruck = rows.filter(status=OPEN).exclude(strike__count__gte=ALONE)
    return unstruck.exists() and left_to_claim(run) != 0


def left_to_claim(run: JudgeRun) -> int | None:
    """Return how many assignments the run's limit leaves for all its workers. None for no limit."""
    if run.limit is None:
        return None
    run.refresh_from_db(fields=["done", "failures"])
    return max(0, run.limit - run.done - run.failed - _leased(run.campaign, run.judge).count())


def take_over(run: JudgeRun, living: Sequence[uuid.UUID] = ()) -> int:
    """Reopen dead workers' assignments, with a strike each. Return how many were closed instead.

    Anything that is leased under no `living` lease belonged to a dead worker.
    """
    campaign, judge = run.campaign, run.judge
    dead = _leased(campaign, judge).exclude(lease__in=living)
    left = list(dead.values_list("pk", flat=True))
    if not left:
        return 0
    for start in range(0, len(left), CHUNK):
        _strike(left[start : start + CHUNK])
    dead.update(status=OPEN, lease=None)
    struck = assignments_of(campaign, judge).filter(status=OPEN, strike__count__gte=POISONED)
    return _poison(run, list(struck))


def _strike(rows: list[int]) -> None:
    existing = Strike.objects.filter(assignment__in=rows)
    struck = set(existing.values_list("assignment", flat=True))
    existing.update(count=F("count") + 1)
    Strike.objects.bulk_create(Strike(assignment_id=row) for row in rows if row not in struck)


def _poison(run: JudgeRun, rows: list[Assignment]) -> int:
    JudgeCall.objects.bulk_create(
        JudgeCall(
            run=run,
            assignment=row,
            attempt=row.attempts + 1,
            state="poisoned",
            seconds=0.0,
            detail="three workers died during this request",
            sent_at=timezone.now(),
        )
        for row in rows
    )
    ids = [row.pk for row in rows]
    Assignment.objects.filter(pk__in=ids).update(
        status=Status.FAILED, reason="error", attempts=F("attempts") + 1
    )
    return len(rows)


def cancel(campaign: Campaign, judge: Judge) -> None:
    """Close the assignments without a result. `revive` opens them again."""
    unfinished = assignments_of(campaign, judge).filter(status__in=(OPEN, LEASED))
    unfinished.update(status=Status.CANCELLED, lease=None)


def revive(campaign: Campaign, judge: Judge) -> None:
    """Reopen the assignments that a cancelled run closed."""
    assignments_of(campaign, judge).filter(status=Status.CANCELLED).update(status=OPEN)


def count_isolated(campaign: Campaign, judge: Judge) -> int:
    """Count the open assignments that are asked alone, since workers died while asking them."""
    return assignments_of(campaign, judge).filter(status=OPEN, strike__count__gte=ALONE).count()


def count_by_status(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """Count the assignments by status."""
    counted = assignments_of(campaign, judge).order_by().values("status").annotate(n=Count("id"))
    return dict(counted.values_list("status", "n"))


def count_missing_reasons(campaign: Campaign, judge: Judge) -> dict[str, int]:
    """Count the failed assignments by missing reason."""
    failed = assignments_of(campaign, judge).filter(status=Status.FAILED)
    return dict(
        failed.order_by().values("reason").annotate(n=Count("id")).values_list("reason", "n")
    )


def count_unfinished(by_status: Mapping[str, int]) -> int:
    """Sum the counts of assignments without a result."""
    return by_status.get(OPEN, 0) + by_status.get(LEASED, 0)


def count_waiting(campaign: Campaign, judge: Judge) -> int:
    """Count the assignments without a result."""
    return assignments_of(campaign, judge).filter(status__in=(OPEN, LEASED)).count()
