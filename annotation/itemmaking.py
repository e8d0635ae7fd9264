"""Making a campaign's items and units from its batch, and writing them with their draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.design import Design, DesignError
from annotation.drawing import DrawnQuery, DrawnUnit, draw_several, draw_units
from annotation.models import Campaign, Item, Unit, UnitDraw
from annotation.presenting import items_of
from annotation.protocols.base import ItemSpec, Protocol
from annotation.relevance import Uses, relevance_of
from datasets import models as material
from datasets.db.bulk import Row, bulk_write, reserve
from datasets.material import stored_rows
from datasets.text import number_of_words

CHUNK = 500
_ITEM = (
    "id", "campaign_id", "key", "position", "query_id", "report_id", "passage_id",
    "key_point_id", "shown_passages", "passage_uses", "quota", "taken", "probability",
    "words",
)  # fmt: skip
_UNIT = ("item_id", "kind", "key", "name", "position")
_DRAW = (
    "item_id", "unit_kind", "key", "position", "kind", "seed", "wave", "probability", "drawn",
)  # fmt: skip


@dataclass(frozen=True)
class Drafted:
    """An item to be, and the passages that it shows where that is not all, with their uses."""

    query: int
    query_key: str
    spec: ItemSpec
    passages: list[str] | None
    uses: Uses | None


def drafted_items(campaign: Campaign, protocol: Protocol) -> Iterator[Drafted]:
    """Each query's items, in the batch's order; the campaign need not be stored.

    Raises DesignError where two items would have one key.
    """
    keys: set[str] = set()
    for query, row in stored_rows(campaign.batch, protocol.needs):
        left = relevance_of(campaign, row)
        shown, uses = (left.passages, left.uses) if left else (None, None)
        for spec in items_of(campaign, row, shown, uses):
            if not spec.units:
                continue
            if spec.key in keys:
                wrong = f"two items would have the key {spec.key!r}; rename an id in the batch"
                raise DesignError(wrong)
            if repeated := _repeated(spec):
                wrong = f"two units of item {spec.key!r} would have the key {repeated!r}"
                raise DesignError(f"{wrong}; rename an id in the batch")
            keys.add(spec.key)
            yield Drafted(query, row.id, spec, shown, uses)


def _repeated(spec: ItemSpec) -> str | None:
    """The key that two units of a kind would share: ids that hold a slash may join to the same."""
    counts = Counter((unit.kind, unit.key) for unit in spec.units)
    return next((key for (_, key), count in counts.items() if count > 1), None)


def share_out(campaign: Campaign, design: Design) -> None:
    """Leaves all its places to the drawn share of items, and one to each of the others."""
    asked = campaign.items.filter(quota__gt=0)
    kept = draw_several(list(asked.values_list("key", flat=True)), design)
    single = [item for item in asked.iterator() if item.key not in kept]
    for item in single:
        item.quota = 1
    Item.objects.bulk_update(single, ["quota"], batch_size=CHUNK)


class ItemWriter:
    """Writes items with their units, a chunk at a time."""

    def __init__(
        self,
        campaign: Campaign,
        design: Design,
        protocol: Protocol,
        queries: Mapping[str, DrawnQuery],
    ) -> None:
        self.campaign, self.design, self.protocol = campaign, design, protocol
        self.queries = queries
        self.chunk: list[tuple[int, Drafted]] = []

    def add(self, position: int, drafted: Drafted) -> None:
        self.chunk.append((position, drafted))
        if len(self.chunk) == CHUNK:
            self.flush()

    def flush(self) -> None:
        keys = reserve(Item, len(self.chunk))
        drawn = [
            (key, draw_units(of.spec.key, of.spec.units, self.design, self.protocol))
            for key, (_, of) in zip(keys, self.chunk, strict=True)
        ]
        bulk_write(Item, _ITEM, self._items(keys))
        bulk_write(Unit, _UNIT, (row for key, units in drawn for row in _units(key, units)))
        draws = (row for key, units in drawn for row in _draws(key, units, self.design.seed))
        bulk_write(UnitDraw, _DRAW, draws)
        self.chunk = []

    def _items(self, keys: Sequence[int]) -> Iterator[Row]:
        specs = [drafted.spec for _, drafted in self.chunk]
        reports = self._stored(material.Report, (spec.report for spec in specs))
        passages = self._stored(material.Passage, (spec.passage for spec in specs))
        points = self._stored(material.KeyPoint, (spec.key_point for spec in specs))
        for key, (position, drafted) in zip(keys, self.chunk, strict=True):
            spec, query = drafted.spec, self.queries[drafted.query_key]
            about = reports[spec.report], passages[spec.passage], points[spec.key_point]
            quota = self.design.raters_per_item if query.drawn else 0
            yield (
                key, self.campaign.pk, spec.key, position, drafted.query, *about,
                drafted.passages, drafted.uses, quota, 0, query.probability,
                sum(number_of_words(text.text) for text in spec.texts),
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


def _units(item: int, units: Iterable[DrawnUnit]) -> Iterator[Row]:
    """What is asked, or may yet be drawn."""
    asked = [unit for unit in units if unit.drawn is not False]
    for position, unit in enumerate(asked):
        yield item, unit.spec.kind, unit.spec.key, unit.name, position


def _draws(item: int, units: Iterable[DrawnUnit], seed: int) -> Iterator[Row]:
    for position, (_, spec, kind, wave, chance, drawn) in enumerate(units):
        yield item, spec.kind, spec.key, position, kind, seed, wave, chance, drawn
