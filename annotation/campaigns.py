"""Making a campaign: its items and units from a batch, drawn as its design says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import transaction

from annotation.assigning import draw, share_of
from annotation.design import Design, DesignError
from annotation.models import Campaign, Item, Unit
from annotation.presenting import items_of, relevant_passages
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import ItemSpec, Protocol, name_units
from annotation.protocols.schema import UnknownVariableError, schema_of
from datasets import models as material
from datasets.material import as_row, stored_queries

CHUNK = 500


@dataclass(frozen=True)
class Made:
    """What was made. `unchanged` where the same campaign was there before."""

    campaign: Campaign
    items: int
    units: int
    places: int
    unchanged: bool = False


def create_campaign(
    name: str,
    protocol: str,
    batch: material.Batch,
    design: Design,
    progress: Callable[[int], None] = lambda done: None,
) -> Made:
    """Makes a campaign and its items, all or nothing. Raises DesignError."""
    declared = PROTOCOLS[protocol]
    try:
        schema_of(declared, design.variables, design.categories)
    except UnknownVariableError as error:
        raise DesignError(f"{error}; see the protocol's variables") from error
    campaign = Campaign(
        name=name,
        protocol=protocol,
        protocol_version=declared.version,
        batch=batch,
        raters_per_item=design.raters_per_item,
        overlap=design.overlap,
        human_share=design.human_share,
        options=design.options(),
        seed=design.seed,
    )
    with transaction.atomic():
        if there := Campaign.objects.filter(name=name).first():
            return _same(there, campaign)
        _check_passages(design)
        campaign.save()
        _write_items(campaign, design, declared, progress)
        made = _counted(campaign)
        if not made.items:
            raise DesignError(f"batch {batch.name!r} has nothing for {protocol}; choose another")
    return made


def _same(there: Campaign, wanted: Campaign) -> Made:
    columns = ("protocol", "batch_id", "raters_per_item", "overlap", "human_share")
    same = all(getattr(there, c) == getattr(wanted, c) for c in columns)
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in wanted.options.items()}
    if not same or there.options != plain:
        raise DesignError(f"a campaign called {there.name!r} has another design; choose a new name")
    return _counted(there, unchanged=True)


def _counted(campaign: Campaign, unchanged: bool = False) -> Made:
    items = campaign.items
    places = sum(items.values_list("quota", flat=True))
    units = Unit.objects.filter(item__campaign=campaign).count()
    return Made(campaign, items.count(), units, places, unchanged)


def _check_passages(design: Design) -> None:
    other = design.passages.partition(":")[2]
    if other and not Campaign.objects.filter(name=other).exists():
        raise DesignError(f"option passages names campaign {other!r}, which is not there; mend it")


def _write_items(
    campaign: Campaign,
    design: Design,
    protocol: Protocol,
    progress: Callable[[int], None],
) -> None:
    drawn = _Draws(campaign, design)
    chunk: list[tuple[Item, ItemSpec]] = []
    keys: set[str] = set()
    for position, (query, spec) in enumerate(_specs(campaign, protocol)):
        if spec.key in keys:
            raise DesignError(
                f"two items would have the key {spec.key!r}; rename an id in the batch"
            )
        keys.add(spec.key)
        chunk.append((_item(campaign, query, spec, position, drawn), spec))
        progress(position + 1)
        if len(chunk) == CHUNK:
            _write(chunk, design, protocol)
            chunk = []
    _write(chunk, design, protocol)
    drawn.share_out()


def _specs(campaign: Campaign, protocol: Protocol) -> Iterator[tuple[material.Query, ItemSpec]]:
    for query in stored_queries(campaign.batch, protocol.needs):
        row = as_row(query, protocol.needs)
        for spec in items_of(campaign, row, relevant_passages(campaign, row)):
            if spec.units:
                yield query, spec


class _Draws:
    """The two draws of a design: which queries people are asked, which items several of them."""

    def __init__(self, campaign: Campaign, design: Design) -> None:
        self.campaign, self.design = campaign, design
        keys = list(campaign.batch.queries.values_list("key", flat=True))
        count = share_of(len(keys), design.human_share)
        self.queries = set(draw(keys, count, design.seed, "queries for people"))
        self.probability = count / len(keys) if keys else 1.0

    def quota(self, query: material.Query) -> int:
        return self.design.raters_per_item if query.key in self.queries else 0

    def share_out(self) -> None:
        """Leaves all its places to the drawn share of items, and one to each of the others."""
        if self.design.overlap >= 1 or self.design.raters_per_item == 1:
            return
        asked = self.campaign.items.filter(quota__gt=0)
        keys = list(asked.values_list("key", flat=True))
        count = share_of(len(keys), self.design.overlap)
        kept = set(draw(keys, count, self.design.seed, "items for several people"))
        single = [item for item in asked.iterator() if item.key not in kept]
        for item in single:
            item.quota = 1
        Item.objects.bulk_update(single, ["quota"], batch_size=CHUNK)


def _item(
    campaign: Campaign, query: material.Query, spec: ItemSpec, position: int, drawn: _Draws
) -> Item:
    return Item(
        campaign=campaign,
        key=spec.key,
        position=position,
        query=query,
        report=next((r for r in query.reports.all() if r.key == spec.report), None)
        if spec.report
        else None,
        passage=next(
            (g.passage for g in query.groundings.all() if g.passage.key == spec.passage), None
        )
        if spec.passage
        else None,
        key_point=next((k for k in query.keypoints.all() if k.key == spec.key_point), None)
        if spec.key_point
        else None,
        quota=drawn.quota(query),
        probability=drawn.probability,
    )


def _write(chunk: list[tuple[Item, ItemSpec]], design: Design, protocol: Protocol) -> None:
    Item.objects.bulk_create([item for item, _ in chunk])
    Unit.objects.bulk_create(
        (unit for item, spec in chunk for unit in _units(item, spec, design, protocol)),
        batch_size=CHUNK * 4,
    )


def _units(item: Item, spec: ItemSpec, design: Design, protocol: Protocol) -> Iterator[Unit]:
    named = name_units(spec.units)
    asked = list(named)
    if protocol.drawn and design.sampling != "all":
        asked = draw(asked, design.per_passage, design.seed, f"units of {item.key}")
    for position, name in enumerate(asked):
        unit = named[name]
        yield Unit(item=item, kind=unit.kind, key=unit.key, name=name, position=position)
