"""Start the child process, and summarise in one line whether its figures match ours."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from math import isclose
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

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
