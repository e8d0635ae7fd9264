"""Which of a judge's items a trial asks again: a seeded draw of those that it has answered.

Items are drawn whole, in the order of a hash of the seed and their keys. So a larger draw holds
every smaller one of the same seed, and a trial that is given more items goes on where it stood.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import accumulate

from annotation.models import Assignment, Campaign
from judging.conditions.variations import is_unconstrained
from judging.models import Judge
from judging.rows.ledger import rows_of

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
