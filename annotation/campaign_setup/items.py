"""The items of a campaign with their units: drafted from a batch, and written by the design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.relevance import Uses, relevance_of
from annotation.campaigns.sampling import (
    SampledQuery,
    SampledUnit,
    asks_judges_more,
    sample_shared_items,
    sample_units,
)
from annotation.models import Campaign, Item, Unit, UnitSampling
from annotation.presentation import has_units_for_people, items_of
from annotation.protocols.base import Protocol
from datasets import models
from datasets.db.bulk import Row, bulk_write, reserve
from datasets.material import stored_rows
from datasets.text import number_of_words
from tandem.protocols.base import ItemSpec

CHUNK = 500
_ITEM = (
    "id",
    "campaign_id",
    "key",
    "position",
    "query_id",
    "report_id",
    "passage_id",
    "key_point_id",
    "shown_passages",
    "passage_uses",
    "quota",
    "taken",
    "probability",
    "words",
    "drawn",
)
_UNIT = ("item_id", "kind", "key", "name", "position")
_UNIT_DRAW = (
    "item_id",
    "unit_kind",
    "key",
    "position",
    "kind",
    "seed",
    "wave",
    "probability",
    "drawn",
)


@dataclass(frozen=True)
class DraftItem:
    """An item to be created. `passages` are those that it shows, with their uses (None: all)."""

    query: int
    query_key: str
    spec: ItemSpec
    passages: list[str] | None
    uses: Uses | None


def draft_items(
    campaign: Campaign, protocol: Protocol, queries: int | None = None
) -> Iterator[DraftItem]:
    """Yield the items of each query, in the batch's order. The campaign need not be stored.

    Only the first `queries` are read, if given.
    Raises DesignError if two items, or two units of an item, would have the same key.
    """
    keys: set[str] = set()
    for query, row in islice(stored_rows(campaign.batch, protocol.needs), queries):
        left = relevance_of(campaign, row)
        shown, uses = (left.passages, left.uses) if left else (None, None)
        for spec in items_of(campaign, row, shown, uses):
            if all(unit.same_as for unit in spec.units):
                continue
            if spec.key in keys:
                wrong = f"two items would have the key {spec.key!r}; rename an id in the batch"
                raise DesignError(wrong)
            if repeated := _find_repeated_key(spec):
                wrong = f"two units of item {spec.key!r} would have the key {repeated!r}"
                raise DesignError(f"{wrong}; rename an id in the batch")
            keys.add(spec.key)
            yield DraftItem(query, row.id, spec, shown, uses)


def asked_items(campaign: Campaign, protocol: Protocol, design: Design) -> Iterator[DraftItem]:
    """Yield the items of a campaign in its order: the chosen ones, or all of the batch's.

    Raises DesignError if the batch has no item with a chosen key.
    """
    if not design.chosen:
        yield from draft_items(campaign, protocol)
        return
    chosen = set(design.chosen)
    found = {
        each.spec.key: each for each in draft_items(campaign, protocol) if each.spec.key in chosen
    }
    for key in design.chosen:
        if key not in found:
            wrong = f"batch {campaign.batch.name!r} has no item {key!r} for {protocol.name}"
            raise DesignError(f"{wrong}; correct it, or leave it out", "chosen")
        yield found[key]


def _find_repeated_key(spec: ItemSpec) -> str | None:
    """Return a key that two units of a kind would share, since ids may contain a slash."""
    counts = Counter((unit.kind, unit.key) for unit in spec.units)
    return next((key for (_, key), count in counts.items() if count > 1), None)


def reduce_quotas(campaign: Campaign, design: Design) -> None:
    """Keep all slots of the sampled items, and leave one slot to each of the others."""
    asked = campaign.items.filter(quota__gt=0)
    kept = sample_shared_items(list(asked.values_list("key", flat=True)), design)
    single = [item for item in asked.iterator() if item.key not in kept]
    for item in single:
        item.quota = 1
    Item.objects.bulk_update(single, ["quota"], batch_size=CHUNK)


class ItemWriter:
    """Write items with their units, a chunk at a time."""

    def __init__(
        self,
        campaign: Campaign,
        design: Design,
        protocol: Protocol,
        queries: Mapping[str, SampledQuery],
    ) -> None:
        self.campaign, self.design, self.protocol = campaign, design, protocol
        self.queries = queries
        self.chunk: list[tuple[int, DraftItem]] = []

    def add(self, position: int, drafted: DraftItem) -> None:
        self.chunk.append((position, drafted))
        if len(self.chunk) == CHUNK:
            self.flush()

    def flush(self) -> None:
        keys = reserve(Item, len(self.chunk))
        drawn = [
            (key, sample_units(of.spec.key, of.spec.units, self.design, self.protocol))
            for key, (_, of) in zip(keys, self.chunk, strict=True)
        ]
        more = asks_judges_more(self.design, self.protocol)
        samples = [units if more else None for _, units in drawn]
        bulk_write(Item, _ITEM, self._items(keys, samples))
        rows = (row for key, units in drawn for row in _unit_rows(key, units, more))
        bulk_write(Unit, _UNIT, rows)
        draws = (
            row for key, units in drawn for row in _unit_draw_rows(key, units, self.design.seed)
        )
        bulk_write(UnitSampling, _UNIT_DRAW, draws)
        self.chunk = []

    def _items(
        self, keys: Sequence[int], samples: Sequence[list[SampledUnit] | None]
    ) -> Iterator[Row]:
        """Yield the rows of items. `samples` are the units of which people are asked only some."""
        specs = [drafted.spec for _, drafted in self.chunk]
        reports = self._stored(models.Report, (spec.report for spec in specs))
        passages = self._stored(models.Passage, (spec.passage for spec in specs))
        points = self._stored(models.KeyPoint, (spec.key_point for spec in specs))
        for key, (position, drafted), units in zip(keys, self.chunk, samples, strict=True):
            spec, query = drafted.spec, self.queries[drafted.query_key]
            about = reports[spec.report], passages[spec.passage], points[spec.key_point]
            asks_people = query.drawn and has_units_for_people(self.campaign, spec)
            quota = self.design.raters_per_item if asks_people else 0
            yield (
                key,
                self.campaign.pk,
                spec.key,
                position,
                drafted.query,
                *about,
                drafted.passages,
                drafted.uses,
                quota,
                0,
                query.probability,
                sum(number_of_words(text.text) for text in spec.texts),
                None if units is None else [unit.name for unit in units if unit.drawn],
            )

    def _stored(
        self,
        model: type[models.Report | models.Passage | models.KeyPoint],
        ids: Iterable[str | None],
    ) -> dict[str | None, int | None]:
        """Return primary keys by the batch's own ids; None maps to None."""
        named = {key for key in ids if key}
        found: dict[str | None, int | None] = {None: None}
        if named:
            rows = model._default_manager.filter(batch=self.campaign.batch_id, key__in=named)
            found |= dict(rows.order_by().values_list("key", "pk"))
        return found


def _unit_rows(item: int, units: Iterable[SampledUnit], every: bool) -> Iterator[Row]:
    """Yield the rows of units that are asked or may still be sampled, or of `every` unit."""
    asked = [unit for unit in units if every or unit.drawn is not False]
    for position, unit in enumerate(asked):
        yield item, unit.spec.kind, unit.spec.key, unit.name, position


def _unit_draw_rows(item: int, units: Iterable[SampledUnit], seed: int) -> Iterator[Row]:
    for position, (_, spec, kind, wave, chance, drawn) in enumerate(units):
        yield item, spec.kind, spec.key, position, kind, seed, wave, chance, drawn
