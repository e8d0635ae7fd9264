"""The papers' tables of a release, as `verify` checks them: their text, and where cells come from.

A table's text has to be what its JSON says. A cell that is a value of a campaign's measures has to
be that value, which `verify` computes again from the labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.evaluation.inputs import JOINT_EVALUATORS, TEXTS
from analysis.papers.rendering import as_markdown
from analysis.release.layout import MEASURES
from analysis.release.measures import TOLERANCE
from tandem.types import JSON


@dataclass
class TablesChecked:
    """What differs in a paper's tables, and how many of their cells have been compared."""

    wrong: list[str] = field(default_factory=list)
    compared: int = 0
    cells: int = 0


def check_tables(report: JSON, text: str, measures: Mapping[str, JSON]) -> TablesChecked:
    """Check a paper's tables; `measures` are the files of measures by campaign."""
    found = TablesChecked()
    if as_markdown(report) != text:
        found.wrong.append("the text is not that of the tables' JSON")
    for place, cell in _cells(report):
        found.cells += 1
        if not isinstance(cell, dict) or "from" not in cell:
            continue
        campaign, *path = cell["from"]
        known = _value_at(measures.get(campaign, {}).get("measures", {}), *path)
        if known is not None:
            found.compared += 1
            one, other = cell["value"], known["value"]
            if not np.isclose(_number(one), _number(other), rtol=0, atol=TOLERANCE, equal_nan=True):
                found.wrong.append(
                    f"{place}: {_said(one)}, and {_said(other)} in {MEASURES} of {campaign}"
                )
    return found


def _value_at(
    measures: JSON, name: str, system: str, by: str, stratum: str = "", value: str = ""
) -> JSON | None:
    """Return the estimate of a system by an evaluator, overall or in a slice; None without one."""
    of = measures.get(name, {})
    systems = of.get("slices", {}).get(stratum, {}).get(value, {}) if stratum else of.get("systems")
    said = (systems or {}).get(system) or {"raters": {}}
    found: JSON | None = said.get(by) or said["raters"].get(by)
    return found or (said.get(TEXTS) if by not in JOINT_EVALUATORS else None)


def _cells(report: JSON) -> Iterator[tuple[str, Any]]:
    """Yield each cell that is not a text, with its place."""
    for table in report["tables"]:
        for grid in table["grids"]:
            for row in grid["rows"]:
                for column, cell in zip(grid["columns"], row["cells"], strict=True):
                    if not isinstance(cell, str):
                        place = f"{table['name']}, {grid['caption']}, {row['name']}"
                        yield f"{place}, {column['name']}", cell


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _said(value: float | None) -> str:
    return "no value" if value is None else f"{value:g}"
