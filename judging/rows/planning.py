"""Which rows the ledger of a judge over a campaign holds; making them again does no harm."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from annotation.declared import declared
from annotation.follows import asked_of_judges, ready_for_judges
from annotation.follows.base import prerequisite_of
from annotation.models import Assignment, Campaign, Item, Unit
from annotation.places import order_for
from annotation.presenting import design
from datasets.db.prepared import PreparedInsert
from judging.conditions.variations import fields_in_order
from judging.models import Judge
from judging.rows.ledger import rows_of
from judging.rows.sampling import Draw, drawn

CHUNK, STATEMENT = 1000, 100


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
    return fields_in_order(trial, row.item, row.shown)


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
        if len(chunk) >= CHUNK:
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
        uuid.uuid4(), row.item.pk, judge.rater_id, row.replicate, row.scope, row.asked, row.shown,
        Assignment.Status.OPEN.value, "", {}, 0, "", timezone.now(),
    )  # fmt: skip


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


_COLUMNS = (
    "uid", "item_id", "rater_id", "replicate", "scope", "asked", "shown", "status", "reason",
    "missing", "attempts", "assisted_by", "created_at",
)  # fmt: skip
_insert = PreparedInsert(Assignment, _COLUMNS, new_only=True)
