"""Estimate: one number with its interval, or the reason why it has none; and registry entries."""

import math
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

#: How far rounding carries a number out of its range.
ROUNDING = 1e-9
#: The ranges of shares, of differences of shares, of coefficients and of their differences.
SHARE = (0.0, 1.0)
SHARE_DIFFERENCE = (-1.0, 1.0)
COEFFICIENT = (-1.0, 1.0)
COEFFICIENT_DIFFERENCE = (-2.0, 2.0)


@dataclass(frozen=True)
class Estimate:
    """A value with a 95 % interval over n units, and the method in words.

    `value` is null exactly where `reason` says why; `low` and `high` are null where no interval
    is defined or too few queries stand behind it. A number that is not finite is refused.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if any(x is not None and not math.isfinite(x) for x in (self.value, self.low, self.high)):
            raise ValueError("an estimate must be finite; use undefined(reason, n, method)")
        if (self.value is None) == (self.reason is None):
            raise ValueError("an estimate has either a value or the reason why it has none")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends; give both or neither")

    def within(self, least: float, most: float) -> "Estimate":
        """The same, value and interval cut to `least` and `most`, between which the truth must lie.

        An interval that holds the truth then still does. The method says where something was cut,
        rounding apart.
        """
        if self.value is None:
            return self
        ends = (self.value, self.low, self.high)
        kept = [None if x is None else min(max(x, least), most) for x in ends]
        if kept == list(ends):
            return self
        within = replace(self, value=kept[0], low=kept[1], high=kept[2])
        pairs = zip(ends, kept, strict=True)
        if all(x is None or y is None or abs(x - y) < ROUNDING for x, y in pairs):
            return within
        told = " and ".join(f"{x:g}" for x in (least, most) if math.isfinite(x))
        return replace(within, method=f"{self.method}; cut at {told}")

    def as_json(self) -> dict[str, object]:
        """The object of the report: `reason` stands only where the value is null."""
        fields: dict[str, object] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "method": self.method,
        }
        return fields | ({} if self.reason is None else {"reason": self.reason})


def undefined(reason: str, n: int, method: str) -> Estimate:
    """No value, and why."""
    return Estimate(None, None, None, int(n), method, reason)


def defined(value: float, interval: tuple[float, float] | None, n: int, method: str) -> Estimate:
    """A value and, where there is one, its interval; NumPy scalars become plain numbers."""
    low, high = (None, None) if interval is None else (float(interval[0]), float(interval[1]))
    return Estimate(float(value), low, high, int(n), method)


def is_undefined(value: float) -> bool:
    """NaN inside the library means undefined; infinities are never left standing either."""
    return not np.isfinite(value)


@dataclass(frozen=True)
class Statistic:
    """A public statistic: the function's name, what it says in one line, where it comes from."""

    name: str
    summary: str
    citation: str


_DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

#: Name -> declaration, in the order of the documentation.
STATISTICS = {name: Statistic(name, **declared) for name, declared in _DECLARED.items()}
