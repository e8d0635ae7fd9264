"""Krippendorff's alpha of two columns of numbers, such as the mean of ratings."""

from __future__ import annotations

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.tally import Tally

METHOD = "Krippendorff's alpha, interval"
NO_PAIR = "no unit has two labels"
ALIKE = "all labels are the same category"


def alpha_of_two(
    x: Floats,
    y: Floats,
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Interval alpha of two raters' numbers x and y (U,), NaN = missing (Krippendorff 2011).

    With d the differences on the n units that have both, and v the 2n numbers there,
    alpha = 1 - (2n - 1) * sum d^2 / (2n * sum v^2 - (sum v)^2). `clusters` (U,) are resampled
    whole.
    """
    there = np.isfinite(x) & np.isfinite(y)
    n = int(there.sum())
    if not n:
        return undefined(NO_PAIR, n, METHOD)
    # Centred for precision: alpha does not depend on where the numbers begin.
    middle = float((x[there] + y[there]).mean()) / 2
    a, b = (np.where(there, each - middle, 0.0) for each in (x, y))
    sums = np.column_stack([there.astype(float), a + b, a**2 + b**2, (a - b) ** 2])
    bootstrap = Bootstrap(Tally.of_sums(sums, clusters), draws, seed, interval)
    queries = len(np.unique(clusters[there]))
    return bootstrap.estimate(_alpha, n, METHOD, ALIKE, queries)


def _alpha(sums: Floats) -> Value:
    labels, first, second, apart = 2 * sums[..., 0], *np.moveaxis(sums[..., 1:], -1, 0)
    overall = labels * second - first**2
    # What rounding leaves of no variance is none.
    overall = np.where(overall > 1e-12 * np.maximum(labels * second, 1.0), overall, 0.0)
    return unbatch(1 - ratio((labels - 1) * apart, overall))
