"""How scores differ between two reports on the items that both hold, paired by query.

Only scores: of coefficients a report keeps no numbers by query, and two reports of a campaign rest
on partly the same labels, so that their intervals say nothing of the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.formats.document import DASH, Block, Cell, Number, Section, Table, Who
from analysis.statistics import SHARE_DIFFERENCE, mean_by_cluster

JSON = dict[str, Any]

ABOUT = (
    "Differences of coefficients have no interval: two reports rest on partly the same labels, and "
    "what of each query would be needed is not kept. Scores of the items in both are paired."
)
HEADER = ("System", "Rater", "Items in both", "Changed", "Mean difference")


def paired_sections(before: JSON, after: JSON) -> Iterator[Section]:
    """One section, with a table for each score of which items changed."""
    blocks = [
        Block("", (Table(f"{name.capitalize()}, after less before", HEADER, rows),))
        for name in before["scores"]
        if name in after["scores"] and (rows := tuple(_rows(before, after, name)))
    ]
    yield Section("Paired differences", tuple(blocks), ABOUT)


def _rows(before: JSON, after: JSON, name: str) -> Iterator[tuple[Cell, ...]]:
    old, new = (
        {item["item"]: item for item in report["scores"][name]["items"]}
        for report in (before, after)
    )
    kinds = {rater["name"]: rater["kind"] for rater in after["raters"]}
    pairs: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for key in old.keys() & new.keys():
        for rater, value in new[key]["values"].items():
            if rater in old[key]["values"]:
                difference = value - old[key]["values"][rater]
                place = (new[key]["system"] or "", rater)
                pairs.setdefault(place, []).append((new[key]["query"], difference))
    for (system, rater), found in sorted(pairs.items()):
        yield from _row(system, Who(rater, kinds.get(rater, "")), found)


def _row(system: str, rater: Who, found: list[tuple[str, float]]) -> Iterator[tuple[Cell, ...]]:
    differences = np.array([difference for _, difference in found], float)
    changed = int((np.abs(differences) > 1e-12).sum())
    if changed:
        queries = np.unique([query for query, _ in found], return_inverse=True)[1]
        how = "mean difference of items in both reports"
        mean = mean_by_cluster(differences, queries, how).within(*SHARE_DIFFERENCE)
        yield system or DASH, rater, len(found), changed, Number.of(mean.as_json())
