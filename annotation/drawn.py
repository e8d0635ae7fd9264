"""The stored draw of a campaign as lines: one for each query, then one for each unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from annotation.models import Campaign, Item, QueryDraw, UnitDraw
from annotation.tallies.reading import numbers

Line = dict[str, Any]
CHUNK = 2000
_SHARED = ("kind", "seed", "wave", "probability", "drawn")
COLUMNS = (
    "of", "query", "item", "unit", "unit_kind", "kind", "seed", "wave", "stratum", "probability",
    "drawn", "role", "role_probability", "use",
)  # fmt: skip


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
        row, of="unit", query=item.query.key, item=item.key, unit=row.key,
        unit_kind=row.unit_kind, stratum=row.stratum or None, role=row.role, use=item.use,
    )  # fmt: skip


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
