"""Check that the stored sample follows from the seed, and that the units match the sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from annotation.campaign_setup.replay import differences_of_queries, differences_of_units
from annotation.campaigns.sampling import SAME, asks_judges_more
from annotation.exports.rows import chunks
from annotation.models import Campaign, Item, QuerySampling, Unit, UnitSampling
from annotation.presentation import design
from annotation.registry import get_protocol, is_known
from audit.violations import Check, Place, Violation
from tandem.grouping import grouped
from tandem.protocols.base import UnitSpec

CHECK = Check(
    "draws",
    "queries, slots and units are those that the campaign's seed samples, and each item asks the "
    "units of its sample",
    "Restore the rows of the sample from a backup, because its probabilities weight the estimates. "
    "`draws --check` repeats the sampling of a whole campaign and compares.",
)
CHUNK = 500


def find_violations(campaign: Campaign) -> Iterator[Violation]:
    if not is_known(campaign):
        return
    first = campaign.options.get("prerequisite")
    # Splits come from the prerequisite. Without it, they cannot be replayed.
    if not first or QuerySampling.objects.filter(campaign__name=first).exists():
        for line in differences_of_queries(campaign):
            yield _of_campaign(campaign, line)
    # Campaigns older than stored samples have no sampled units.
    if UnitSampling.objects.filter(item__campaign=campaign).exists():
        yield from _of_items(campaign)


def _of_items(campaign: Campaign) -> Iterator[Violation]:
    chosen, protocol = design(campaign), get_protocol(campaign)
    more = asks_judges_more(chosen, protocol)
    items = campaign.items.order_by("pk").values_list("pk", "key").iterator(chunk_size=CHUNK)
    for chunk in chunks(items, CHUNK):
        keys = [pk for pk, _ in chunk]
        drawn, asked = _sampled_units(keys), _asked_units(keys)
        for pk, key in chunk:
            rows = drawn.get(pk, [])
            units = [_unit_of(row) for row in rows]
            for line in differences_of_units(key, units, rows, chosen, protocol):
                yield _of_item(campaign, pk, key, line)
            left = {(row.unit_kind, row.key) for row in rows if more or row.drawn is not False}
            if rows and _has_final_sample(rows) and left != asked.get(pk, set()):
                line = f"item {key!r} asks other units than those of its sample"
                yield _of_item(campaign, pk, key, line)


def _unit_of(row: UnitSampling) -> UnitSpec:
    same_as = (str(row.item_id), row.key) if row.kind == SAME else None
    return UnitSpec(row.unit_kind, row.key, "", same_as=same_as)


def _has_final_sample(rows: Sequence[UnitSampling]) -> bool:
    """Whether the units were sampled at creation. If not, the item has all units until then."""
    return all(row.kind in ("all", "simple", SAME) for row in rows)


def _sampled_units(items: Sequence[int]) -> dict[int, list[UnitSampling]]:
    rows = UnitSampling.objects.filter(item__in=items).order_by("item", "position")
    return grouped((row.item_id, row) for row in rows)


def _asked_units(items: Sequence[int]) -> dict[int, set[tuple[str, str]]]:
    found: dict[int, set[tuple[str, str]]] = defaultdict(set)
    rows = Unit.objects.filter(item__in=items).order_by()
    for item, kind, key in rows.values_list("item_id", "kind", "key"):
        found[item].add((kind, key))
    return found


def _of_campaign(campaign: Campaign, line: str) -> Violation:
    place: Place = {"campaign": campaign.name, "table": Campaign._meta.db_table, "id": campaign.pk}
    return Violation(CHECK.name, f"campaign {campaign.name}: {line}", place)


def _of_item(campaign: Campaign, pk: int, key: str, line: str) -> Violation:
    place: Place = {"campaign": campaign.name, "item": key, "table": Item._meta.db_table, "id": pk}
    return Violation(CHECK.name, f"campaign {campaign.name}: {line}", place)
