"""Disputes in words, many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.adjudication.disputes import Dispute
from annotation.models import Campaign, Item, Unit
from annotation.presenting import bring, present
from annotation.protocols.base import name_units


def worded(campaign: Campaign, found: Sequence[Dispute]) -> Iterator[tuple[Dispute, str, str]]:
    """Each dispute with its request and the words of its unit.

    A handful of queries, however many there are.
    """
    items = Item.objects.filter(pk__in={each.item for each in found}).select_related("query")
    there = {item.pk: item for item in items}
    for item in there.values():
        item.campaign = campaign
    bring(campaign, there.values())
    units = Unit.objects.filter(pk__in=[each.unit for each in found]).order_by()
    names = dict(units.values_list("pk", "name"))
    for each in found:
        item = there[each.item]
        yield each, item.query.text, name_units(present(item).units)[names[each.unit]].text
