"""The draws of a design, made anew from the batch and the seed alone: queries, items, units, roles.

`annotation.campaigns` stores them when a campaign is made, `annotation.redrawing` compares what is
stored with a fresh draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from annotation.assigning import draw, share_of
from annotation.design import Design
from annotation.protocols.base import Protocol, UnitSpec, name_units
from annotation.roles import Role, draw_roles

PEOPLE, SEVERAL = "queries for people", "items for several people"


class DrawnQuery(NamedTuple):
    kind: str
    drawn: bool
    probability: float
    role: Role


class DrawnUnit(NamedTuple):
    """A unit by its name. `drawn` and `probability` are None until a later draw."""

    name: str
    spec: UnitSpec
    kind: str
    wave: int
    probability: float | None
    drawn: bool | None


def draw_queries(
    keys: Sequence[str], design: Design, roles: Mapping[str, Role] | None = None
) -> dict[str, DrawnQuery]:
    """Every query of a batch by its key. `roles` are those of the campaign that comes first."""
    count = share_of(len(keys), design.human_share)
    asked = set(draw(keys, count, design.seed, PEOPLE))
    if roles is None:
        roles = draw_roles(keys, asked, design.development, design.audit, design.seed)
    kind = "all" if count == len(keys) else "simple"
    chance = count / len(keys) if keys else 1.0
    return {key: DrawnQuery(kind, key in asked, chance, roles[key]) for key in keys}


def draw_several(keys: Sequence[str], design: Design) -> set[str]:
    """The items, of those that people are asked, that get all their places; the others get one."""
    if design.overlap >= 1 or design.raters_per_item == 1:
        return set(keys)
    count = share_of(len(keys), design.overlap)
    return set(draw(keys, count, design.seed, SEVERAL))


def draw_units(
    item: str, units: Sequence[UnitSpec], design: Design, protocol: Protocol
) -> list[DrawnUnit]:
    """Every unit that an item may ask, in the item's order."""
    named = name_units(units)
    kind = kind_of_draw(design, protocol)
    if kind in ("turns", "own"):
        return [DrawnUnit(n, unit, kind, 2, None, None) for n, unit in named.items()]
    names = list(named)
    if kind == "simple":
        names = draw(names, design.per_passage, design.seed, f"units of {item}")
    chance, kept = len(names) / len(named) if named else 1.0, set(names)
    return [DrawnUnit(n, unit, kind, 1, chance, n in kept) for n, unit in named.items()]


def kind_of_draw(design: Design, protocol: Protocol) -> str:
    """How a campaign draws units: see `UnitDraw`."""
    if not protocol.drawn or design.sampling == "all":
        return "all"
    if not design.prerequisite:
        return "simple"
    return "own" if design.sampling == "own" else "turns"
