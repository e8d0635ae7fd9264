"""The duration of each folder's tests, compared with its budget on a quiet machine.

Exceeding a budget is not a failure, since a busy machine exceeds all of them. Budgets show what a
new test costs.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

import pytest

from tests.extent import Extent

# Seconds of all workers together, in `make test` on SQLite, with a tenth to spare. They add up to
# 2,475, and 12 minutes of two cores hold 1,440.
BUDGETS = {
    "analysis": 500,
    "annotation": 290,
    "api": 50,
    "audit": 5,
    "benchmarks": 5,
    "browser": 490,
    "client": 100,
    "containers": 10,
    "contract": 8,
    "datasets": 25,
    "docs": 35,
    "fake_openai": 5,
    "gate": 10,
    "judging": 420,
    "program": 20,
    "scores": 5,
    "scripts": 12,
    "security": 280,
    "serving": 65,
    "statistics": 35,
    "tests": 35,
    "trust": 60,
    "upgrades": 10,
}
LEAST = 20.0  # seconds; a shorter run prints no budgets


def folder(nodeid: str) -> str:
    """The folder of `tests` that contains a test, or `tests` itself."""
    parts = PurePosixPath(nodeid.partition("::")[0]).parts
    return parts[1] if len(parts) > 2 else "tests"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    spent: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                spent[folder(report.nodeid)] += report.duration  # type: ignore[assignment]
    if Extent.everything or spent.total() < LEAST:
        return
    terminalreporter.section("seconds by folder, and its budget on a quiet machine of two cores")
    for name, seconds in spent.most_common():
        budget = BUDGETS.get(name)
        over = " over" if budget and seconds > budget else ""
        terminalreporter.line(f"{name:14}{seconds:7.1f}{budget or '-':>6}{over}")
