"""The queries by which rows are claimed, made once: a run asks for them thousands of times."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from functools import cache

from django.db.models import QuerySet

from annotation.models import Assignment, Campaign, Item
from datasets.db.prepared import Among, Given, PreparedModels, PreparedUpdate, columns_of
from datasets.models import Query

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
