"""What came of a condition: it holds, it fails, or it is not decided, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from ..document import rounded
from ..types import JSON


class Outcome(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "not decided"


STATUS = {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.UNDECIDED: 3}
"""The exit status of `tandem gate`; 2 is wrong usage."""


class GateError(ValueError):
    """A condition that cannot be understood, or that has nothing to apply to."""


@dataclass(frozen=True)
class Finding:
    """What came of a condition, as typed, for one figure: its value, its interval and the reason.

    `low` and `high` are null without an interval, `value` where the figure is undefined.
    """

    condition: str
    figure: str
    outcome: Outcome
    reason: str
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def number(self) -> str:
        """The value with its interval, empty where it is undefined."""
        if self.value is None:
            return ""
        if self.low is None or self.high is None:
            return rounded(self.value)
        return f"{rounded(self.value)} [{rounded(self.low)}, {rounded(self.high)}]"

    def as_json(self) -> JSON:
        return asdict(self)


def outcome_of(findings: Sequence[Finding]) -> Outcome:
    """Return what came of all conditions: one that fails outweighs one that is not decided."""
    found = {finding.outcome for finding in findings}
    worst = (each for each in (Outcome.FAILS, Outcome.UNDECIDED) if each in found)
    return next(worst, Outcome.HOLDS)
