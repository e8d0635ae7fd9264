"""The stored draw of a campaign as lines: one for each query, then one for each unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from annotation.models import Campaign, Item, QueryDraw, UnitDraw

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
