"""What pages show of an examination: the quick checks as of now, the slow ones as last stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache

from judging.doctor.base import MEND, WARNING, Line, is_well
from judging.doctor.registry import CHECKS, examine
from judging.doctor.stored import last_examination

KEPT_SECONDS = 60
_KEY = "doctor.overview"


@dataclass(frozen=True)
class Overview:
    """The findings in the order of the checks.

    `at` is the moment of the last whole examination, and `missing` has the titles of the checks
    that only it makes, if there was none.
    """

    lines: Sequence[Line]
    at: datetime | None
    missing: Sequence[str]

    @property
    def to_mend(self) -> list[Line]:
        return [line for line in self.lines if line.status == MEND]

    @property
    def warnings(self) -> list[Line]:
        return [line for line in self.lines if line.status == WARNING]

    @property
    def is_well(self) -> bool:
        """Whether nothing must be mended. False before the first whole examination."""
        return self.at is not None and is_well(self.lines)


def overview() -> Overview:
    """Make the quick checks, and read what the last whole examination found in the others."""
    at, stored = last_examination()
    slow = {check.name: check.title for check in CHECKS if check.is_slow}
    order = [check.name for check in CHECKS]
    lines = [*examine(quick=True), *(line for line in stored if line.name in slow)]
    lines.sort(key=lambda line: order.index(line.name))
    found = Overview(lines, at, list(slow.values()) if at is None else [])
    cache.set(_KEY, found, KEPT_SECONDS)
    return found


def recent_overview() -> Overview | None:
    """Return an overview of the last minute, if this process made one. Checks nothing."""
    found: Overview | None = cache.get(_KEY)
    return found
