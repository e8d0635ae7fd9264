"""Planning: which assignments a judge gets over a campaign, and which of them a trial repeats.

Planning is idempotent. A trial repeats whole items, in the order of a hash of the seed and their
keys. So a larger sample contains every smaller one with the same seed.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from annotation.assignments.queue import order_for
from annotation.models import Assignment, Campaign, Item, Unit
from annotation.prerequisites import ready_for_judges, units_asked_of_judges
from annotation.prerequisites.base import prerequisite_of
from annotation.presentation import design, has_audiences, preload, present, units_of_audience
from annotation.registry import get_protocol
from datasets.db.locks import brief_transaction
from datasets.db.prepared import PreparedInsert
from datasets.models import Query
from judging.models import Judge
from judging.prompts.isolation import needs_texts, orders, request_parts
from judging.prompts.perturbations import is_unconstrained, order_of_fields
from judging.runs.ledger import assignments_of, count_by_status, count_waiting

SHARE, LEAST_UNITS = 0.05, 200
UNCONSTRAINED_SHARE = 0.02
CHUNK_ASSIGNMENTS = 1000
CHUNK_ITEMS = 500
CHUNK_INSERTED = 100
AT_ONCE = 50  # items whose texts are loaded at once; no more are kept


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


def sample_assignments(
    campaign: Campaign, base: Judge, sample: TrialSample, seed: int
) -> list[Assignment]:
    """Return the base judge's assignments that a trial repeats, grouped by item."""
    done = assignments_of(campaign, base).filter(status=Assignment.Status.DONE, replicate=0)
    units: dict[int, int] = {}
    keys: dict[int, str] = {}
    for item, key, asked in done.values_list("item", "item__key", "asked").iterator(2000):
        keys[item] = key
        units[item] = units.get(item, 0) + len(asked)
    ranked = sorted(keys, key=lambda item: _rank(seed, keys[item]))
    if sample.items is None:
        target = max(LEAST_UNITS, sample.share * sum(units.values()))
        before = accumulate((units[item] for item in ranked), initial=0)
        ranked = [item for item, so_far in zip(ranked, before, strict=False) if so_far < target]
    return list(_of_items(done, ranked[: sample.items]))


def _of_items(rows: QuerySet[Assignment], items: list[int]) -> Iterator[Assignment]:
    """Yield the assignments of these items, in their order."""
    for start in range(0, len(items), CHUNK_ITEMS):
        some = items[start : start + CHUNK_ITEMS]
        found: dict[int, list[Assignment]] = {item: [] for item in some}
        for row in rows.filter(item__in=some).select_related("item").order_by("id"):
            found[row.item_id].append(row)
        yield from chain.from_iterable(found.values())


def _rank(seed: int, key: str) -> str:
    return hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()


class _NewAssignment(NamedTuple):
    """An assignment to create unless it exists."""

    item: Item
    scope: str
    asked: list[str]
    replicate: int = 0
    shown: list[str] = []


def plan(
    campaign: Campaign,
    judge: Judge,
    most: int | None = None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Create the missing assignments, one per item or per unit. Repeating the call does nothing.

    A judge with several samples gets each assignment once per sample, as replicates from 0.
    Assignments of a trial are planned by `plan_trial` alone. With `most`, only those of as many
    items or units are created. `may_go_on` is called after each `CHUNK_ASSIGNMENTS`, about every
    half second.
    """
    if judge.base_id is None:
        missing = islice(_missing(campaign, judge), most)
        _create(judge, _repeat(missing, judge), may_go_on)


def missing_assignments(campaign: Campaign, judge: Judge) -> Iterator[Assignment]:
    """Yield the assignments that `plan` would create, without saving them."""
    if judge.base_id is None:
        for together in _repeat(_missing(campaign, judge), judge):
            for row in together:
                yield Assignment(rater=judge.rater, **row._asdict())


def plan_trial(campaign: Campaign, trial: Judge, sample: TrialSample) -> int:
    """Create the missing assignments of a trial: copies of sampled assignments of its base.

    Return the number of units that the trial is asked in all. Existing assignments stay.
    """
    if trial.base is None:
        raise ValueError(f"{trial} is not a trial")
    rows = sample_assignments(campaign, trial.base, sample, trial.variation["seed"])
    return plan_copies(campaign, trial, rows)


def plan_copies(campaign: Campaign, trial: Judge, rows: Iterable[Assignment]) -> int:
    """Create the missing assignments of a trial, as copies of those of its base.

    Return the number of units that the trial is asked in all. Existing assignments stay.
    """
    _create(trial, ([row] for row in _copies(campaign, trial, rows)))
    return sum(
        len(asked) for asked in assignments_of(campaign, trial).values_list("asked", flat=True)
    )


def missing_copies(
    campaign: Campaign, trial: Judge, rows: Iterable[Assignment]
) -> Iterator[Assignment]:
    """Yield the assignments that `plan_copies` would create, without saving them."""
    for row in _copies(campaign, trial, rows):
        yield Assignment(rater=trial.rater, **row._asdict())


def _copies(
    campaign: Campaign, trial: Judge, rows: Iterable[Assignment]
) -> Iterator[_NewAssignment]:
    existing = set(assignments_of(campaign, trial).values_list("item", "scope"))
    for row in rows:
        if (row.item_id, row.scope) not in existing:
            shown = _text_order(row, campaign, trial)
            yield _NewAssignment(row.item, row.scope, row.asked, shown=shown)


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


def _create(
    judge: Judge,
    rows: Iterable[list[_NewAssignment]],
    may_go_on: Callable[[], bool] = lambda: True,
) -> None:
    chunk: list[_NewAssignment] = []
    for together in rows:
        chunk += together
        if len(chunk) >= CHUNK_ASSIGNMENTS:
            _insert_new(judge, chunk)
            chunk = []
            if not may_go_on():
                return
    _insert_new(judge, chunk)


def _insert_new(judge: Judge, rows: list[_NewAssignment]) -> None:
    """Insert the assignments that do not exist, in one transaction."""
    values = (_values(judge, row) for row in rows)
    with brief_transaction():
        while some := list(islice(values, CHUNK_INSERTED)):
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
    if needs_texts(judge, campaign.protocol) or has_audiences(campaign):
        items = _with_texts(campaign, items)
    for item, every in items:
        names = units_of_audience(campaign, item, "judges", every)
        # A judge that was asked about whole items before continues that way.
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
    while some := list(islice(items, AT_ONCE)):
        queries = Query.objects.in_bulk({item.query_id for item, _ in some})
        for item, _ in some:
            item.campaign, item.query = campaign, queries[item.query_id]
        preload(campaign, [item for item, _ in some])
        yield from some


def _ready_items_with_units(campaign: Campaign, judge: Judge) -> Iterator[tuple[Item, list[str]]]:
    """Yield items with the units that can be asked now, in a campaign with a prerequisite.

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
    """Yield the items with the names of their units, in the order shown to this judge.

    For judges, texts keep the item's own order, so a pair's first text is shown first.
    """
    default = "random" if get_protocol(campaign).shuffled else "fixed"
    if (design(campaign).order or default) == "random":
        for some in _in_order(campaign.items.select_related("query"), AT_ONCE):
            for item in some:
                item.campaign = campaign
            preload(campaign, some)
            yield from ((item, order_for(item, judge.rater)[0]) for item in some)
        return
    for some in _in_order(campaign.items.all(), CHUNK_ITEMS):
        units: dict[int, list[str]] = {item.pk: [] for item in some}
        named = Unit.objects.filter(item__in=units).order_by("position")
        for item_id, name in named.values_list("item", "name"):
            units[item_id].append(name)
        yield from ((item, units[item.pk]) for item in some)


def _in_order(items: QuerySet[Item], size: int) -> Iterator[list[Item]]:
    """Yield a campaign's items by position, in chunks, so that nobody waits for all of them."""
    keys = list(items.order_by("position").values_list("pk", flat=True))
    for start in range(0, len(keys), size):
        found = items.in_bulk(keys[start : start + size])
        yield [found[key] for key in keys[start : start + size] if key in found]


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


def remaining_requests(campaign: Campaign, name: str) -> int | None:
    """Return the number of a judge's remaining requests; None if the judge does not exist yet."""
    judge = Judge.objects.select_related("rater").filter(rater__name=name).first()
    if judge is None:
        return None
    planned = count_waiting(campaign, judge)
    cancelled = count_by_status(campaign, judge).get("cancelled", 0)
    return planned + cancelled + sum(1 for _ in missing_assignments(campaign, judge))
