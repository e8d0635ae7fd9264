"""Seeded sampling of queries, items, units and splits, and the stored sample as lines.

Every choice ranks keys by SHA-256 of the seed, the purpose and the key, so that anyone can repeat
it in any language. `annotation.campaign_setup.creation` stores the sample, and `replay` compares
it with a new one. Splits (development, evaluation, audit) are drawn separately among the queries
that people are asked and among the others, so that each split has its share of both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery

from annotation.campaigns.design import Design
from annotation.counters import numbers
from annotation.models import Campaign, Item, QueryDraw, UnitDraw
from annotation.protocols.base import Protocol, UnitSpec, name_units

FIXED = ("reference",)
"""Kinds of texts that are no unit, so that their order sways nothing."""


def rank(seed: int, purpose: str, key: str) -> bytes:
    """The place of a key in a seeded order: SHA-256 of seed, purpose and key, NUL between them."""
    return hashlib.sha256(f"{seed}\0{purpose}\0{key}".encode()).digest()


def shuffled(keys: Iterable[str], seed: int, purpose: str) -> list[str]:
    return sorted(keys, key=lambda key: rank(seed, purpose, key))


def draw(keys: Sequence[str], count: int, seed: int, purpose: str) -> list[str]:
    """`count` of the keys at random, without replacement, in their given order."""
    drawn = set(shuffled(keys, seed, purpose)[:count])
    return [key for key in keys if key in drawn]


def share_of(total: int, share: float) -> int:
    """How many a share is: rounded, and at least one where there is anything to draw from."""
    return min(total, max(1, round(share * total))) if share > 0 else 0


def shuffle_units(
    units: Sequence[UnitSpec], seed: int, purpose: str, query: str = ""
) -> list[UnitSpec]:
    """Units in random order, the sentences of a text still behind it and in reading order.

    What joins a passage and an answer stands behind the passage, in the order of the answers.
    `query` is as for `shuffle_fields`.
    """

    def place(unit: UnitSpec) -> tuple[bytes, ...]:
        texts = [_unit_of(field, query) for field in reversed(unit.of)] or [_text_of(unit)]
        return tuple(rank(seed, purpose, text) for text in texts)

    return sorted(units, key=place)


def shuffle_fields(fields: Sequence[str], seed: int, purpose: str, query: str = "") -> list[str]:
    """The fields of texts, each kind by itself, in the order of `shuffle_units` for the same texts.

    `query` is the query's key, with which the units of its passages begin. Reference answers, which
    nobody judges, are none of them: they stand first, in their own order.
    """
    kinds = list(dict.fromkeys(field.partition(":")[0] for field in fields))

    def place(field: str) -> tuple[int, bytes]:
        kind = field.partition(":")[0]
        return kinds.index(kind), rank(seed, purpose, _unit_of(field, query))

    return sorted((f for f in fields if f.partition(":")[0] not in FIXED), key=place)


def _unit_of(field: str, query: str) -> str:
    """The key of the unit that a text would be."""
    kind, _, key = field.partition(":")
    return f"{query}/{key}" if kind == "passage" and query else key


def _text_of(unit: UnitSpec) -> str:
    """The key of the text that a unit is, or that a sentence stands in."""
    return unit.key.rpartition("#")[0] if unit.kind.endswith("sentence") else unit.key


Line = dict[str, Any]
CHUNK = 2000
_SHARED = ("kind", "seed", "wave", "probability", "drawn")
COLUMNS = (
    "of",
    "query",
    "item",
    "unit",
    "unit_kind",
    "kind",
    "seed",
    "wave",
    "stratum",
    "probability",
    "drawn",
    "role",
    "role_probability",
    "use",
)


def draws(campaign: Campaign) -> Iterator[Line]:
    """Drawn or not. A unit's probability holds once its item is asked; its query's stands above."""
    yield from map(query_line, query_rows(campaign).iterator(chunk_size=CHUNK))
    yield from map(unit_line, unit_rows(campaign).iterator(chunk_size=CHUNK))


def query_rows(campaign: Campaign) -> QuerySet[QueryDraw]:
    rows = QueryDraw.objects.filter(campaign=campaign).select_related("query")
    return rows.order_by("query__position")


def unit_rows(campaign: Campaign) -> QuerySet[Any]:
    """With the `role` of their query."""
    of = QueryDraw.objects.filter(campaign=campaign, query=OuterRef("item__query"))
    rows = UnitDraw.objects.filter(item__campaign=campaign).select_related("item__query")
    return rows.annotate(role=Subquery(of.values("role"))).order_by("item__position", "position")


def query_line(row: QueryDraw) -> Line:
    return _line(
        row, of="query", query=row.query.key, role=row.role, role_probability=row.role_probability
    )


def unit_line(row: Any) -> Line:
    """Of one of `unit_rows`."""
    item = row.item
    return _line(
        row,
        of="unit",
        query=item.query.key,
        item=item.key,
        unit=row.key,
        unit_kind=row.unit_kind,
        stratum=row.stratum or None,
        role=row.role,
        use=item.use,
    )


def _line(row: QueryDraw | UnitDraw, **known: Any) -> Line:
    shared = {name: getattr(row, name) for name in _SHARED}
    return {name: (shared | known).get(name) for name in COLUMNS}


def summary(campaign: Campaign) -> Line:
    """How many queries and units were drawn, by kind and by role."""
    there = numbers(campaign)
    roles: dict[str, dict[str, int]] = {}
    for what, number in sorted(there.items()):
        if what.startswith("queries/"):
            _, role, drawn = what.split("/")
            counts = roles.setdefault(role, {"queries": 0, "asked": 0})
            counts["queries"] += number
            counts["asked"] += number if drawn == "drawn" else 0
    units = {name: there.get(f"units/{name}", 0) for name in ("drawn", "left", "pending")}
    return {
        "queries": sum(counts["queries"] for counts in roles.values()),
        "queries_drawn": sum(counts["asked"] for counts in roles.values()),
        "units": sum(units.values()),
        "units_drawn": units["drawn"],
        "units_pending": units["pending"],
        "roles": roles,
        "gold": there.get(f"items/{Item.Use.GOLD}", 0),
        "practice": there.get(f"items/{Item.Use.PRACTICE}", 0),
    }


DEVELOPMENT, EVALUATION, AUDIT = "development", "evaluation", "audit"
ASKED, OTHERS = "roles of queries for people", "roles of other queries"


class Role(NamedTuple):
    """A query's role, and the chance with which it got that one."""

    name: str
    probability: float


def draw_roles(
    keys: Sequence[str], asked: Collection[str], development: float, audit: float, seed: int
) -> dict[str, Role]:
    """The role of each query. The first of a seeded order are development, the next ones audit."""
    kept = set(asked)
    found: dict[str, Role] = {}
    for purpose, part in (
        (ASKED, [key for key in keys if key in kept]),
        (OTHERS, [key for key in keys if key not in kept]),
    ):
        found |= _part(part, development, audit, seed, purpose)
    return found


def _part(
    keys: Sequence[str], development: float, audit: float, seed: int, purpose: str
) -> dict[str, Role]:
    total = len(keys)
    first = share_of(total, development)
    second = min(share_of(total, audit), total - first)
    numbers = {DEVELOPMENT: first, AUDIT: second, EVALUATION: total - first - second}
    names = [name for name, number in numbers.items() for _ in range(number)]
    order = shuffled(keys, seed, purpose)
    return {key: Role(name, numbers[name] / total) for key, name in zip(order, names, strict=True)}


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
    if not protocol.sampled or design.sampling == "all":
        return "all"
    if not design.prerequisite:
        return "simple"
    return "own" if design.sampling == "own" else "turns"
