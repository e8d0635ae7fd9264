"""Which rows the ledger of a judge over a campaign holds; making them again does no harm."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.follows import asked_of_judges, ready_for_judges
from annotation.follows.base import prerequisite_of
from annotation.models import Assignment, Campaign, Item, Unit
from annotation.places import order_for
from annotation.presenting import design
from annotation.protocols import PROTOCOLS
from judging.ledger import rows_of
from judging.models import Judge

CHUNK = 1000


def plan(campaign: Campaign, judge: Judge) -> None:
    """Makes the rows that are missing: one an item, or one a unit. Doing it twice does nothing."""
    chunk: list[Assignment] = []
    for row in _missing(campaign, judge):
        chunk.append(row)
        if len(chunk) == CHUNK:
            Assignment.objects.bulk_create(chunk, ignore_conflicts=True)
            chunk = []
    Assignment.objects.bulk_create(chunk, ignore_conflicts=True)


def _missing(campaign: Campaign, judge: Judge) -> Iterator[Assignment]:
    there = set(rows_of(campaign, judge).values_list("item", "scope"))
    by_unit = judge.granularity == Judge.Granularity.UNIT
    follows = bool(prerequisite_of(campaign))
    for item, names in (_asked_now if follows else _asked)(campaign, judge):
        # What people were asked only after the judge's row for the item was made stands apart.
        alone = by_unit or (follows and (item.pk, "") in there)
        for scope, part in [(n, [n]) for n in names] if alone else [("", names)]:
            if (item.pk, scope) not in there:
                yield Assignment(item=item, rater=judge.rater, scope=scope, asked=part)


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
    default = "random" if PROTOCOLS[campaign.protocol].shuffled else "fixed"
    if (design(campaign).order or default) == "random":
        items = campaign.items.select_related("campaign", "query").order_by("position")
        yield from ((item, order_for(item, judge.rater)[0]) for item in list(items))
        return
    units: dict[int, list[str]] = {}
    named = Unit.objects.filter(item__campaign=campaign).order_by("item", "position")
    for item_id, name in named.values_list("item", "name"):
        units.setdefault(item_id, []).append(name)
    yield from ((item, units[item.pk]) for item in campaign.items.order_by("position"))
