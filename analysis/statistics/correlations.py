"""Correlations of two scores with intervals over clusters resampled whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from scipy import sparse

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch
from analysis.statistics.estimate import (
    COEFFICIENT,
    Estimate,
    defined,
    is_undefined,
    undefined,
)
from analysis.statistics.intervals import Bootstrap, Draws, Interval, OfWeights
from analysis.statistics.rank import MAXIMUM_POINTS, kendall, pearson, spearman
from analysis.statistics.tally import Tally

Correlation = Literal["spearman", "kendall", "pearson"]

FUNCTIONS: dict[Correlation, tuple[Callable[[Floats, Floats, Floats], Value], str]] = {
    "spearman": (spearman, "Spearman's rank correlation"),
    "kendall": (kendall, "Kendall's tau-b"),
    "pearson": (pearson, "Pearson's correlation"),
}
#: Up to so many different points Kendall's tau is resampled, where there are fewer clusters.
MAXIMUM_IN_CLUSTERS = 10_000
#: Scores that differ by less are equal.
DECIMALS = 12
#: So many pairs of points are compared at once: 32 MB of signs.
BLOCK = 4_000_000
CONSTANT = "one of the two scores is constant"


def correlation_estimates(
    x: Floats,
    y: Floats,
    clusters: Ints,
    names: Sequence[Correlation] = tuple(FUNCTIONS),
    detail: str = "",
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Spearman's, Kendall's and Pearson's correlation of x and y (U,), as far as named.

    `clusters` (U,) are resampled whole, and ranks taken anew in every resample; `detail` is put
    behind the name in `method`. Units without one of the two scores (NaN) are left out, and scores
    that differ in the twelfth decimal are tied: sums of fractions are not exact. Kendall's
    tau compares all pairs of different points: beyond 3,000 of them (10,000 where there are fewer
    clusters than points) it has a value and no interval, and the method says so.
    """
    there = np.isfinite(x) & np.isfinite(y)
    a, b = (np.round(scores[there], DECIMALS) for scores in (x, y))
    n = int(there.sum())
    methods = {name: f"{FUNCTIONS[name][1]}{detail}" for name in names}
    if n < 2:
        reason = "fewer than two units have both scores"
        return {name: undefined(reason, n, method) for name, method in methods.items()}
    points, index = distinct_points(a, b)
    kinds = np.full(len(x), -1, np.int64)
    kinds[there] = index
    bootstrap = Bootstrap(Tally.of(kinds, len(points), clusters), draws, seed, interval)
    made: dict[str, Estimate] = {}
    for name, method in methods.items():
        if name == "kendall":
            made[name] = _kendall(bootstrap, points, n, method) or _alone(a, b, n, method)
        else:
            of = partial(FUNCTIONS[name][0], points[:, 0], points[:, 1])
            made[name] = bootstrap.estimate(of, n, method, CONSTANT)
    return {name: each.within(*COEFFICIENT) for name, each in made.items()}


def distinct_points(x: Floats, y: Floats) -> tuple[Floats, Ints]:
    """The different points (x, y), (P, 2), and which of them each unit is at, (n,)."""
    across, column = np.unique(x, return_inverse=True)
    up, row = np.unique(y, return_inverse=True)
    places, index = np.unique(column * len(up) + row, return_inverse=True)
    return np.column_stack([across[places // len(up)], up[places % len(up)]]), index


def _kendall(bootstrap: Bootstrap, points: Floats, n: int, method: str) -> Estimate | None:
    """Over pairs of clusters where these are fewer than the points; None where both are many."""
    tally = bootstrap.tally
    of: OfWeights
    if tally.table.shape[0] < len(points) <= MAXIMUM_IN_CLUSTERS:
        of = _tau_of_pairs(*pairs_of_clusters(tally.table, points))
        each = sparse.csr_array(sparse.eye_array(tally.table.shape[0]))
        bootstrap = Bootstrap(
            Tally(each, tally.times), bootstrap.draws, bootstrap.seed, bootstrap.interval
        )
    elif len(points) <= MAXIMUM_POINTS:
        of = partial(kendall, points[:, 0], points[:, 1])
    else:
        return None
    return bootstrap.estimate(of, n, method, CONSTANT, tally.clusters)


def _alone(x: Floats, y: Floats, n: int, method: str) -> Estimate:
    from scipy import stats

    value = float(stats.kendalltau(x, y).statistic)
    if is_undefined(value):
        return undefined(CONSTANT, n, method)
    return defined(value, None, n, f"{method}; no interval: too many different points to resample")


def pairs_of_clusters(table: sparse.csr_array, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Three sums over the pairs of a unit of one cluster and a unit of another, (C, C) each.

    `table` (C, P) says how many units each cluster has at each of P points (x, y). The sums are
    concordant less discordant pairs, pairs that differ in x, and pairs that differ in y.
    """
    size = table.shape[0]
    sums = [np.zeros((size, size)) for _ in range(3)]
    step = max(1, BLOCK // len(points))
    for start in range(0, len(points), step):
        own = table[:, start : start + step]
        dx, dy = (np.sign(s[start : start + step, None] - s).astype(np.float32) for s in points.T)
        for total, signs in zip(sums, (dx * dy, np.abs(dx), np.abs(dy)), strict=True):
            total += own @ (table @ signs.T).T
    return sums[0], sums[1], sums[2]


def _tau_of_pairs(excess: Floats, untied_x: Floats, untied_y: Floats) -> OfWeights:
    def tau(weights: Floats) -> Value:
        both, x, y = (
            np.einsum("...c,...c->...", weights @ pairs, weights)
            for pairs in (excess, untied_x, untied_y)
        )
        return unbatch(ratio(both, np.sqrt(x * y)))

    return tau
