"""The ledger of a judge over a campaign: plan, claim, lease and close its assignments.

Each request has one assignment. It is open, leased under the run's lease, or closed. Every change
is conditional, so that a late process changes nothing. An assignment whose worker died gets a
strike, which its answer removes. With two strikes it is asked alone, so that it harms no other
assignment. With three it is closed. Planning is idempotent.

Transactions over a run and its assignments block other workers, so they must be short
(`brief_transaction`). A trial repeats whole items, in the order of a hash of the seed and their
keys. So a larger sample contains every smaller one with the same seed.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, islice
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from annotation.assignments.queue import order_for
from annotation.models import Assignment, Campaign, Item, Unit
from annotation.prerequisites import ready_for_judges, units_asked_of_judges
from annotation.prerequisites.base import prerequisite_of
from annotation.presentation import design, preload, present
from annotation.registry import declared
from datasets.db.prepared import (
    Among,
    Parameter,
    PreparedInsert,
    PreparedModels,
    PreparedUpdate,
    columns_of,
)
from datasets.models import Query
from judging.models import Judge, JudgeCall, JudgeRun, Strike
from judging.prompts.isolation import needs_texts, orders, request_parts
from judging.prompts.perturbations import is_unconstrained, order_of_fields

Status = Assignment.Status
OPEN, LEASED = Status.OPEN, Status.LEASED
ALONE, POISONED = 2, 3
CHUNK = 1000
MAX_POSITIONS = 100
IDLE_SECONDS = 30
SHARE, LEAST_UNITS = 0.05, 200
UNCONSTRAINED_SHARE = 0.02
CHUNK_ASSIGNMENTS, INSERT_SIZE = 1000, 100
PRESENTED = 50  # items whose texts are loaded at once; no more are kept
_positions: dict[uuid.UUID, int] = {}
_COLUMNS = ("id", "item_id", "rater_id", "replicate", "scope", "asked", "shown", "attempts")


def open_assignments(
    campaign: int, rater: int, count: int, struck: int, after: int = 0
) -> list[Assignment]:
    """Return up to `count` open assignments with fewer than `struck` strikes and ids over `after`.

    They have the columns that asking needs.
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
        return open_ones.exclude(strike__count__gte=Parameter("struck")).order_by("id")[:count]

    return PreparedModels(build, {"": _COLUMNS})


_lease = PreparedUpdate(
    lambda: Assignment.objects.filter(Among("pk", "rows"), status=Status.OPEN),
    status=Status.LEASED,
    lease=Parameter("lease", Assignment._meta.get_field("lease")),
)
_items = PreparedModels(
    lambda: Item.objects.filter(Among("pk", "items")),
    {"": columns_of(Item), "query": columns_of(Query)},
)


@contextmanager
def brief_transaction() -> Iterator[None]:
    """A transaction that PostgreSQL ends if this process freezes within it.

    Its locks would keep other workers from taking over the run, and after such a pause the process
    has lost its lease anyway. SQLite has no such limit.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
        yield


def assignments_of(campaign: Campaign, judge: Judge) -> QuerySet[Assignment]:
    return Assignment.objects.filter(item__campaign=campaign, rater=judge.rater_id)


def claim(campaign: Campaign, judge: Judge, lease: uuid.UUID, count: int) -> list[Assignment]:
    """Lease the next open assignments in the order of planning, and return them.

    Assignments with two strikes come last, one at a time, and only while nothing else is leased. So
    an empty list may mean that such an assignment waits until others are closed.
    """
    ours = campaign.pk, judge.rater_id, count
    # Without a starting position, PostgreSQL would scan all closed assignments each time.
    rows = open_assignments(*ours, struck=ALONE, after=_positions.get(lease, 0))
    if len(rows) < count:
        rows = open_assignments(*ours, struck=ALONE)
    if not rows and count > 0 and not _leased(campaign, judge).exists():
        struck = assignments_of(campaign, judge).filter(status=OPEN, strike__count__gte=ALONE)
        rows = list(struck.order_by("id")[:1])
    elif rows:
        _remember_position(lease, rows[-1].pk)
    rows = _lease_to(lease, rows)
    attach_items(campaign, rows)
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
    """Reopen the leased assignments without a strike. The caller has the run's lease."""
    _leased(campaign, judge).update(status=OPEN, lease=None)


def take_over(run: JudgeRun) -> int:
    """Reopen what a dead worker left, with a strike each, and return how many were closed by it.

    The caller has just acquired the run's lease, so anything still leased belonged to a dead
    worker.
    """
    campaign, judge = run.campaign, run.judge
    left = list(_leased(campaign, judge).values_list("pk", flat=True))
    for start in range(0, len(left), CHUNK):
        _strike(left[start : start + CHUNK])
    _leased(campaign, judge).update(status=OPEN, lease=None)
    struck = assignments_of(campaign, judge).filter(status=OPEN, strike__count__gte=POISONED)
    return _poison(run, list(struck)) if left else 0


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
        status=Status.FAILED, reason="error", lease=None, attempts=F("attempts") + 1
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


@dataclass(frozen=True)
class TrialSample:
    """How much of a judge's answers a trial repeats.

    Without a number of `items`, as many items as contain the `share` of the units, and at least
    `LEAST_UNITS` units if there are so many.
    """

    items: int | None = None
    share: float = SHARE


def trial_sample_for(trial: Judge, items: int | None) -> TrialSample:
    """Return the sample of a trial. Without a number of items the share depends on its kind."""
    return TrialSample(items, UNCONSTRAINED_SHARE if is_unconstrained(trial) else SHARE)


@dataclass
class _AnsweredItem:
    key: str
    units: int = 0
    rows: list[Assignment] = field(default_factory=list)


def sample_assignments(
    campaign: Campaign, base: Judge, sample: TrialSample, seed: int
) -> list[Assignment]:
    """Return the base judge's assignments that a trial repeats, grouped by item."""
    items = _answered(campaign, base)
    ranked = sorted(items, key=lambda item: _rank(seed, item.key))
    target = max(LEAST_UNITS, sample.share * sum(item.units for item in items))
    if sample.items is not None:
        return [row for item in ranked[: sample.items] for row in item.rows]
    before = accumulate((item.units for item in ranked), initial=0)
    return [
        row
        for item, units in zip(ranked, before, strict=False)
        if units < target
        for row in item.rows
    ]


def _answered(campaign: Campaign, base: Judge) -> list[_AnsweredItem]:
    rows = assignments_of(campaign, base).filter(status=Assignment.Status.DONE, replicate=0)
    items: dict[int, _AnsweredItem] = {}
    for row in rows.select_related("item").order_by("item__position", "id").iterator(2000):
        item = items.setdefault(row.item_id, _AnsweredItem(row.item.key))
        item.rows.append(row)
        item.units += len(row.asked)
    return list(items.values())


def _rank(seed: int, key: str) -> str:
    return hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()


class _NewAssignment(NamedTuple):
    """An assignment to create unless it exists."""

    item: Item
    scope: str
    asked: list[str]
    replicate: int = 0
    shown: list[str] = []


def plan(campaign: Campaign, judge: Judge) -> None:
    """Create the missing assignments, one per item or per unit. A repetition does nothing.

    A judge with several samples has each assignment as often, as replicates from 0. Assignments of
    a trial are planned by `plan_trial` alone.
    """
    if judge.base_id is None:
        _create(judge, _repeat(_missing(campaign, judge), judge))


def missing_assignments(campaign: Campaign, judge: Judge) -> Iterator[Assignment]:
    """Yield the assignments that `plan` would create, unsaved."""
    if judge.base_id is None:
        for together in _repeat(_missing(campaign, judge), judge):
            for row in together:
                yield Assignment(rater=judge.rater, **row._asdict())


def plan_trial(campaign: Campaign, trial: Judge, sample: TrialSample) -> int:
    """Create the missing assignments of a trial: copies of sampled assignments of its base.

    Return the number of units that the trial is asked in all. Existing assignments stay.
    """
    if trial.base is None:
        raise ValueError(f"{trial} is no trial")
    existing = set(assignments_of(campaign, trial).values_list("item", "scope"))
    rows = sample_assignments(campaign, trial.base, sample, trial.variation["seed"])
    _create(
        trial,
        (
            [
                _NewAssignment(
                    row.item, row.scope, row.asked, shown=_text_order(row, campaign, trial)
                )
            ]
            for row in rows
            if (row.item_id, row.scope) not in existing
        ),
    )
    return sum(
        len(asked) for asked in assignments_of(campaign, trial).values_list("asked", flat=True)
    )


def _text_order(row: Assignment, campaign: Campaign, trial: Judge) -> list[str]:
    """Return the fields of the texts in the trial's order. Empty for the item's own order."""
    row.item.campaign = campaign
    return order_of_fields(trial, row.item, row.shown)


def sample_count(judge: Judge) -> int:
    """Return how often a judge is asked the same request."""
    return int(judge.params.get("samples", 1))


def _repeat(rows: Iterator[_NewAssignment], judge: Judge) -> Iterator[list[_NewAssignment]]:
    """Yield the replicates of each assignment, which are created together."""
    samples = sample_count(judge)
    for row in rows:
        shown = orders(judge, present(row.item), samples) if judge.file else [[]] * samples
        yield [row._replace(replicate=n, shown=order) for n, order in enumerate(shown)]


def _create(judge: Judge, rows: Iterable[list[_NewAssignment]]) -> None:
    chunk: list[_NewAssignment] = []
    for together in rows:
        chunk += together
        if len(chunk) >= CHUNK_ASSIGNMENTS:
            _insert_new(judge, chunk)
            chunk = []
    _insert_new(judge, chunk)


def _insert_new(judge: Judge, rows: list[_NewAssignment]) -> None:
    """Insert the assignments that do not exist, in one transaction."""
    values = (_values(judge, row) for row in rows)
    with transaction.atomic():
        while some := list(islice(values, INSERT_SIZE)):
            _insert.rows(some)


def _values(judge: Judge, row: _NewAssignment) -> tuple[Any, ...]:
    """Return the values of a new assignment in the order of `_PLANNED_COLUMNS`."""
    return (
        uuid.uuid4(),
        row.item.pk,
        judge.rater_id,
        row.replicate,
        row.scope,
        row.asked,
        row.shown,
        Assignment.Status.OPEN.value,
        "",
        {},
        0,
        "",
        timezone.now(),
    )


def _missing(campaign: Campaign, judge: Judge) -> Iterator[_NewAssignment]:
    existing = set(assignments_of(campaign, judge).values_list("item", "scope"))
    follows = bool(prerequisite_of(campaign))
    items = (_ready_items_with_units if follows else _items_with_units)(campaign, judge)
    if needs_texts(judge, campaign.protocol):
        items = _with_texts(campaign, items)
    for item, names in items:
        # A judge that was asked about whole items before goes on as it began.
        before = (item.pk, "") in existing
        for scope, part in [("", names)] if before else request_parts(judge, item, names):
            if (item.pk, scope) not in existing:
                yield _NewAssignment(item, scope, part)
            elif follows:
                # Units added for people after the judge's assignment was created are kept separate.
                yield from (
                    _NewAssignment(item, n, [n]) for n in part if (item.pk, n) not in existing
                )


def _with_texts(
    campaign: Campaign, items: Iterator[tuple[Item, list[str]]]
) -> Iterator[tuple[Item, list[str]]]:
    """Load the texts of many items at once."""
    while some := list(islice(items, PRESENTED)):
        queries = Query.objects.in_bulk({item.query_id for item, _ in some})
        for item, _ in some:
            item.campaign, item.query = campaign, queries[item.query_id]
        preload(campaign, [item for item, _ in some])
        yield from some


def _ready_items_with_units(campaign: Campaign, judge: Judge) -> Iterator[tuple[Item, list[str]]]:
    """Yield items with the units that can be asked by now, in a campaign with a prerequisite.

    An item that is not ready gets its assignment when the judge runs again. Units that already have
    an assignment are left out.
    """
    planned: dict[int, set[str]] = {}
    for item_id, names in assignments_of(campaign, judge).values_list("item", "asked"):
        planned.setdefault(item_id, set()).update(names)
    ready = set(campaign.items.filter(ready_for_judges(campaign)).values_list("pk", flat=True))
    for item, names in _items_with_units(campaign, judge):
        if item.pk in ready:
            new = [
                n for n in units_asked_of_judges(item, names) if n not in planned.get(item.pk, ())
            ]
            if new:
                yield item, new


def _items_with_units(campaign: Campaign, judge: Judge) -> Iterator[tuple[Item, list[str]]]:
    """Yield the items with the names of their units, in the order that this judge is shown.

    Texts keep the item's own order for judges, so a pair's first text is shown first.
    """
    default = "random" if declared(campaign).shuffled else "fixed"
    if (design(campaign).order or default) == "random":
        every = iter(list(campaign.items.select_related("query").order_by("position")))
        while some := list(islice(every, PRESENTED)):
            for item in some:
                item.campaign = campaign
            preload(campaign, some)
            yield from ((item, order_for(item, judge.rater)[0]) for item in some)
        return
    units: dict[int, list[str]] = {}
    named = Unit.objects.filter(item__campaign=campaign).order_by("item", "position")
    for item_id, name in named.values_list("item", "name"):
        units.setdefault(item_id, []).append(name)
    yield from ((item, units[item.pk]) for item in campaign.items.order_by("position"))


_PLANNED_COLUMNS = (
    "uid",
    "item_id",
    "rater_id",
    "replicate",
    "scope",
    "asked",
    "shown",
    "status",
    "reason",
    "missing",
    "attempts",
    "assisted_by",
    "created_at",
)
_insert = PreparedInsert(Assignment, _PLANNED_COLUMNS, new_only=True)
