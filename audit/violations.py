"""Check and Violation: how every check of stored data names a rule and a place that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Where = Mapping[str, str | int]
Place = dict[str, str | int]
"""The same, while it is put together."""


@dataclass(frozen=True)
class Check:
    """One thing that is checked. `mend` is how to repair it, or why nothing repairs it safely."""

    name: str
    holds: str
    mend: str


@dataclass(frozen=True)
class Violation:
    """One place where a check fails: a sentence that names it, and the same place by keys.

    `where` holds names as people know them (`campaign`, `rater`, `item`, `unit`, `variable`,
    `revision`, `batch`, `query` …) and, under `table` and `id`, the row that is meant.
    """

    check: str
    wrong: str
    where: Where = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.check}: {self.wrong}"
