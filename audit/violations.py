"""Check and Violation: a rule that stored data must follow, and a case that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Where = Mapping[str, str | int]
Place = dict[str, str | int]
"""A mutable `Where`, while it is built."""


@dataclass(frozen=True)
class Check:
    """One check. `remedy` says how to repair a violation, or why no repair is safe."""

    name: str
    holds: str
    remedy: str


@dataclass(frozen=True)
class Violation:
    """One place where a check fails, as a sentence and by keys.

    `where` has the names that people use (`campaign`, `rater`, `item`, `unit`, `variable`,
    `revision`, `batch`, `query` …) and, under `table` and `id`, the row.
    """

    check: str
    wrong: str
    where: Where = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.check}: {self.wrong}"
