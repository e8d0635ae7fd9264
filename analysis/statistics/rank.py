"""Correlation of two scores of the same units, without and with unit weights (B, n).

A weight of 2 is the same as the unit standing there twice. Undefined (a constant score) is NaN.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from analysis.statistics.arrays import Bools, Floats, Ints, Value, ratio, unbatch, unit_weights
from analysis.statistics.bootstrap import Resamples, estimate
from analysis.statistics.estimate import Estimate, undefined

#: Kendall's tau compares every two different points: beyond this number it is not resampled.
MAXIMUM_POINTS = 3000

Correlation = Callable[[Floats, Floats, Floats | None], Value]


def pearson(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Covariance / root of the product of the variances, of (n,) and (n,)."""
    weight = unit_weights(weights, len(x))
    return unbatch(_product_moment(x - np.mean(x), y - np.mean(y), weight))


def spearman(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Pearson's correlation of the midranks, which are taken anew in every resample."""
    weight = unit_weights(weights, len(x))
    return unbatch(_product_moment(_midranks(x, weight), _midranks(y, weight), weight))


def kendall(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """tau-b = (C - D) / root((n0 - ties in x) * (n0 - ties in y)) over n0 pairs (Kendall 1945).

    With weights, raises ValueError beyond 3,000 different points (x, y).
    """
    if weights is None:
        from scipy import stats

        return float(stats.kendalltau(x, y).statistic) if len(x) > 1 else float("nan")
    points, index = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    if len(points) > MAXIMUM_POINTS:
        raise ValueError(f"{len(points)} different points; Kendall's tau is resampled up to 3000")
    weight = _sum_by(weights, index.ravel())
    # Each pair is met twice above and below, which cancels; copies of a unit have sign 0.
    excess = np.einsum("bp,bp->b", weight.astype(np.float32) @ _sign_products(points), weight)
    untied = [_untied(score, weight) for score in points.T]
    return ratio(excess, np.sqrt(untied[0] * untied[1]))


def correlation(
    function: Correlation,
    x: Floats,
    y: Floats,
    clusters: Ints,
    weights: Floats | Resamples | None,
    method: str,
) -> Estimate:
    """`spearman`, `kendall` or `pearson` with its interval over queries.

    Units without one of the two scores (NaN) are left out. Beyond 3,000 different points
    Kendall's tau has no interval, and the method says so.
    """
    there = np.isfinite(x) & np.isfinite(y)
    a, b, n = x[there], y[there], int(there.sum())
    if n < 2:
        return undefined("fewer than two units have both scores", n, method)
    if function is kendall and _points(a, b) > MAXIMUM_POINTS:
        weights, method = None, f"{method}, more than {MAXIMUM_POINTS} points"
    kept = _only(weights, there)
    reason = "one of the two scores is constant"
    return estimate(lambda w: function(a, b, w), kept, clusters[there], n, method, reason)


def _only(weights: Floats | Resamples | None, units: Bools) -> Floats | Resamples | None:
    if isinstance(weights, Resamples):
        return weights.only(units)
    return None if weights is None else weights[:, units]


def _points(x: Floats, y: Floats) -> int:
    return len(np.unique(np.column_stack([x, y]), axis=0))


def _product_moment(x: Floats, y: Floats, weight: Floats) -> Floats:
    """x and y are (n,) or, where they differ between resamples, (B, n)."""
    total = weight.sum(axis=-1, keepdims=True)
    dx, dy = (s - ratio(_sum(weight, s)[..., None], total) for s in (x, y))
    covariance = _sum(weight, dx * dy)
    scale = np.sqrt(_sum(weight, dx**2) * _sum(weight, dy**2))
    return ratio(covariance, np.where(_varies(x, weight) & _varies(y, weight), scale, 0.0))


def _sum(weight: Floats, scores: Floats) -> Floats:
    total: Floats = np.einsum("...n,...n->...", weight, scores)
    return total


def _varies(scores: Floats, weight: Floats) -> Bools:
    """Whether a resample holds two different scores; sums of squares would tell by rounding."""
    drawn = weight > 0
    top = np.max(np.where(drawn, scores, -np.inf), axis=-1, initial=-np.inf)
    bottom = np.min(np.where(drawn, scores, np.inf), axis=-1, initial=np.inf)
    varies: Bools = top > bottom
    return varies


def _midranks(scores: Floats, weight: Floats) -> Floats:
    _, index = np.unique(scores, return_inverse=True)
    totals = _sum_by(weight, index)
    ranks: Floats = np.cumsum(totals, axis=-1) - totals / 2
    return ranks[..., index]


def _sign_products(points: Floats) -> NDArray[np.float32]:
    """1 for concordant, -1 for discordant, 0 for tied pairs of points, in single precision: the
    sums of signs are whole numbers, and 3,000 points take 36 MB."""
    first, second = (np.greater.outer(s, s).astype(np.int8) - np.less.outer(s, s) for s in points.T)
    products: NDArray[np.float32] = (first * second).astype(np.float32)
    return products


def _untied(scores: Floats, weight: Floats) -> Floats:
    """Twice the number of pairs that differ in the score."""
    _, index = np.unique(scores, return_inverse=True)
    pairs: Floats = weight.sum(axis=-1) ** 2 - (_sum_by(weight, index) ** 2).sum(axis=-1)
    return pairs


def _sum_by(weight: Floats, index: Ints) -> Floats:
    """The weights (B, n) or (n,) summed over equal entries of `index` (n,)."""
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    return np.add.reduceat(weight[..., order], starts, axis=-1)
