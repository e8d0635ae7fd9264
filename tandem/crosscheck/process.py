"""The figures that other libraries can compute, the child process, and whether they match ours."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

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


CHILD = Path(__file__).with_name("libraries.py")
TOLERANCE = 1e-9
LABELS = 100_000
"""A report with more labels is checked only on request."""
SECONDS = 600
IS_ON = True
"""Tests of other behaviour switch it off."""
EQUAL, DIFFERS, SKIPPED, CHECKING = "equal", "differs", "skipped", "checking"


def run_crosscheck(figures: Callable[[], Figures], labels: int, requested: bool) -> JSON:
    """Check a report if it has few enough labels or the check was requested."""
    if not IS_ON:
        return skipped_crosscheck("the check is switched off")
    if labels >= LABELS and not requested:
        return skipped_crosscheck(f"it has {labels:,} labels; --check asks for it")
    return crosscheck(figures())


def crosscheck(found: Figures) -> JSON:
    """Check all figures: how many a library has, those that differ, and a summary line."""
    if not found.tasks:
        return skipped_crosscheck("no figure of this report is one that other libraries have")
    try:
        output = run_libraries(found.arrays, found.tasks)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return skipped_crosscheck(f"the libraries gave no figures ({_reason(error)})")
    differs = [
        {"figure": path, "ours": ours, "theirs": theirs}
        for path, ours, theirs in zip(found.paths, found.values, output["values"], strict=True)
        if theirs is not None and not isclose(ours, theirs, rel_tol=0, abs_tol=TOLERANCE)
    ]
    number = sum(theirs is not None for theirs in output["values"])
    line = _line(number, differs, output["libraries"])
    state = DIFFERS if differs else EQUAL
    return _block(state, line, number, differs, output["libraries"])


def skipped_crosscheck(reason: str) -> JSON:
    return _block(SKIPPED, f"Not checked by other libraries: {reason}.", 0, [], {})


def pending_crosscheck() -> JSON:
    """Return the block of a report that is shown before its check has ended."""
    return _block(CHECKING, "Being checked by other libraries.", 0, [], {})


def _block(
    state: str, line: str, number: int, differs: list[JSON], libraries: Mapping[str, str]
) -> JSON:
    return {
        "state": state,
        "line": line,
        "figures": number,
        "within": TOLERANCE,
        "differs": differs,
        "libraries": dict(libraries),
    }


def _line(number: int, differs: list[JSON], libraries: Mapping[str, str]) -> str:
    by = ", ".join(f"{name} {version}" for name, version in libraries.items())
    if not differs:
        return f"Computed again by {by}: {number} figures, equal to {TOLERANCE:.0e}."
    first = differs[0]
    more = f" {len(differs) - 1} others are not either." if len(differs) > 1 else ""
    return (
        f"Computed again by {by}: of {number} figures {first['figure']} is not equal, "
        f"{first['ours']!r} here and {first['theirs']!r} there.{more} No snapshot can be stored."
    )


def run_libraries(arrays: Mapping[str, Any], tasks: Sequence[JSON]) -> JSON:
    """Compute figures in the child: their `values` in order, and `libraries` with versions.

    Raises OSError, subprocess.SubprocessError or ValueError.
    """
    packed = io.BytesIO()
    job: dict[str, Any] = {**arrays, TASKS: np.array(json.dumps(tasks))}
    np.savez(packed, **job)
    if _shared is not None:
        return _shared.answer(packed.getvalue())
    with closing(_Child()) as child:
        return child.answer(packed.getvalue())


@contextmanager
def shared_child() -> Iterator[None]:
    """Check all reports of a block in one child, whose imports mostly take longer than a check."""
    global _shared
    with closing(_Child()) as _shared:
        try:
            yield
        finally:
            _shared = None


class _Child:
    """The child process, started for its first job, and again if it has ended."""

    process: subprocess.Popen[bytes] | None = None

    def answer(self, job: bytes) -> JSON:
        """Return the answer to a job. Raises CalledProcessError if the child ends without one."""
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.process = _start()
        process = self.process
        stdin, stdout, stderr = (
            cast("IO[bytes]", each) for each in (process.stdin, process.stdout, process.stderr)
        )
        limit = Timer(SECONDS, process.kill)
        limit.start()
        try:
            # The error of a child that ended at once says why.
            with suppress(BrokenPipeError):
                stdin.write(b"%d\n%b" % (len(job), job))
                stdin.flush()
            line = stdout.readline()
        finally:
            limit.cancel()
        if not line:
            reason = stderr.read()
            raise subprocess.CalledProcessError(process.wait(), process.args, stderr=reason)
        answer: JSON = json.loads(line)
        return answer

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            with self.process, suppress(BrokenPipeError):
                self.process.communicate()


_shared: _Child | None = None


def _start() -> subprocess.Popen[bytes]:
    # Run without Tandem's folders on the module path.
    return subprocess.Popen(
        [sys.executable, "-I", str(CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    lines = said.decode("utf-8", "replace").strip().splitlines() if said else []
    return lines[-1] if lines else str(error)
