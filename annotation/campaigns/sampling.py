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
from annotation.models import Campaign, Item, QuerySampling, UnitSampling
from annotation.protocols.base import Protocol
from tandem.protocols.base import UnitSpec, name_units

FIXED = ("reference",)
"""Kinds of texts that are not units, so that their order has no influence on labels."""


def rank(seed: int, purpose: str, key: str) -> bytes:
    """Return a key's rank in a seeded order: SHA-256 of seed, purpose and key, joined by NUL."""
    return hashlib.sha256(f"{seed}\0{purpose}\0{key}".encode()).digest()


def shuffled(keys: Iterable[str], seed: int, purpose: str) -> list[str]:
    return sorted(keys, key=lambda key: rank(seed, purpose, key))


def sample(keys: Sequence[str], count: int, seed: int, purpose: str) -> list[str]:
    """Return a sample of `count` keys, without replacement, in the order of `keys`."""
    sampled = set(shuffled(keys, seed, purpose)[:count])
    return [key for key in keys if key in sampled]


def share_of(total: int, share: float) -> int:
    """Return the rounded number for a share of `total`, at least one unless share or total is 0."""
    return min(total, max(1, round(share * total))) if share > 0 else 0


def shuffle_units(
    units: Sequence[UnitSpec], seed: int, purpose: str, query: str = ""
) -> list[UnitSpec]:
    """Return units in random order, with the sentences of a text together in reading order.

    Units that join a passage and an answer follow the passage, in the order of the answers. `query`
    is as for `shuffle_fields`.
    """

    def sort_key(unit: UnitSpec) -> tuple[bytes, ...]:
        texts = [_unit_key_of_field(field, query) for field in reversed(unit.of)] or [
            _text_key_of_unit(unit)
        ]
        return tuple(rank(seed, purpose, text) for text in texts)

    return sorted(units, key=sort_key)


def shuffle_fields(fields: Sequence[str], seed: int, purpose: str, query: str = "") -> list[str]:
    """Return the fields of texts, by kind, in the same order as `shuffle_units`.

    `query` is the query's key, with which the keys of its passages' units begin. Reference answers
    are left out, since they are not judged. Pages show them first, in their own order.
    """
    kinds = list(dict.fromkeys(field.partition(":")[0] for field in fields))

    def sort_key(field: str) -> tuple[int, bytes]:
        kind = field.partition(":")[0]
        return kinds.index(kind), rank(seed, purpose, _unit_key_of_field(field, query))

    return sorted((f for f in fields if f.partition(":")[0] not in FIXED), key=sort_key)


def _unit_key_of_field(field: str, query: str) -> str:
    """Return the key of the unit for a text."""
    kind, _, key = field.partition(":")
    return f"{query}/{key}" if kind == "passage" and query else key


def _text_key_of_unit(unit: UnitSpec) -> str:
    """Return the key of the text that is the unit, or that contains the unit's sentence."""
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


def sample_lines(campaign: Campaign) -> Iterator[Line]:
    """Yield the stored sample: a line per query and unit, sampled or not.

    The probability of a unit is conditional on its item being asked. That of its query is in the
    query's line.
    """
    yield from map(query_line, query_rows(campaign).iterator(chunk_size=CHUNK))
    yield from map(unit_line, unit_rows(campaign).iterator(chunk_size=CHUNK))


def query_rows(campaign: Campaign) -> QuerySet[QuerySampling]:
    rows = QuerySampling.objects.filter(campaign=campaign).select_related("query")
    return rows.order_by("query__position")


def unit_rows(campaign: Campaign) -> QuerySet[Any]:
    """Return the rows of units, annotated with the `role` of their query."""
    of = QuerySampling.objects.filter(campaign=campaign, query=OuterRef("item__query"))
    rows = UnitSampling.objects.filter(item__campaign=campaign).select_related("item__query")
    return rows.annotate(role=Subquery(of.values("role"))).order_by("item__position", "position")


def query_line(row: QuerySampling) -> Line:
    return _line(
        row, of="query", query=row.query.key, role=row.role, role_probability=row.role_probability
    )


def unit_line(row: Any) -> Line:
    """Return the line of one of `unit_rows`."""
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


def _line(row: QuerySampling | UnitSampling, **known: Any) -> Line:
    shared = {name: getattr(row, name) for name in _SHARED}
    return {name: (shared | known).get(name) for name in COLUMNS}


def summary(campaign: Campaign) -> Line:
    """Return the numbers of queries and units that were sampled, by kind and by split."""
    counted = numbers(campaign)
    roles: dict[str, dict[str, int]] = {}
    for what, number in sorted(counted.items()):
        if what.startswith("queries/"):
            _, role, drawn = what.split("/")
            counts = roles.setdefault(role, {"queries": 0, "asked": 0})
            counts["queries"] += number
            counts["asked"] += number if drawn == "drawn" else 0
    units = {name: counted.get(f"units/{name}", 0) for name in ("drawn", "left", "pending")}
    return {
        "queries": sum(counts["queries"] for counts in roles.values()),
        "queries_drawn": sum(counts["asked"] for counts in roles.values()),
        "units": sum(units.values()),
        "units_drawn": units["drawn"],
        "units_pending": units["pending"],
        "roles": roles,
        "gold": counted.get(f"items/{Item.Use.GOLD}", 0),
        "practice": counted.get(f"items/{Item.Use.PRACTICE}", 0),
    }


def sampled_queries(campaign: Campaign) -> QuerySet[QuerySampling, str]:
    """Return the keys of the queries that were sampled for people, in the batch's order."""
    rows = QuerySampling.objects.filter(campaign=campaign, drawn=True)
    return rows.order_by("query__position").values_list("query__key", flat=True)


DEVELOPMENT, EVALUATION, AUDIT = "development", "evaluation", "audit"
ASKED, OTHERS = "roles of queries for people", "roles of other queries"


class Split(NamedTuple):
    """A query's split, and the chance with which it got that split."""

    name: str
    probability: float


def sample_splits(
    keys: Sequence[str], asked: Collection[str], development: float, audit: float, seed: int
) -> dict[str, Split]:
    """Return the split of each query: first development, then audit, in a seeded order."""
    kept = set(asked)
    found: dict[str, Split] = {}
    for purpose, part in (
        (ASKED, [key for key in keys if key in kept]),
        (OTHERS, [key for key in keys if key not in kept]),
    ):
        found |= _sample_part(part, development, audit, seed, purpose)
    return found


def _sample_part(
    keys: Sequence[str], development: float, audit: float, seed: int, purpose: str
) -> dict[str, Split]:
    total = len(keys)
    first = share_of(total, development)
    second = min(share_of(total, audit), total - first)
    numbers = {DEVELOPMENT: first, AUDIT: second, EVALUATION: total - first - second}
    names = [name for name, number in numbers.items() for _ in range(number)]
    order = shuffled(keys, seed, purpose)
    return {key: Split(name, numbers[name] / total) for key, name in zip(order, names, strict=True)}


PEOPLE, SEVERAL = "queries for people", "items for several people"
SAME = "same"
"""The kind of sampling of a unit that takes the labels of an equal one."""
CHOSEN, NONE = "chosen", "none"
"""The kinds of a query's sampling where the items were chosen, or only judges are asked."""


class SampledQuery(NamedTuple):
    kind: str
    drawn: bool
    probability: float
    role: Split


class SampledUnit(NamedTuple):
    """A unit by its name. `drawn` and `probability` are None if it is sampled later."""

    name: str
    spec: UnitSpec
    kind: str
    wave: int
    probability: float | None
    drawn: bool | None


def sample_queries(
    keys: Sequence[str],
    design: Design,
    roles: Mapping[str, Split] | None = None,
    chosen: Collection[str] = (),
) -> dict[str, SampledQuery]:
    """Return every query of a batch by its key.

    `roles` are the splits of the prerequisite, and `chosen` the queries of a design's chosen items.
    Chosen queries have the probability 1, and all others 0.
    """
    if design.chosen:
        asked = set(chosen)
        chances = {key: float(key in asked) for key in keys}
        kind = CHOSEN
    else:
        count = share_of(len(keys), design.human_share)
        asked = set(sample(keys, count, design.seed, PEOPLE))
        chances = dict.fromkeys(keys, count / max(1, len(keys)))
        kind = "all" if count == len(keys) else "simple"
    if roles is None:
        roles = sample_splits(keys, asked, design.development, design.audit, design.seed)
    if design.is_for_judges:
        # The splits are those of a campaign that asks people the same queries with the same seed.
        kind, asked, chances = NONE, set(), dict.fromkeys(keys, 0.0)
    return {key: SampledQuery(kind, key in asked, chances[key], roles[key]) for key in keys}


def sample_shared_items(keys: Sequence[str], design: Design) -> set[str]:
    """Return the items for people that get all their slots. The others get one slot."""
    if design.raters_per_item == 1:
        return set(keys)
    count = share_of(len(keys), design.overlap)
    return set(sample(keys, count, design.seed, SEVERAL))


def sample_units(
    item: str, units: Sequence[UnitSpec], design: Design, protocol: Protocol
) -> list[SampledUnit]:
    """Return every unit that an item may ask, in the item's order.

    One with the labels of an equal unit is not asked: its kind is `same`.
    """
    named = name_units(units)
    kind = sampling_kind(design, protocol)
    if kind in ("turns", "own"):
        return [SampledUnit(n, unit, kind, 2, None, None) for n, unit in named.items()]
    names = list(named)
    if kind == "simple":
        names = sample(names, design.per_passage, design.seed, f"units of {item}")
    chance, kept = len(names) / max(1, len(named)), set(names)
    return [
        SampledUnit(n, unit, SAME, 1, 0.0, False)
        if unit.same_as
        else SampledUnit(n, unit, kind, 1, chance, n in kept)
        for n, unit in named.items()
    ]


def asks_judges_more(design: Design, protocol: Protocol) -> bool:
    """Whether judges are asked every unit, and people a sample that is drawn at creation."""
    return design.judge_sampling == "all" and sampling_kind(design, protocol) == "simple"


def sampling_kind(design: Design, protocol: Protocol) -> str:
    """Return how a campaign samples units: see `UnitSampling`."""
    if not protocol.sampled or design.sampling == "all":
        return "all"
    if not design.prerequisite:
        return "simple"
    return "own" if design.sampling == "own" else "turns"
