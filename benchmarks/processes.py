"""Commands as separate processes, with their costs as reported by the kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class FailedError(RuntimeError):
    """A command that failed, with its output."""


@dataclass(frozen=True)
class Cost:
    """Seconds of wall time and CPU time, and the peak of memory in MB."""

    wall: float
    processor: float
    peak_mb: float
    output: str

    def answer(self) -> Any:
        """Return the JSON on the last line of the command's output."""
        return json.loads(self.output.splitlines()[-1])


def python(*arguments: object, env: Mapping[str, str]) -> Cost:
    """Run this interpreter in the project's root. Raises FailedError."""
    command = [sys.executable, *map(str, arguments)]
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **env}, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode:
        raise FailedError(f"{' '.join(command)}: exit status {process.returncode}\n{text}")
    return Cost(wall, used.ru_utime + used.ru_stime, _megabytes(used.ru_maxrss), text)


def manage(*arguments: object, env: Mapping[str, str]) -> Cost:
    return python("manage.py", *arguments, env=env)


def _megabytes(maxrss: int) -> float:
    return maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
