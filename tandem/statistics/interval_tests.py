"""Tests that follow from an interval: of a difference from 0, and of equivalence."""

from __future__ import annotations

from .estimate import Estimate, t_below, t_quantile

#: The margin of equivalence unless another one is chosen, on a coefficient or a share.
MARGIN = 0.1


def interval_p_value(
    value: float, low: float, high: float, clusters: int, *, longer: bool = False
) -> float:
    """Return the two-sided p-value of a value with this 95 % interval being 0.

    The distance from the value to the end on the side of 0 is taken as t(.975) standard errors,
    with n - 1 degrees of freedom for n clusters, so that p is below .05 exactly if the interval
    does not contain 0 (Altman and Bland 2011, with t in place of z). With `longer`, it is the
    longer side: a skewed interval says little about smaller p-values, which adjustments need.
    """
    near, far = (value - low, high - value) if value > 0 else (high - value, value - low)
    reach = max(near, far) if longer else near
    if reach <= 0 or clusters < 2:
        return 1.0
    t = t_quantile(0.975, clusters - 1) * abs(value) / reach
    return float(2 * t_below(-t, clusters - 1))


def is_equivalent(narrow: Estimate, margin: float) -> bool | None:
    """Return whether a 90 % interval lies within -margin and margin; None without an interval.

    This is the result of two one-sided tests, each at .05 (Schuirmann 1987).
    """
    if narrow.low is None or narrow.high is None:
        return None
    return -margin < narrow.low and narrow.high < margin
