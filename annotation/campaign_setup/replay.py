"""Replay: repeats a campaign's sampling from its seed and compares it with what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from annotation.campaign_setup.creation import drafted_items, roles_before
from annotation.campaigns.design import Design
from annotation.campaigns.sampling import DrawnQuery, draw_queries, draw_several, draw_units
from annotation.exports.rows import chunks
from annotation.models import Campaign, Item, QueryDraw, UnitDraw
from annotation.prerequisites.rubric_passage import alternating, chances
from annotation.presentation import design as design_of
from annotation.protocols.base import Protocol, UnitSpec, name_units
from annotation.registry import declared

CHUNK = 200
CLOSE = 1e-9


def differences(campaign: Campaign) -> Iterator[str]:
    """A line for each query, item or unit whose stored draw is another than the fresh one."""
    yield from differences_of_queries(campaign)
    yield from _units(campaign, design_of(campaign))


def differences_of_queries(campaign: Campaign) -> Iterator[str]:
    """The same of queries and of places alone."""
    design = design_of(campaign)
    keys = list(campaign.batch.queries.values_list("key", flat=True))
    drawn = draw_queries(keys, design, roles_before(campaign))
    yield from _queries(campaign, design, drawn)
    yield from _quotas(campaign, design, drawn)


def _queries(campaign: Campaign, design: Design, drawn: Mapping[str, DrawnQuery]) -> Iterator[str]:
    rows = QueryDraw.objects.filter(campaign=campaign).select_related("query")
    stored = {row.query.key: row for row in rows}
    for key, fresh in drawn.items():
        row = stored.pop(key, None)
        if row is None:
            yield f"query {key!r} has no stored draw"
            continue
        told = (row.kind, row.drawn, row.role, row.seed)
        if told != (fresh.kind, fresh.drawn, fresh.role.name, design.seed):
            yield f"query {key!r} is stored as {_words(row)}, and drawn anew as {_fresh(fresh)}"
        elif (
            abs(row.probability - fresh.probability) > CLOSE
            or abs(row.role_probability - fresh.role.probability) > CLOSE
        ):
            yield f"query {key!r} is stored with another probability than the draw gives"
    yield from (f"query {key!r} is drawn, and not in the batch" for key in stored)


def _words(row: QueryDraw) -> str:
    return f"{'drawn' if row.drawn else 'left out'} for {row.role}"


def _fresh(row: DrawnQuery) -> str:
    return f"{'drawn' if row.drawn else 'left out'} for {row.role.name}"


def _quotas(campaign: Campaign, design: Design, drawn: Mapping[str, DrawnQuery]) -> Iterator[str]:
    """Places follow from two draws: of the query, and of the items with several people."""
    rows = list(
        campaign.items.filter(use=Item.Use.STUDY)
        .order_by("position")
        .values_list("key", "query__key", "quota")
    )
    every = campaign.items.order_by("position").values_list("key", "query__key")
    several = draw_several([key for key, query in every if drawn[query].drawn], design)
    for key, query, quota in rows:
        fresh = design.raters_per_item if key in several else 1
        if quota != (fresh := fresh if drawn[query].drawn else 0):
            yield f"item {key!r} has {quota} places, and the draw gives {fresh}"


def _units(campaign: Campaign, design: Design) -> Iterator[str]:
    pks = dict(campaign.items.values_list("key", "pk"))
    protocol = declared(campaign)
    for chunk in chunks(drafted_items(campaign, protocol), CHUNK):
        wanted = [pks[each.spec.key] for each in chunk if each.spec.key in pks]
        stored: dict[int, list[UnitDraw]] = {}
        for row in UnitDraw.objects.filter(item__in=wanted).order_by("item", "position"):
            stored.setdefault(row.item_id, []).append(row)
        for each in chunk:
            key = each.spec.key
            if key not in pks:
                yield f"item {key!r} is in the batch, and not in the campaign"
            else:
                rows = stored.get(pks[key], [])
                yield from differences_of_units(key, each.spec.units, rows, design, protocol)


def differences_of_units(
    item: str, units: Sequence[UnitSpec], rows: list[UnitDraw], design: Design, protocol: Protocol
) -> Iterator[str]:
    """The same of one item, of all units that it may ask."""
    fresh = draw_units(item, units, design, protocol)
    if not rows:
        yield f"item {item!r} has no stored draw of units"
        return
    there = [(row.unit_kind, row.key) for row in rows]
    if there != [(unit.spec.kind, unit.spec.key) for unit in fresh]:
        yield f"item {item!r} has other units in its draw than the batch gives"
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
            yield f"unit {row.key!r} of item {item!r} is stored otherwise than it is drawn anew"


def _later(item: str, rows: list[UnitDraw], design: Design) -> dict[str, float]:
    """The names that a draw by turns takes, with their chances, from the strata that it kept."""
    if not any(row.kind == "turns" and row.drawn is not None for row in rows):
        return {}
    names = list(name_units(UnitSpec(row.unit_kind, row.key, "") for row in rows))
    strata = {name: row.stratum for name, row in zip(names, rows, strict=True) if row.stratum}
    drawn = alternating(names, strata, design.per_passage, design.seed, f"units of {item}")
    chance = chances(names, strata, design.per_passage)
    return {name: chance[name] for name in drawn}
