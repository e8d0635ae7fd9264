"""The stored draw of a campaign as lines: one for each query, then one for each unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.models import Campaign, Item, QueryDraw, UnitDraw

Line = dict[str, Any]
COLUMNS = (
    "of", "query", "item", "unit", "unit_kind", "kind", "seed", "wave", "stratum", "probability",
    "drawn", "role", "role_probability", "use",
)  # fmt: skip
_UNIT = (
    "item__query_id", "item__query__key", "item__key", "key", "unit_kind", "kind", "seed", "wave",
    "stratum", "probability", "drawn", "item__use",
)  # fmt: skip


def draws(campaign: Campaign) -> Iterator[Line]:
    """Drawn or not. A unit's probability holds once its item is asked; its query's stands above."""
    roles: dict[int, str] = {}
    rows = QueryDraw.objects.filter(campaign=campaign).select_related("query")
    for row in rows.order_by("query__position").iterator(chunk_size=2000):
        roles[row.query_id] = row.role
        yield _line(
            of="query", query=row.query.key, kind=row.kind, seed=row.seed, wave=row.wave,
            probability=row.probability, drawn=row.drawn, role=row.role,
            role_probability=row.role_probability,
        )  # fmt: skip
    units = UnitDraw.objects.filter(item__campaign=campaign).order_by("item__position", "position")
    for (
        query,
        key,
        item,
        unit,
        of,
        kind,
        seed,
        wave,
        stratum,
        chance,
        drawn,
        use,
    ) in units.values_list(*_UNIT).iterator(chunk_size=2000):
        yield _line(
            of="unit", query=key, item=item, unit=unit, unit_kind=of, kind=kind, seed=seed,
            wave=wave, stratum=stratum or None, probability=chance, drawn=drawn,
            role=roles.get(query), use=use,
        )  # fmt: skip


def _line(**known: Any) -> Line:
    return {name: known.get(name) for name in COLUMNS}


def summary(campaign: Campaign) -> Line:
    """How many queries and units were drawn, by kind and by role."""
    queries = QueryDraw.objects.filter(campaign=campaign)
    units = UnitDraw.objects.filter(item__campaign=campaign)
    roles: dict[str, dict[str, int]] = {}
    for role, drawn in queries.order_by().values_list("role", "drawn"):
        counts = roles.setdefault(role, {"queries": 0, "asked": 0})
        counts["queries"] += 1
        counts["asked"] += bool(drawn)
    uses = Item.objects.filter(campaign=campaign).exclude(use=Item.Use.STUDY)
    return {
        "queries": queries.count(),
        "queries_drawn": queries.filter(drawn=True).count(),
        "units": units.count(),
        "units_drawn": units.filter(drawn=True).count(),
        "units_pending": units.filter(drawn=None).count(),
        "roles": dict(sorted(roles.items())),
        "gold": uses.filter(use=Item.Use.GOLD).count(),
        "practice": uses.filter(use=Item.Use.PRACTICE).count(),
    }
