"""Start the child process, and summarise in one line whether its figures match ours."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from ..types import JSON
from .figures import TASKS, Figures

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
    # Run without Tandem's folders on the module path.
    done = subprocess.run(
        [sys.executable, "-I", str(CHILD)],
        input=packed.getvalue(),
        capture_output=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=SECONDS,
    )
    output: JSON = json.loads(done.stdout)
    return output


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    lines = said.decode("utf-8", "replace").strip().splitlines() if said else []
    return lines[-1] if lines else str(error)
