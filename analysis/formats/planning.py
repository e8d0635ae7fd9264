"""What it would take to narrow the intervals of a report's headlines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analysis.formats.document import DASH, Block, Cell, Number, Table, Who

JSON = dict[str, Any]

ABOUT = (
    "for queries like these; raters are the people who label each unit, and what more of them "
    "would add is a rough guess"
)
HEADER = ("Of", "Width now", "Queries", "More queries", "Raters a unit", "More raters")


def planning_blocks(variable: JSON) -> list[Block]:
    """One block, or none in a report that was frozen before there were plans."""
    plans = variable.get("planning")
    if not plans:
        return []
    rows = [_row("Krippendorff's alpha of people", plans["agreement"])]
    rows += [
        _row(Who(f"Cohen's kappa of {name}", "judge"), of) for name, of in plans["judges"].items()
    ]
    return [Block("Planning", (_table(plans["width"], rows),), ABOUT)]


def planning_tables(score: JSON) -> list[Table]:
    """The same for the mean of people by system."""
    plans = score.get("planning")
    if not plans or not plans["systems"]:
        return []
    rows = [
        _row(f"{system or DASH}, mean of people", of["mean"])
        for system, of in plans["systems"].items()
    ]
    return [_table(plans["width"], rows)]


def _table(width: float, rows: Iterable[tuple[Cell, ...]]) -> Table:
    return Table(f"What an interval of width {width:g} would take", HEADER, tuple(rows))


def _row(name: Cell, plan: JSON) -> tuple[Cell, ...]:
    queries, raters = plan["queries"], plan["raters"]
    width = Number(plan["interval_width"], reason=str(queries.get("reason", "")))
    return (name, width, *_numbers(queries), *_numbers(raters))


def _numbers(plan: Mapping[str, Any]) -> tuple[Number, Number]:
    """Both; the reason why there is none is told once."""
    needed = Number(plan["needed"], reason=plan.get("reason", ""), digits=0)
    return needed, Number(plan["more"], digits=0)
