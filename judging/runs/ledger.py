"""The ledger of a judge over a campaign: planning, claiming, leasing and closing its rows.

There is one row, an assignment, for each request. A row is open, leased to the holder of the run's
lease, or closed. Every change is conditional, so that a process that comes late changes nothing. A
row whose holder died gets a strike, which its answer removes: with two strikes it is given out
alone, so that it harms no other row, with three it is closed. Planning again does no harm.

Transactions over a run and its rows block other workers, so they must be short
(`brief_transaction`). A trial repeats whole items, in the order of a hash of the seed and their
keys; so a larger sample contains every smaller one with the same seed.
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
from annotation.prerequisites import asked_of_judges, ready_for_judges
from annotation.prerequisites.base import prerequisite_of
from annotation.presentation import design
from annotation.registry import declared
from datasets.db.prepared import (
    Among,
    Given,
    PreparedInsert,
    PreparedModels,
    PreparedUpdate,
    columns_of,
)
from datasets.models import Query
from judging.models import Judge, JudgeCall, JudgeRun, Strike
from judging.prompts.perturbations import is_unconstrained, order_of_fields

Status = Assignment.Status
_COLUMNS = ("id", "item_id", "rater_id", "replicate", "scope", "asked", "shown", "attempts")


def free_rows(
    campaign: int, rater: int, count: int, struck: int, after: int = 0
) -> list[Assignment]:
    """The first so many open rows with fewer strikes than `struck`; they hold what asking needs.

    Those with ids up to `after` are left out.
    """
    if count < 1:
        return []
    found = _free(count).all(campaign=campaign, rater=rater, struck=struck, after=after)
    return [row for row, _ in found]


def lease_rows(rows: Sequence[Assignment], lease: uuid.UUID) -> int:
    """How many of the rows were still open, and are leased now."""
    return _lease.run(rows=[row.pk for row in rows], lease=lease) if rows else 0


def bring_items(campaign: Campaign, rows: Iterable[Assignment]) -> None:
    """Gives the rows their items, each of which many rows may share."""
    wanted = list(dict.fromkeys(row.item_id for row in rows))
    items = {item.pk: item for item, _ in _items.all(items=wanted)} if wanted else {}
    for item in items.values():
        item.campaign = campaign
    for row in rows:
        row.item = items[row.item_id]


@cache
def _free(count: int) -> PreparedModels[Assignment]:
    """The SQL holds the number; a pump claims a few different ones."""

    def make() -> QuerySet[Assignment]:
        open_ones = Assignment.objects.filter(
            item__campaign=Given("campaign"),
            rater=Given("rater"),
            status=Status.OPEN,
            id__gt=Given("after"),
        )
        return open_ones.exclude(strike__count__gte=Given("struck")).order_by("id")[:count]

    return PreparedModels(make, {"": _COLUMNS})


_lease = PreparedUpdate(
    lambda: Assignment.objects.filter(Among("pk", "rows"), status=Status.OPEN),
    status=Status.LEASED,
    lease=Given("lease", Assignment._meta.get_field("lease")),
)
_items = PreparedModels(
    lambda: Item.objects.filter(Among("pk", "items")),
    {"": columns_of(Item), "query": columns_of(Query)},
)


IDLE_SECONDS = 30


@contextmanager
def brief_transaction() -> Iterator[None]:
    """A transaction that PostgreSQL ends where our process freezes within it.

    Its locks would keep every other worker from taking the run over, and whoever sleeps for so long
    has no lease to write by any more. A file's lock stays with whoever has it.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
        yield


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
            run=run,
            assignment=row,
            attempt=row.attempts + 1,
            state="poisoned",
            seconds=0.0,
            detail="three workers died while they held it",
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


SHARE, LEAST_UNITS = 0.05, 200
UNCONSTRAINED_SHARE = 0.02


@dataclass(frozen=True)
class Draw:
    """How much of what a judge has answered is asked again.

    `items` of them; without a number, as many as hold the `share` of the units, and at least
    `LEAST_UNITS` units, as far as there are so many.
    """

    items: int | None = None
    share: float = SHARE


def draw_for(trial: Judge, items: int | None) -> Draw:
    """How much a trial asks again where nobody says how many items."""
    return Draw(items, UNCONSTRAINED_SHARE if is_unconstrained(trial) else SHARE)


@dataclass
class _Answered:
    key: str
    units: int = 0
    rows: list[Assignment] = field(default_factory=list)


def drawn(campaign: Campaign, base: Judge, draw: Draw, seed: int) -> list[Assignment]:
    """The rows of the base judge that are asked again, each item's together."""
    items = _answered(campaign, base)
    ranked = sorted(items, key=lambda item: _rank(seed, item.key))
    wanted = max(LEAST_UNITS, draw.share * sum(item.units for item in items))
    if draw.items is not None:
        return [row for item in ranked[: draw.items] for row in item.rows]
    before = accumulate((item.units for item in ranked), initial=0)
    return [
        row
        for item, units in zip(ranked, before, strict=False)
        if units < wanted
        for row in item.rows
    ]


def _answered(campaign: Campaign, base: Judge) -> list[_Answered]:
    rows = rows_of(campaign, base).filter(status=Assignment.Status.DONE, replicate=0)
    items: dict[int, _Answered] = {}
    for row in rows.select_related("item").order_by("item__position", "id").iterator(2000):
        item = items.setdefault(row.item_id, _Answered(row.item.key))
        item.rows.append(row)
        item.units += len(row.asked)
    return list(items.values())


def _rank(seed: int, key: str) -> str:
    return hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()


ROWS_AT_ONCE, STATEMENT = 1000, 100


class _Row(NamedTuple):
    """A row that is to be made, unless it is there."""

    item: Item
    scope: str
    asked: list[str]
    replicate: int = 0
    shown: list[str] = []


def plan(campaign: Campaign, judge: Judge) -> None:
    """Makes the rows that are missing: one an item, or one a unit. Doing it twice does nothing.

    A judge that asks several times has each of its rows as often, as replicates from 0. The rows of
    a trial are drawn by `plan_trial` alone.
    """
    if judge.base_id is None:
        _make(judge, _repeated(_missing(campaign, judge), samples_of(judge)))


def unplanned(campaign: Campaign, judge: Judge) -> Iterator[Assignment]:
    """The rows that `plan` would make, unsaved."""
    if judge.base_id is None:
        for together in _repeated(_missing(campaign, judge), samples_of(judge)):
            for row in together:
                yield Assignment(rater=judge.rater, **row._asdict())


def plan_trial(campaign: Campaign, trial: Judge, draw: Draw) -> int:
    """Makes the rows of a trial that are missing: copies of drawn rows of its base.

    How many units the trial is asked in all. What was drawn before stays.
    """
    if trial.base is None:
        raise ValueError(f"{trial} is no trial")
    there = set(rows_of(campaign, trial).values_list("item", "scope"))
    rows = drawn(campaign, trial.base, draw, trial.variation["seed"])
    _make(
        trial,
        (
            [_Row(row.item, row.scope, row.asked, shown=_shown(row, campaign, trial))]
            for row in rows
            if (row.item_id, row.scope) not in there
        ),
    )
    return sum(len(asked) for asked in rows_of(campaign, trial).values_list("asked", flat=True))


def _shown(row: Assignment, campaign: Campaign, trial: Judge) -> list[str]:
    """The fields of the texts in the order of this trial; none where it is the item's own."""
    row.item.campaign = campaign
    return order_of_fields(trial, row.item, row.shown)


def samples_of(judge: Judge) -> int:
    """How often a judge is asked the same."""
    return int(judge.params.get("samples", 1))


def _repeated(rows: Iterator[_Row], samples: int) -> Iterator[list[_Row]]:
    """Each row as often as it is asked; these are made together or not at all."""
    for row in rows:
        yield [row._replace(replicate=n) for n in range(samples)]


def _make(judge: Judge, rows: Iterable[list[_Row]]) -> None:
    chunk: list[_Row] = []
    for together in rows:
        chunk += together
        if len(chunk) >= ROWS_AT_ONCE:
            _write(judge, chunk)
            chunk = []
    _write(judge, chunk)


def _write(judge: Judge, rows: list[_Row]) -> None:
    """Writes those rows down that are not there, all of them or none."""
    values = (_values(judge, row) for row in rows)
    with transaction.atomic():
        while some := list(islice(values, STATEMENT)):
            _insert.rows(some)


def _values(judge: Judge, row: _Row) -> tuple[Any, ...]:
    """A new assignment, in the order of `_COLUMNS`."""
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


def _missing(campaign: Campaign, judge: Judge) -> Iterator[_Row]:
    there = set(rows_of(campaign, judge).values_list("item", "scope"))
    by_unit = judge.granularity == Judge.Granularity.UNIT
    follows = bool(prerequisite_of(campaign))
    for item, names in (_asked_now if follows else _asked)(campaign, judge):
        # What people were asked only after the judge's row for the item was made stands apart.
        alone = by_unit or (follows and (item.pk, "") in there)
        for scope, part in [(n, [n]) for n in names] if alone else [("", names)]:
            if (item.pk, scope) not in there:
                yield _Row(item, scope, part)


def _asked_now(campaign: Campaign, judge: Judge) -> Iterator[tuple[Item, list[str]]]:
    """The same of a campaign that follows another: what can be asked of its items by now.

    An item that waits gets its row when the judge is run again. What the judge has a row for is
    left out.
    """
    had: dict[int, set[str]] = {}
    for item_id, names in rows_of(campaign, judge).values_list("item", "asked"):
        had.setdefault(item_id, set()).update(names)
    ready = set(campaign.items.filter(ready_for_judges(campaign)).values_list("pk", flat=True))
    for item, names in _asked(campaign, judge):
        if item.pk in ready:
            item.campaign = campaign
            new = [n for n in asked_of_judges(item, names) if n not in had.get(item.pk, ())]
            if new:
                yield item, new


def _asked(campaign: Campaign, judge: Judge) -> Iterator[tuple[Item, list[str]]]:
    """The items with the names of their units, in the order in which this judge is shown them.

    Texts keep the item's own order for judges: in a pair, the first they see is the first.
    """
    default = "random" if declared(campaign).shuffled else "fixed"
    if (design(campaign).order or default) == "random":
        items = campaign.items.select_related("campaign", "query").order_by("position")
        yield from ((item, order_for(item, judge.rater)[0]) for item in list(items))
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
