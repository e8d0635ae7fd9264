"""The fake server as a process beside a test."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forks import Process
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Running:
    """A running server: its address, its statistics and its control."""

    url: str
    process: subprocess.Popen[str] | None

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/stats", timeout=PATIENCE) as response:
            return dict(json.load(response))

    def holds(self) -> bool:
        """Whether it is holding calls back now."""
        return bool(self.stats()["held"])

    def behave(self, **behaviour: Any) -> None:
        """Replace the behaviour as a whole; `reset=True` also resets the counts."""
        request = urllib.request.Request(f"{self.url}/control", json.dumps(behaviour).encode())
        urllib.request.urlopen(request, timeout=PATIENCE).close()


@contextmanager
def fake_openai(*arguments: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "tests.fake_openai", "--attended", *arguments]
    pipe = subprocess.PIPE  # it closes however the tests end
    with Process(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield Running(process.stdout.readline().strip(), process)
        finally:
            process.kill()
