"""Making a campaign: its items and units from a batch, drawn as its design says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import transaction

from annotation.assigning import draw, share_of
from annotation.design import Design, DesignError
from annotation.models import Campaign, Item, Unit
from annotation.presenting import design as stored
from annotation.presenting import items_of, relevant_passages, schema
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
    _check_name(name)
    _check_options(declared, design)
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
    same = (there.protocol, there.batch_id) == (wanted.protocol, wanted.batch_id)
    if not same or stored(there) != stored(wanted):
        raise DesignError(f"a campaign called {there.name!r} has another design; choose a new name")
    return _counted(there, unchanged=True)


def _counted(campaign: Campaign, unchanged: bool = False) -> Made:
    items = campaign.items
    places = sum(items.values_list("quota", flat=True))
    units = Unit.objects.filter(item__campaign=campaign).count()
    return Made(campaign, items.count(), units, places, unchanged)


def _check_name(name: str) -> None:
    longest = Campaign._meta.get_field("name").max_length or 0
    if not name.strip() or len(name) > longest:
        raise DesignError(f"its name is blank or longer than {longest} characters; choose another")


def _check_options(protocol: Protocol, design: Design) -> None:
    """Refuses an option that the protocol would not heed."""
    try:
        asked = schema_of(protocol, design.variables, design.categories)
    except UnknownVariableError as error:
        raise DesignError(f"{error}; see the protocol's variables") from error
    idle = {
        "categories": design.categories and asked.variable("category") is None,
        "sampling": design.sampling == "shared" and not protocol.drawn,
        "passages": design.passages != "all" and "passages" not in protocol.needs,
    }
    for option in (name for name, means_nothing in idle.items() if means_nothing):
        raise DesignError(f"option {option} means nothing to {protocol.name}; leave it out")


def _check_passages(design: Design) -> None:
    name = design.passages.partition(":")[2]
    other = Campaign.objects.filter(name=name).first()
    if name and other is None:
        raise DesignError(f"option passages names campaign {name!r}, which is not there; mend it")
    if other and schema(other).variable("relevant") is None:
        raise DesignError(f"campaign {name!r} does not ask which passages are relevant; name one")


def _write_items(
    campaign: Campaign,
    design: Design,
    protocol: Protocol,
    progress: Callable[[int], None],
) -> None:
    drawn = _Draws(campaign, design)
    chunk: list[tuple[Item, ItemSpec]] = []
    keys: set[str] = set()
    for position, (query, spec, passages) in enumerate(_specs(campaign, protocol)):
        if spec.key in keys:
            raise DesignError(
                f"two items would have the key {spec.key!r}; rename an id in the batch"
            )
        keys.add(spec.key)
        item = _item(campaign, query, spec, position, drawn)
        item.shown_passages = passages
        chunk.append((item, spec))
        progress(position + 1)
        if len(chunk) == CHUNK:
            _write(chunk, design, protocol)
            chunk = []
    _write(chunk, design, protocol)
    drawn.share_out()


def _specs(
    campaign: Campaign, protocol: Protocol
) -> Iterator[tuple[material.Query, ItemSpec, list[str] | None]]:
    """Each query's items, and the passages that they show where that is not all."""
    for query in stored_queries(campaign.batch, protocol.needs):
        row = as_row(query, protocol.needs)
        relevant = relevant_passages(campaign, row)
        shown = None if relevant is None else [p.id for p in row.passages if p.id in relevant]
        for spec in items_of(campaign, row, shown):
            if spec.units:
                yield query, spec, shown


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
