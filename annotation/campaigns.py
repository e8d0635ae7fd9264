"""Making a campaign: its items and units from a batch, drawn as its design says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.assigning import draw, share_of
from annotation.design import Design, DesignError
from annotation.follows.checking import check_prerequisite
from annotation.follows.validating import check_validates
from annotation.models import Campaign, Item, Unit
from annotation.presenting import design as stored
from annotation.presenting import items_of, relevant_passages, schema
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import ItemSpec, Protocol, name_units
from annotation.protocols.schema import UnknownVariableError, schema_of
from datasets import models as material
from datasets.bulk import Row, bulk_write, refresh_statistics, reserve
from datasets.material import stored_rows

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
        check_prerequisite(declared, batch, design)
        check_validates(declared, batch, design)
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
        "sampling": design.sampling in ("own", "shared") and not protocol.drawn,
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
    writer = _Writer(campaign, design, protocol, drawn)
    keys: set[str] = set()
    for position, drafted in enumerate(_specs(campaign, protocol)):
        key = drafted.spec.key
        if key in keys:
            raise DesignError(f"two items would have the key {key!r}; rename an id in the batch")
        keys.add(key)
        writer.add(position, drafted)
        progress(position + 1)
    writer.flush()
    drawn.share_out()
    refresh_statistics(Item, Unit)


@dataclass(frozen=True)
class _Drafted:
    """An item to be, and the passages that it shows where that is not all."""

    query: int
    query_key: str
    spec: ItemSpec
    passages: list[str] | None


def _specs(campaign: Campaign, protocol: Protocol) -> Iterator[_Drafted]:
    """Each query's items, in the batch's order."""
    for query, row in stored_rows(campaign.batch, protocol.needs):
        relevant = relevant_passages(campaign, row)
        shown = None if relevant is None else [p.id for p in row.passages if p.id in relevant]
        for spec in items_of(campaign, row, shown):
            if spec.units:
                yield _Drafted(query, row.id, spec, shown)


class _Draws:
    """The two draws of a design: which queries people are asked, which items several of them."""

    def __init__(self, campaign: Campaign, design: Design) -> None:
        self.campaign, self.design = campaign, design
        keys = list(campaign.batch.queries.values_list("key", flat=True))
        count = share_of(len(keys), design.human_share)
        self.queries = set(draw(keys, count, design.seed, "queries for people"))
        self.probability = count / len(keys) if keys else 1.0

    def quota(self, query: str) -> int:
        return self.design.raters_per_item if query in self.queries else 0

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


_ITEM = (
    "id", "campaign_id", "key", "position", "query_id", "report_id", "passage_id",
    "key_point_id", "shown_passages", "quota", "taken", "probability",
)  # fmt: skip
_UNIT = ("item_id", "kind", "key", "name", "position")


class _Writer:
    """Writes items with their units, a chunk at a time."""

    def __init__(
        self, campaign: Campaign, design: Design, protocol: Protocol, drawn: _Draws
    ) -> None:
        self.campaign, self.design, self.protocol, self.drawn = campaign, design, protocol, drawn
        self.chunk: list[tuple[int, _Drafted]] = []

    def add(self, position: int, drafted: _Drafted) -> None:
        self.chunk.append((position, drafted))
        if len(self.chunk) == CHUNK:
            self.flush()

    def flush(self) -> None:
        keys = reserve(Item, len(self.chunk))
        bulk_write(Item, _ITEM, self._items(keys))
        units = (
            unit
            for key, (_, drafted) in zip(keys, self.chunk, strict=True)
            for unit in _units(key, drafted.spec, self.design, self.protocol)
        )
        bulk_write(Unit, _UNIT, units)
        self.chunk = []

    def _items(self, keys: Sequence[int]) -> Iterator[Row]:
        specs = [drafted.spec for _, drafted in self.chunk]
        reports = self._stored(material.Report, (spec.report for spec in specs))
        passages = self._stored(material.Passage, (spec.passage for spec in specs))
        points = self._stored(material.KeyPoint, (spec.key_point for spec in specs))
        for key, (position, drafted) in zip(keys, self.chunk, strict=True):
            spec = drafted.spec
            about = reports[spec.report], passages[spec.passage], points[spec.key_point]
            quota = self.drawn.quota(drafted.query_key)
            yield (
                key, self.campaign.pk, spec.key, position, drafted.query, *about,
                drafted.passages, quota, 0, self.drawn.probability,
            )  # fmt: skip

    def _stored(
        self,
        model: type[material.Report | material.Passage | material.KeyPoint],
        wanted: Iterable[str | None],
    ) -> dict[str | None, int | None]:
        """Primary keys by the batch's own; no key is of nothing."""
        named = {key for key in wanted if key}
        found: dict[str | None, int | None] = {None: None}
        if named:
            rows = model._default_manager.filter(batch=self.campaign.batch_id, key__in=named)
            found |= dict(rows.order_by().values_list("key", "pk"))
        return found


def _units(item: int, spec: ItemSpec, design: Design, protocol: Protocol) -> Iterator[Row]:
    named = name_units(spec.units)
    asked = list(named)
    if protocol.drawn and design.sampling != "all" and not design.prerequisite:
        asked = draw(asked, design.per_passage, design.seed, f"units of {spec.key}")
    for position, name in enumerate(asked):
        unit = named[name]
        yield item, unit.kind, unit.key, name, position
