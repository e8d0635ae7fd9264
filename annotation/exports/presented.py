"""A campaign's items as they are shown, in their order, with the labels of each: streamed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from annotation.declared import declared
from annotation.files.rows import LabelRow
from annotation.follows import asked_so_far
from annotation.labelled import UnitFacts, chunks, label_rows, units_by_item
from annotation.models import Campaign
from annotation.presenting import items_of
from annotation.protocols.base import ItemSpec, UnitSpec
from annotation.relevance import Uses
from datasets import material
from datasets.models import Query

CHUNK = 200
COLUMNS = (
    "pk", "key", "query_id", "query__key", "report__system", "shown_passages", "passage_uses",
)  # fmt: skip
"""Of an item, as `ShownItem` has them."""


class ShownItem(NamedTuple):
    """What an export says of an item, and what its texts are made from."""

    pk: int
    key: str
    query_id: int
    query: str
    system: str | None
    shown_passages: list[str] | None
    passage_uses: Uses | None


def shown_items(campaign: Campaign, since: int = 0) -> Iterator[list[ShownItem]]:
    """The items from a position on, a few at a time."""
    items = campaign.items.filter(position__gte=since).order_by("position")
    rows = items.values_list(*COLUMNS).iterator(chunk_size=CHUNK)
    return chunks(map(ShownItem._make, rows), CHUNK)


def presented(campaign: Campaign, items: list[ShownItem]) -> Iterator[tuple[ShownItem, ItemSpec]]:
    """Items as they are shown; the material of a query is read once for all its items here."""
    queries = Query.objects.filter(pk__in={item.query_id for item in items})
    row_of = material.as_rows(queries, declared(campaign).needs)
    specs: dict[str, ItemSpec] = {}
    query = None
    for item in items:
        if item.query_id != query:
            left = item.shown_passages, item.passage_uses
            made = items_of(campaign, row_of[item.query_id], *left)
            specs = {spec.key: spec for spec in made}
            query = item.query_id
        yield item, specs[item.key]


def asked_units(campaign: Campaign, items: list[ShownItem]) -> dict[int, list[UnitFacts]]:
    """The units that the campaign asks of items, by the items' primary keys."""
    keys = {item.pk for item in items}
    found, so_far = units_by_item(keys), asked_so_far(campaign, keys)
    if so_far is None:
        return found
    return {pk: [unit for unit in found[pk] if unit.name in so_far[pk]] for pk in keys}


class Labelled(NamedTuple):
    """An item with the units that are asked, as they are shown, and all its labels."""

    item: ShownItem
    spec: ItemSpec
    units: list[UnitSpec]
    rows: list[LabelRow]


def labelled_items(campaign: Campaign) -> Iterator[Labelled]:
    """Every item, also one that nobody labelled.

    Items and labels both come in the order of the items' positions, so they are matched as they
    pass.
    """
    labelled = groupby(label_rows(campaign), key=lambda row: row.item)
    following = next(labelled, None)
    for chunk in shown_items(campaign):
        asked = asked_units(campaign, chunk)
        for item, spec in presented(campaign, chunk):
            rows: list[LabelRow] = []
            if following is not None and following[0] == item.key:
                rows = list(following[1])
                following = next(labelled, None)
            words = {(unit.kind, unit.key): unit for unit in spec.units}
            units = [words[unit.kind, unit.key] for unit in asked[item.pk]]
            yield Labelled(item, spec, units, rows)
