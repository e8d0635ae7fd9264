"""The figures of a report that other libraries can compute, with the required labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..labels.frame import VariableFrame
from ..statistics import AMONG, CORRELATIONS, OF_TWO, Coefficient
from ..types import JSON

# Keywords of the job, as `libraries` reads them. The processes share no module.
OF_CODES, OF_VALUES, PEOPLE, TASKS = "codes", "values", "people", "tasks"
MAJORITY = "majority"
HOLM = {"figure": "adjusted", "method": "holm"}
BENJAMINI_YEKUTIELI = {"figure": "adjusted", "method": "fdr_by", "level": 0.05}


@dataclass
class Figures:
    """Tandem's figures by their paths in the report, and a library's input for each.

    Figures without a value are left out, since there is nothing to compare.
    """

    arrays: dict[str, Any] = field(default_factory=dict)
    tasks: list[JSON] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, path: str, value: float | bool | None, *task_parts: JSON) -> None:
        """Add a figure and a library's task; later parts of the task override earlier ones."""
        if value is not None:
            self.paths.append(path)
            self.values.append(float(value))
            self.tasks.append({key: of for part in task_parts for key, of in part.items()})

    def matrix(self, name: str, frame: VariableFrame) -> None:
        """Add the labels (U, R) of a variable, and the number of each category."""
        self.arrays[f"{name}/{OF_CODES}"] = frame.codes
        values = frame.scale.compared_values()
        if frame.scale.level != "nominal" and values is not None:
            self.arrays[f"{name}/{OF_VALUES}"] = values


def variable_figures(
    found: Figures, whole: VariableFrame, compared: VariableFrame, report: JSON
) -> None:
    """Collect the figures of one variable: human agreement, and judges on `compared`."""
    name, people = whole.name, whole.without_foreign()
    found.matrix(f"{name}/people", people)
    found.matrix(f"{name}/judges", compared)
    _of_people(found, f"{name}/people", people, report["agreement"])
    for judge, block in report["judges"].items():
        _of_judge(found, f"{name}/judges", compared, judge, block)


def score_figures(found: Figures, scores: JSON) -> None:
    """Collect the adjusted p-values of every two systems."""
    for name, of in scores.items():
        for test in ("paired_t", "wilcoxon"):
            rows = [row[test] for row in of.get("comparisons", ())]
            known = [row for row in rows if row["p_value"] is not None]
            matrix = f"{name}/{test}"
            found.arrays[matrix] = np.array([row["p_value"] for row in known], float)
            for place, row in enumerate(known):
                path = f"scores.{name}.comparisons[{place}].{test}.adjusted_p_value"
                value = row["adjusted_p_value"]
                found.add(path, value, {**HOLM, "matrix": matrix, "place": place})


def _of_people(found: Figures, matrix: str, frame: VariableFrame, block: JSON) -> None:
    name, people, k = frame.name, frame.columns("human"), len(frame.scale.categories)
    own = {"matrix": matrix, "columns": people, "level": frame.scale.level, "k": max(1, k)}
    start = f"variables.{name}.agreement"
    for key, value, task_parts in _recomputed(AMONG, block):
        found.add(f"{start}.{key}", value, task_parts, own)
    column = {rater.name: n for n, rater in enumerate(frame.raters)}
    for pair in block.get("pairs", ()):
        two = {"matrix": matrix, "columns": [column[pair["a"]], column[pair["b"]]], "k": k}
        path = f"{start}.pairs[{pair['a']}, {pair['b']}]"
        for key, value, task_parts in _recomputed(OF_TWO | CORRELATIONS, pair):
            found.add(f"{path}.{key}", value, task_parts, two)


def _of_judge(found: Figures, matrix: str, frame: VariableFrame, judge: str, block: JSON) -> None:
    column = {rater.name: n for n, rater in enumerate(frame.raters)}
    start, k = f"variables.{frame.name}.judges.{judge}", len(frame.scale.categories)
    columns = [column[judge], *frame.columns("human")]
    level = {"level": frame.scale.level, "k": k}
    beside: JSON = {"matrix": matrix, "columns": columns, "with": PEOPLE, **level}
    with_judge = {key: each for key, each in AMONG.items() if each.with_judge}
    if block["reference"] == MAJORITY:
        for key, value, task_parts in _recomputed(with_judge | OF_TWO, block["agreement"]):
            found.add(f"{start}.agreement.{key}", value, task_parts, beside)
    for key, value, task_parts in _recomputed(CORRELATIONS, block["correlation"]):
        found.add(f"{start}.correlation.{key}", value, task_parts, beside)
    for person, pair in block.get("pairs", {}).items():
        two = {"matrix": matrix, "columns": [column[person], column[judge]], "k": k}
        for key, value, task_parts in _recomputed(OF_TWO, pair):
            found.add(f"{start}.pairs.{person}.{key}", value, task_parts, two)
    for reading, test in (
        ("items", block["alt_test"]),
        ("by_query", block["alt_test"]["by_query"]),
    ):
        _wins(found, f"{start}.alt_test.{reading}", test)


def _wins(found: Figures, path: str, test: JSON) -> None:
    """Collect the people whom a judge beats, by Benjamini and Yekutieli's correction."""
    rows = [row for row in test.get("annotators", ()) if row["p_value"] is not None]
    found.arrays[path] = np.array([row["p_value"] for row in rows], float)
    for place, row in enumerate(rows):
        task_parts = {**BENJAMINI_YEKUTIELI, "matrix": path, "place": place}
        found.add(f"{path}.{row['name']}.wins", row["wins"], task_parts)


def _recomputed(
    coefficients: Mapping[str, Coefficient], of: Mapping[str, Any]
) -> Iterator[tuple[str, float | None, JSON]]:
    """Yield the coefficients of a block that a library has: key, value, and the library's task."""
    for key, each in coefficients.items():
        if each.library and key in of:
            yield key, of[key]["value"], dict(each.library)
