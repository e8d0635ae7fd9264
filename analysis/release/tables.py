"""The papers' tables of a release, as `verify` checks them: their text, and every cell.

A table's text has to be what its JSON says. Its cells have to be those that the release's batches,
labels and answers give. If a release has too little for that, cells that are values of a campaign's
measures have to be these values, which `verify` computes again from the labels.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from analysis.evaluation.inputs import JOINT_EVALUATORS, TEXTS
from analysis.papers.base import Paper
from analysis.papers.filling import fill_tables
from analysis.papers.material import Material
from analysis.papers.rendering import as_markdown
from analysis.release.layout import MEASURES
from analysis.release.measures import TOLERANCE
from tandem.labels.evaluators import evaluators_from_json
from tandem.scores.options import UNKNOWN
from tandem.types import JSON

_BAR = re.compile(r"(?<!\\)\|")


def differences_in_text(expected: str, text: str, name: str) -> Iterator[str]:
    """Yield each cell of the Markdown tables in the file `name` that differs, with its place.

    Any other line that differs is named by its number, and nothing after it.
    """
    table, caption, head = "", "", list[str]()
    lines = zip_longest(expected.split("\n"), text.split("\n"))
    for number, (line, found) in enumerate(lines, start=1):
        cells, others = _cells(line), _cells(found)
        if line != found:
            if not head or len(cells) != len(others) or len(cells) != len(head):
                yield f"line {number} of {name} is not that of the tables' JSON"
                return
            for column, one, other in zip(head, cells, others, strict=True):
                if one != other:
                    place = ", ".join(filter(None, (table, caption, cells[0], column)))
                    yield f"{place}: {other!r} in {name}, and {one!r} by the tables' JSON"
        if line is not None and line.startswith("## "):
            table, caption = line.removeprefix("## "), ""
        elif line is not None and line.startswith("**"):
            caption = line.strip("*")
        head = (head or cells) if cells else []


def _cells(line: str | None) -> list[str]:
    """Return the cells of a line of a table; none for another line."""
    if line is None or not line.startswith("|"):
        return []
    return [cell.strip() for cell in _BAR.split(line)[1:-1]]


Place = tuple[str, str, str, str, int]
"""A table, a grid, a row and a column, and a number from 0 among places of the same names."""
Cells = Mapping[Place, Any]
ORIGIN = "from"
PARTS = {"low": "lower end", "high": "upper end", "n": "n"}
"""The parts of an estimate besides its value, as differences name them."""


@dataclass
class TablesChecked:
    """What differs in a paper's tables, and how many of their cells have been compared."""

    wrong: list[str] = field(default_factory=list)
    compared: int = 0
    cells: int = 0


@dataclass(frozen=True)
class FilledAgain:
    """A paper's tables, filled again from a release. The `unknown` cells need a tokenizer's file.

    `tokenizer` is its name, which stands in the captions of grids that need it, too.
    """

    tables: Sequence[JSON]
    unknown: Collection[Place] = ()
    tokenizer: str = ""

    def knows(self, place: Place) -> bool:
        """Return whether a cell can be computed without the tokenizer's file."""
        of_tokens = self.tokenizer and f"({self.tokenizer})" in place[1]
        return place not in self.unknown and not of_tokens


def fill_again(
    paper: Paper, report: JSON, material: Callable[[str], Material], has_tokenizer: bool
) -> FilledAgain:
    """Fill a paper's tables again from the `material`, under a tokenizer or the default.

    Without the tokenizer's file, cells that differ as soon as nothing has tokens depend on it.
    """
    tables = _stored(fill_tables(paper, material("")))
    if has_tokenizer:
        return FilledAgain(tables)
    without = cells_of(_stored(fill_tables(paper, material(UNKNOWN))))
    with_default = cells_of(tables)
    places = dict.fromkeys((*with_default, *without))
    unknown = {p for p in places if with_default.get(p) != without.get(p)}
    return FilledAgain(tables, unknown, report["options"]["tokenizer"]["value"])


def _stored(tables: Sequence[JSON]) -> list[JSON]:
    """Return tables as a file has them."""
    found: list[JSON] = json.loads(json.dumps(tables))
    return found


def check_text(report: JSON, text: str, name: str) -> list[str]:
    """Return where the text of a paper's tables, in the file `name`, differs from their JSON."""
    return list(differences_in_text(as_markdown(report), text, name))


def check_cells(report: JSON, again: FilledAgain) -> TablesChecked:
    """Compare each cell of a paper's tables with the one that was filled again."""
    found = TablesChecked(list(_different_grids(report["tables"], again)))
    before, now = cells_of(report["tables"]), cells_of(again.tables)
    for place in dict.fromkeys((*before, *now)):
        counts = place in before and not isinstance(before[place], str)
        found.cells += counts
        if again.knows(place):
            found.compared += counts
            if wrong := _difference(place, before, now):
                found.wrong.append(f"{_named(place)}: {wrong}")
    return found


def check_measures(report: JSON, measures: Mapping[str, JSON]) -> TablesChecked:
    """Compare the cells that are measures; `measures` are the files of measures by campaign."""
    found, joint = TablesChecked(), {each.name for each in evaluators_from_json(report)}
    for place, cell in cells_of(report["tables"]).items():
        found.cells += not isinstance(cell, str)
        if not isinstance(cell, dict) or ORIGIN not in cell:
            continue
        campaign, *path = cell[ORIGIN]
        known = _value_at(measures.get(campaign, {}).get("measures", {}), joint, *path)
        if known is not None:
            found.compared += 1
            one, other = cell["value"], known["value"]
            if not _is_close(one, other):
                found.wrong.append(
                    f"{_named(place)}: {_said(one)}, and {_said(other)} in {MEASURES} of {campaign}"
                )
    return found


def _value_at(
    measures: JSON,
    joint: Collection[str],
    name: str,
    system: str,
    by: str,
    stratum: str = "",
    value: str = "",
) -> JSON | None:
    """Return the estimate of a system by an evaluator, overall or in a slice; None without one.

    A measure of the texts alone is the same by each evaluator. Those of judges in several campaigns
    are not in a campaign's file, so nothing stands there for them.
    """
    of = measures.get(name, {})
    systems = of.get("slices", {}).get(stratum, {}).get(value, {}) if stratum else of.get("systems")
    said = (systems or {}).get(system) or {"raters": {}}
    found: JSON | None = said.get(by) or said["raters"].get(by)
    return found or (None if by in JOINT_EVALUATORS or by in joint else said.get(TEXTS))


def cells_of(tables: Sequence[JSON]) -> dict[Place, Any]:
    """Return each cell by its place."""
    found: dict[Place, Any] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for table in tables:
        for grid in table["grids"]:
            for row in grid["rows"]:
                for column, cell in zip(grid["columns"], row["cells"], strict=True):
                    names = table["name"], grid["caption"], row["name"], column["name"]
                    found[*names, seen[names]] = cell
                    seen[names] += 1
    return found


def _different_grids(tables: Sequence[JSON], again: FilledAgain) -> Iterator[str]:
    """Yield each grid whose columns, or whatever else stands beside its rows, differ."""
    heads = [
        {(of["name"], grid["caption"]): _head(grid) for of in each for grid in of["grids"]}
        for each in (tables, again.tables)
    ]
    for name, caption in heads[0].keys() & heads[1].keys():
        if heads[0][name, caption] != heads[1][name, caption]:
            yield f"{name}, {caption}: its columns, evaluator or data set differ"


def _head(grid: JSON) -> JSON:
    return {name: of for name, of in grid.items() if name not in ("rows", "printed")}


def _difference(place: Place, before: Cells, now: Cells) -> str:
    """Return how a cell differs, or an empty string."""
    if place not in now:
        return f"{_said(before[place])} in the tables, and no such cell by the labels"
    if place not in before:
        return f"no such cell in the tables, and {_said(now[place])} by the labels"
    one, other = before[place], now[place]
    if not isinstance(one, dict) or not isinstance(other, dict):
        same = one == other
        return "" if same else f"{_said(one)} in the tables, and {_said(other)} by the labels"
    for part in dict.fromkeys(("value", *PARTS, *one, *other)):
        if not _is_same(one.get(part), other.get(part)):
            what = "" if part == "value" else f"its {PARTS.get(part, part)} is "
            said = f"{_said(one.get(part))} in the tables, and {_said(other.get(part))}"
            return f"{what}{said} by the labels"
    return ""


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return _is_close(one, other)
    return bool(one == other)


def _is_close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def _named(place: Place) -> str:
    return ", ".join(place[:4])


def _said(value: Any) -> str:
    if isinstance(value, dict):
        value = value["value"]
    if value is None:
        return "no value"
    return f"{value:g}" if isinstance(value, int | float) else repr(value)
