"""The number of additional queries or raters that would narrow an interval, if any would."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .estimate import Floats, t_quantile
from .resampling import MINIMUM_CLUSTERS

#: Larger numbers are not reported as plans.
MOST = 1_000_000


@dataclass(frozen=True)
class Plan:
    """The total `needed` and how many `more` than now, or null with a `reason`."""

    needed: int | None
    more: int | None
    reason: str | None = None


def more_queries(width: float, queries: int, target: float, available: int | None = None) -> Plan:
    """Return how many queries give an interval of width `target`, given its `width` with `queries`.

    The width is taken as proportional to t_(n-1)/root(n), which holds if further queries are like
    the present ones and independent of them. `available` is the size of the collection if it is
    fixed.
    Raises ValueError if a width is not above 0.
    """
    if not (width > 0 and target > 0):
        raise ValueError("a width must be above 0")
    if queries < MINIMUM_CLUSTERS:
        reason = f"{queries} queries are too few to plan from, {MINIMUM_CLUSTERS} are needed"
        return Plan(None, None, reason)
    most = max(queries, min(available or MOST, MOST))
    per_query = width / _shrinks(queries)
    needed = bisect_left(
        range(most + 1), True, lo=queries, key=lambda n: per_query * _shrinks(n) <= target
    )
    if needed <= most:
        return Plan(needed, needed - queries)
    if available is not None and available <= MOST:
        return Plan(None, None, f"all {available} queries would leave it wider")
    return Plan(None, None, f"more than {MOST:,} queries would be needed")


def more_raters(widths: Mapping[int, float], target: float) -> Plan:
    """Return how many raters per unit give an interval of width `target` on the same queries.

    `widths` maps numbers of raters to the width found with them, such as the means over subsets of
    two and of three raters. The square of the width is modelled as a + b/r for r raters. b is the
    raters' part, and a the queries' part, which more raters do not reduce. a and b are fitted by
    least squares. An extrapolation from so few numbers is rough.
    Raises ValueError if a width is not above 0.
    """
    if target <= 0:
        raise ValueError("a width must be above 0")
    numbers = sorted(widths)
    if len(numbers) < 2:
        return Plan(None, None, "one number of raters cannot tell what more of them would add")
    now = numbers[-1]
    if widths[now] <= target:
        return Plan(now, 0)
    floor, gain = _fit(np.array(numbers, float), np.array([widths[r] for r in numbers]))
    if gain <= 0:
        return Plan(None, None, "more raters do not narrow it: the queries differ, not the raters")
    if target**2 <= floor:
        reason = f"no number of raters: the queries alone leave a width of {np.sqrt(floor):.3f}"
        return Plan(None, None, reason)
    needed = max(int(np.ceil(gain / (target**2 - floor) - 1e-9)), now + 1)
    return Plan(needed, needed - now) if needed <= MOST else Plan(None, None, "over a million")


def _fit(raters: Floats, widths: Floats) -> tuple[float, float]:
    gain, floor = np.polyfit(1 / raters, widths**2, 1)
    return max(float(floor), 0.0), float(gain)


def _shrinks(queries: int) -> float:
    return float(t_quantile(0.975, queries - 1) / np.sqrt(queries))
