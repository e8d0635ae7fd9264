"""Replay: repeat a campaign's sampling from its seed; its stored sample as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from annotation.campaign_setup.creation import splits_before
from annotation.campaign_setup.items import asked_items
from annotation.campaigns.design import Design
from annotation.campaigns.sampling import (
    COLUMNS,
    SampledQuery,
    sample_lines,
    sample_queries,
    sample_shared_items,
    sample_units,
)
from annotation.exports.rows import chunks
from annotation.exposure.ledger import is_collecting, saw_answers
from annotation.models import Campaign, Item, QuerySampling, Unit, UnitSampling
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.rubric_passage import alternating, chances
from annotation.presentation import design as design_of
from annotation.presentation import has_audiences, schema
from annotation.protocols.base import Protocol
from annotation.registry import get_protocol
from annotation.trust.draws import slots_by_plans
from datasets.work import Options, Progress, Result
from tandem.files.spreadsheet import write_rows
from tandem.grouping import grouped
from tandem.protocols.base import UnitSpec, kinds_of, name_units

CHUNK = 200
CLOSE = 2.0**-30


def differences(campaign: Campaign) -> Iterator[str]:
    """Yield a line for each query, item or unit whose stored sample differs from the replay."""
    yield from differences_of_queries(campaign)
    yield from _units(campaign, design_of(campaign))


def differences_of_queries(campaign: Campaign) -> Iterator[str]:
    """Yield the differences of queries and slots only."""
    design = design_of(campaign)
    drawn = _sampled(campaign, design)
    yield from _queries(campaign, design, drawn)
    yield from _quotas(campaign, design, drawn)


def slots_of_design(campaign: Campaign) -> dict[str, int]:
    """Return the slots that the design gives each study item, by its key; plans may change them."""
    design = design_of(campaign)
    return _slots(campaign, design, _sampled(campaign, design))


def _sampled(campaign: Campaign, design: Design) -> Mapping[str, SampledQuery]:
    keys = list(campaign.batch.queries.values_list("key", flat=True))
    items = campaign.items.order_by().values_list("query__key", flat=True)
    chosen = set(items) if design.chosen else ()
    return sample_queries(keys, design, splits_before(campaign), chosen)


def _queries(
    campaign: Campaign, design: Design, drawn: Mapping[str, SampledQuery]
) -> Iterator[str]:
    rows = QuerySampling.objects.filter(campaign=campaign).select_related("query")
    stored = {row.query.key: row for row in rows}
    for key, fresh in drawn.items():
        row = stored.pop(key, None)
        if row is None:
            yield f"query {key!r} has no stored sample"
            continue
        stored_facts = (row.kind, row.drawn, row.role, row.seed)
        if stored_facts != (fresh.kind, fresh.drawn, fresh.role.name, design.seed):
            was, now = _describe(row.drawn, row.role), _describe(fresh.drawn, fresh.role.name)
            yield f"query {key!r} is stored as {was}, and replayed as {now}"
        elif (
            abs(row.probability - fresh.probability) > CLOSE
            or abs(row.role_probability - fresh.role.probability) > CLOSE
        ):
            yield f"query {key!r} is stored with another probability than the replay gives"
    yield from (f"query {key!r} is sampled, but not in the batch" for key in stored)


def _describe(is_sampled: bool, split: str) -> str:
    return f"{'sampled' if is_sampled else 'left out'} for {split}"


def _quotas(campaign: Campaign, design: Design, drawn: Mapping[str, SampledQuery]) -> Iterator[str]:
    """Compare slots, which follow from the samples, and from the draws of plans."""
    slots, drawn_by_plans = _slots(campaign, design, drawn), slots_by_plans(campaign)
    rows = campaign.items.filter(use=Item.Use.STUDY).order_by("position")
    for key, quota in rows.values_list("key", "quota"):
        if quota != (fresh := drawn_by_plans.get(key, slots[key])):
            yield f"item {key!r} has {quota} slots, and the replay gives {fresh}"


def _slots(campaign: Campaign, design: Design, drawn: Mapping[str, SampledQuery]) -> dict[str, int]:
    every = _items_for_people(campaign).order_by().values_list("key", "query__key")
    asked = [key for key, query in every if drawn[query].drawn]
    several, for_people = sample_shared_items(asked, design), set(asked)
    keys = campaign.items.filter(use=Item.Use.STUDY).order_by().values_list("key", flat=True)
    return {
        key: (design.raters_per_item if key in several else 1) if key in for_people else 0
        for key in keys
    }


def _items_for_people(campaign: Campaign) -> QuerySet[Item]:
    if not has_audiences(campaign):
        return campaign.items.all()
    kinds = kinds_of(schema(campaign, "people").variables)
    return campaign.items.filter(Exists(Unit.objects.filter(item=OuterRef("pk"), kind__in=kinds)))


def _units(campaign: Campaign, design: Design) -> Iterator[str]:
    pks = dict(campaign.items.values_list("key", "pk"))
    protocol = get_protocol(campaign)
    for chunk in chunks(asked_items(campaign, protocol, design), CHUNK):
        items = [pks[each.spec.key] for each in chunk if each.spec.key in pks]
        sampled = UnitSampling.objects.filter(item__in=items).order_by("item", "position")
        stored = grouped((row.item_id, row) for row in sampled)
        for each in chunk:
            key = each.spec.key
            if key not in pks:
                yield f"item {key!r} is in the batch, but not in the campaign"
            else:
                rows = stored.get(pks[key], [])
                yield from differences_of_units(key, each.spec.units, rows, design, protocol)


def differences_of_units(
    item: str,
    units: Sequence[UnitSpec],
    rows: list[UnitSampling],
    design: Design,
    protocol: Protocol,
) -> Iterator[str]:
    """Yield the differences of all units that one item may ask."""
    fresh = sample_units(item, units, design, protocol)
    if not rows:
        yield f"item {item!r} has no stored sample of units"
        return
    stored = [(row.unit_kind, row.key) for row in rows]
    if stored != [(unit.spec.kind, unit.spec.key) for unit in fresh]:
        yield f"item {item!r} has other units in its sample than the batch gives"
        return
    later = _later(item, rows, design)
    for row, unit in zip(rows, fresh, strict=True):
        drawn, chance = unit.drawn, unit.probability
        if unit.kind == "turns" and row.drawn is not None:
            drawn, chance = unit.name in later, later.get(unit.name, row.probability)
        same = (row.kind, row.wave, row.seed, row.drawn) == (
            unit.kind,
            unit.wave,
            design.seed,
            drawn,
        )
        if not same or (chance is not None and abs((row.probability or 0.0) - chance) > CLOSE):
            yield f"unit {row.key!r} of item {item!r} is stored differently from its replay"


def saw_sample(campaign: Campaign) -> None:
    """Note a look at the stored sample, whose strata follow the answers of the prerequisite."""
    strata = UnitSampling.objects.filter(item__campaign=campaign).exclude(stratum="")
    if is_collecting() and strata.exists():
        for first in Campaign.objects.filter(name=prerequisite_of(campaign)):
            saw_answers("sample", first)


def _later(item: str, rows: list[UnitSampling], design: Design) -> dict[str, float]:
    """Return the names that sampling by turns selects from stored strata, with their chances."""
    if not any(row.kind == "turns" and row.drawn is not None for row in rows):
        return {}
    names = list(name_units(UnitSpec(row.unit_kind, row.key, "") for row in rows))
    strata = {name: row.stratum for name, row in zip(names, rows, strict=True) if row.stratum}
    drawn = alternating(names, strata, design.per_passage, design.seed, f"units of {item}")
    chance = chances(names, strata, design.per_passage)
    return {name: chance[name] for name in drawn}


SAMPLE = "draws"


def question(campaign: Campaign) -> dict[str, Any]:
    return {"campaign": campaign.pk}


def state(options: Options) -> Any:
    """Return a state that changes when more is sampled; the earlier sample never changes."""
    of = options["campaign"]
    rows = (
        QuerySampling.objects.filter(campaign=of),
        UnitSampling.objects.filter(item__campaign=of),
        UnitSampling.objects.filter(item__campaign=of).exclude(drawn=None),
    )
    return [each.aggregate(number=Count("pk"), newest=Max("pk")) for each in rows]


def carry_out(options: Options, progress: Progress) -> Result:
    campaign = Campaign.objects.get(pk=options["campaign"])
    saw_sample(campaign)
    lines = (each.encode() for each in write_rows(COLUMNS, sample_lines(campaign)))
    return Result(lines, f"draws-{campaign.pk}.csv", "text/csv")
