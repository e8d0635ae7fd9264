"""The child process: figures by krippendorff, statsmodels and SciPy, without Tandem's code.

It reads jobs from standard input, each a line with its size and a NumPy archive of label matrices
with the list of figures, and writes their values to standard output, a line of JSON for each job,
null if a library has none. It is a program of its own: nothing imports it, and it imports nothing
of Tandem, since krippendorff's licence is the GPL. It may be absent; its figures are then null.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Task = dict[str, Any]
TASKS = "tasks"
LIBRARIES = ("krippendorff", "statsmodels", "scipy")
OF_CODES, OF_VALUES, PEOPLE = "codes", "values", "people"


def fleiss(arrays: Mapping[str, Any], task: Task) -> Any:
    """Return Fleiss' or Randolph's kappa of raters (U, R); None if units' label numbers differ."""
    from statsmodels.stats.inter_rater import fleiss_kappa

    codes = _raters(arrays, task)
    table = np.stack([(codes == k).sum(axis=1) for k in range(task["k"])], axis=1)
    table = table[table.sum(axis=1) >= 2]
    if not len(table) or len(np.unique(table.sum(axis=1))) > 1:
        return None
    return fleiss_kappa(table, method=task["method"])


def alpha(arrays: Mapping[str, Any], task: Task) -> Any:
    """Return Krippendorff's alpha of raters (U, R) at the task's level of measurement."""
    try:
        import krippendorff
    except ImportError:
        return None
    codes = _raters(arrays, task)
    values = np.where(codes >= 0, codes, np.nan)
    if task["level"] == "interval":
        values = _numbers(arrays, task, codes)
    kept = np.isfinite(values).sum(axis=1) >= 2
    if len(np.unique(values[kept][np.isfinite(values[kept])])) < 2:
        return None
    if task["level"] == "set":
        distances = _masi(arrays, task)

        def metric(one: Any, other: Any, *_: Any, **__: Any) -> Any:
            return distances[one.astype(int), other.astype(int)]

        level: Any = metric
        return krippendorff.alpha(values[kept].T, level_of_measurement=level)
    return krippendorff.alpha(values[kept].T, level_of_measurement=task["level"])


def cohen(arrays: Mapping[str, Any], task: Task) -> Any:
    """Return Cohen's kappa of two raters (U, 2), with the task's weights of their numbers."""
    from statsmodels.stats.inter_rater import cohens_kappa

    codes = _raters(arrays, task)
    both = codes[(codes >= 0).all(axis=1)]
    table = np.zeros((task["k"], task["k"]))
    np.add.at(table, tuple(both.T), 1)
    kind = task["weights"]
    if kind == "masi":
        return cohens_kappa(table, weights=_masi(arrays, task), return_results=False)
    values = arrays[f"{task['matrix']}/{OF_VALUES}"] if kind else None
    return cohens_kappa(table, weights=values, wt=kind, return_results=False)


def correlation(arrays: Mapping[str, Any], task: Task) -> Any:
    """Return Spearman's, Kendall's or Pearson's correlation of two raters' numbers (U, 2)."""
    from scipy import stats

    of = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}
    numbers = _numbers(arrays, task, _raters(arrays, task, as_majority=False))
    if task.get("with") == PEOPLE:
        numbers = np.stack([numbers[:, 0], _mean(numbers[:, 1:])], axis=1)
    x, y = numbers[np.isfinite(numbers).all(axis=1)].T
    return of[task["method"]](x, y).statistic


def adjust_p_value(arrays: Mapping[str, Any], task: Task) -> Any:
    """Return an adjusted p-value or, with a `level`, 1 if it is significant there, else 0."""
    level, p_values = task.get("level"), arrays[task["matrix"]].tobytes()
    found = _adjust(p_values, task["method"], level or 0.05)
    return found[0 if level else 1][task["place"]]


@cache
def _adjust(p_values: bytes, method: str, level: float) -> Any:
    """Adjust p-values together, once for all their tasks: each call collects garbage."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(np.frombuffer(p_values), alpha=level, method=method)


FIGURES: Mapping[str, Callable[[Mapping[str, Any], Task], Any]] = {
    "fleiss": fleiss,
    "alpha": alpha,
    "cohen": cohen,
    "correlation": correlation,
    "adjusted": adjust_p_value,
}


def _raters(arrays: Mapping[str, Any], task: Task, as_majority: bool = True) -> Ints:
    """Return the task's columns, (U, R). With a judge, people are replaced by their majority."""
    codes: Ints = arrays[f"{task['matrix']}/{OF_CODES}"][:, task["columns"]]
    if not as_majority or task.get("with") != PEOPLE:
        return codes
    counts = np.stack([(codes[:, 1:] == k).sum(axis=1) for k in range(task["k"])], axis=1)
    most = counts.max(axis=1, keepdims=True)
    clear = (most[:, 0] > 0) & ((counts == most).sum(axis=1) == 1)
    return np.stack([codes[:, 0], np.where(clear, counts.argmax(axis=1), -1)], axis=1)


def _numbers(arrays: Mapping[str, Any], task: Task, codes: Ints) -> Floats:
    values: Floats = arrays[f"{task['matrix']}/{OF_VALUES}"]
    return np.where(codes >= 0, values[np.maximum(codes, 0)], np.nan)


def _masi(arrays: Mapping[str, Any], task: Task) -> Floats:
    """Return Passonneau's distance of every two sets, from the codes (K, M) that each has."""
    rows = np.asarray(arrays[f"{task['matrix']}/{OF_VALUES}"], float)
    return _distances(rows.tobytes(), rows.shape)


@cache
def _distances(members: bytes, shape: tuple[int, int]) -> Floats:
    """Compute the distances once for all tasks of a variable."""
    rows = np.frombuffer(members).reshape(shape)
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in rows]
    return np.array([[_distance(one, other) for other in sets] for one in sets], float)


def _distance(one: frozenset[int], other: frozenset[int]) -> float:
    if one == other:
        return 0.0
    weight = 2 / 3 if one <= other or other <= one else 1 / 3
    return 1 - weight * len(one & other) / len(one | other)


def _mean(numbers: Floats) -> Floats:
    there = np.isfinite(numbers)
    number = there.sum(axis=1)
    total = np.where(there, numbers, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _versions() -> Iterator[tuple[str, str]]:
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            yield name, version(name)


def _value(arrays: Mapping[str, Any], task: Task) -> float | None:
    made = FIGURES[task["figure"]](arrays, task)
    return None if made is None or not np.isfinite(made) else float(made)


def main() -> None:
    """Compute the tasks of each job; a library's exception ends the process, and is reported."""
    warnings.simplefilter("ignore")
    while size := sys.stdin.buffer.readline():
        arrays = dict(np.load(io.BytesIO(sys.stdin.buffer.read(int(size)))))
        tasks = json.loads(str(arrays.pop(TASKS)))
        values = [_value(arrays, task) for task in tasks]
        print(json.dumps({"values": values, "libraries": dict(_versions())}), flush=True)


if __name__ == "__main__":
    main()
