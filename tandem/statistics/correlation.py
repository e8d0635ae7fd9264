"""Correlations of two scores, with intervals over clusters, and of two rankings.

A unit with weight 2 counts like two equal units. If a score is constant, the result is NaN.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .cluster_means import SEVERAL, informative_of_each
from .estimate import (
    COEFFICIENT,
    Bools,
    Coefficient,
    Estimate,
    Floats,
    Ints,
    Value,
    by_key,
    defined,
    is_undefined,
    ratio,
    unbatch,
    undefined,
    unit_weights,
)
from .resampling import Bootstrap, Draws, Interval, OfWeights
from .tally import Tally

#: The most distinct points for which `kendall` takes weights, since it compares all pairs of them.
MAXIMUM_POINTS = 3000
Numbers = NDArray[np.number[Any]]
#: The most distinct points for which Kendall's tau is resampled over pairs of clusters.
MAXIMUM_IN_CLUSTERS = 10_000
#: The decimal places to which scores are compared.
DECIMALS = 12
#: The number of pairs of points compared at once: 32 MB of signs.
BLOCK = 4_000_000
CONSTANT = "one of the two scores is constant"


def pearson(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Return Pearson's correlation of x and y (n,): covariance / root(variance * variance)."""
    weight = unit_weights(weights, len(x))
    scores = _standard(x), _standard(y)
    return unbatch(_product_moment(*scores, weight, _vary(scores, weight)))


def spearman(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Return Spearman's rho of x and y (n,): Pearson's correlation of their midranks.

    The midranks are computed again in every resample.
    """
    weight = unit_weights(weights, len(x))
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return unbatch(np.full(weight.shape[:-1], np.nan))
    ranks = _midranks(x, weight), _midranks(y, weight)
    return unbatch(_product_moment(*ranks, weight, _vary((x, y), weight)))


def kendall(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Return Kendall's tau-b of x and y (n,) (Kendall 1945).

    tau = (C - D) / root((n0 - ties in x) * (n0 - ties in y)), where n0 is the number of pairs, and
    C and D are the numbers of concordant and discordant pairs.

    With weights, raises ValueError beyond 3,000 different points (x, y).
    """
    if weights is None:
        from scipy import stats

        return float(stats.kendalltau(x, y).statistic) if len(x) > 1 else float("nan")
    points, index = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    if len(points) > MAXIMUM_POINTS:
        raise ValueError(f"{len(points)} different points; Kendall's tau is resampled up to 3000")
    weight = _sum_by(weights, index.ravel())
    # Each pair counts twice in numerator and denominator, and copies of a unit have sign 0.
    excess = np.einsum("...p,...p->...", weight.astype(np.float32) @ _sign_products(points), weight)
    untied = [_untied(score, weight) for score in points.T]
    return unbatch(ratio(excess, np.sqrt(untied[0] * untied[1])))


def _standard(scores: Floats) -> Floats:
    """Centre scores and scale them to at most 1, so that no square is too large or too small."""
    if not len(scores):
        return scores
    half = np.asarray(scores, float) / 2
    centred = half - half.mean()
    largest = np.abs(centred).max()
    return np.asarray(centred / largest if largest > 0 else centred, float)


def _product_moment(x: Floats, y: Floats, weight: Floats, vary: Bools) -> Floats:
    """Correlate x and y, (n,) or, if they differ between resamples, (B, n).

    `vary` says whether both vary in a resample.
    """
    total = weight.sum(axis=-1, keepdims=True)
    dx, dy = (s - ratio(_sum(weight, s)[..., None], total) for s in (x, y))
    covariance = _sum(weight, dx * dy)
    scale = np.sqrt(_sum(weight, dx**2) * _sum(weight, dy**2))
    return ratio(covariance, np.where(vary, scale, 0.0))


def _sum(weight: Floats, scores: Floats) -> Floats:
    total: Floats = np.einsum("...n,...n->...", weight, scores)
    return total


def _vary(scores: tuple[Floats, Floats], weight: Floats) -> Bools:
    """Return whether a resample has two different ones of each of two scores (n,).

    This is known without the rounding of a variance.
    """
    drawn = weight > 0
    varies: Bools = np.asarray(drawn.any(axis=-1))
    for each in scores if drawn.shape[-1] else ():
        order = np.argsort(each)
        risen, there = each[order], drawn[..., order]
        lowest, highest = there.argmax(axis=-1), there[..., ::-1].argmax(axis=-1)
        varies = varies & (risen[lowest] < risen[len(risen) - 1 - highest])
    return varies


def _midranks(scores: Floats, weight: Floats) -> Floats:
    _, index = np.unique(scores, return_inverse=True)
    totals = _sum_by(weight, index)
    ranks: Floats = np.cumsum(totals, axis=-1) - totals / 2
    return ranks[..., index]


def _sign_products(points: Floats) -> NDArray[np.float32]:
    """Return 1 for concordant, -1 for discordant and 0 for tied pairs of points.

    Single precision suffices, since sums of signs are whole numbers: 3,000 points take 36 MB.
    """
    first, second = (np.greater.outer(s, s).astype(np.int8) - np.less.outer(s, s) for s in points.T)
    products: NDArray[np.float32] = (first * second).astype(np.float32)
    return products


def _untied(scores: Floats, weight: Floats) -> Floats:
    """Return twice the number of pairs that differ in the score."""
    _, index = np.unique(scores, return_inverse=True)
    pairs: Floats = weight.sum(axis=-1) ** 2 - (_sum_by(weight, index) ** 2).sum(axis=-1)
    return pairs


def _sum_by(weight: Floats, index: Ints) -> Floats:
    """Sum the weights (B, n) or (n,) over equal entries of `index` (n,)."""
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    return np.add.reduceat(weight[..., order], starts, axis=-1)


def tau_ap(reference: Numbers, ranking: Numbers) -> Value:
    """Return tau_AP of a ranking with the true order: scores (..., S) of S systems, high first.

    Go down the ranking from its second place. p is the mean over these places of the share of the
    systems above a place that the reference, too, puts above the place's own system. Then

        tau_AP = 2 p - 1,

    1 for the reference's order, and -1 for its reverse. Mistakes near the top weigh more than in
    Kendall's tau (Yilmaz, Aslam and Robertson 2008), and the two arguments cannot be exchanged.

    Systems that the ranking ties may stand in any order, and sums and places are means over all
    orders: a ranking without any order has 0. Pairs that the reference ties do not count, and
    neither does a place without a counted system above it. Without ties in the reference this is
    tau_AP,a of Urbano and Marrero (2017). Scores that differ only after the twelfth decimal are
    tied. NaN if the reference ties all systems, or if a score is NaN. Ranks may be integers, which
    takes a fraction of the time.
    """
    found = _tau_ap(reference, ranking)
    known = np.isfinite(reference).all(axis=-1) & np.isfinite(ranking).all(axis=-1)
    return unbatch(np.where(known, found, np.nan))


def tau_ap_of_scored(reference: Floats, ranking: Floats) -> Floats:
    """Return `tau_ap` of each row's systems that both score, for scores (..., S), NaN = none."""
    there = np.isfinite(reference) & np.isfinite(ranking)
    return _tau_ap(*(np.where(there, scores, np.nan) for scores in (reference, ranking)))


def _tau_ap(reference: Numbers, ranking: Numbers) -> Floats:
    """Return tau_AP by rows, (...). Comparisons with NaN are false, so such pairs do not count."""
    shape = np.broadcast_shapes(reference.shape, ranking.shape)
    truth, own = (
        np.broadcast_to(each, shape).reshape(-1, shape[-1]) for each in (reference, ranking)
    )
    step = max(1, BLOCK // max(1, shape[-1] ** 2))
    blocks = [slice(start, start + step) for start in range(0, max(1, len(truth)), step)]
    found = np.concatenate([_tau_ap_of_rows(truth[rows], own[rows]) for rows in blocks])
    return found.reshape(shape[:-1])


def _tau_ap_of_rows(reference: Numbers, ranking: Numbers) -> Floats:
    higher, lower = _higher(reference)
    own_higher, own_lower = _higher(ranking)
    counted = higher | lower
    level = counted & ~(own_higher | own_lower)
    before, beside = _count(own_higher & counted), _count(level)
    agree, agree_beside = (
        2 * _count(which & higher) - number
        for which, number in ((own_higher, before), (level, beside))
    )
    # 0 to all of the `beside` systems at the same level come first, each with the same chance.
    sums = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, reference.shape[-1] + 1))])
    inverse = sums[before + beside] - sums[np.maximum(before - 1, 0)]
    places = beside + (before > 0)
    mean = np.divide(agree_beside, beside, out=np.zeros(beside.shape), where=beside > 0)
    shares = (agree * inverse + mean * (places - before * inverse)) / (beside + 1)
    found = ratio(shares.sum(axis=-1), (places / (beside + 1)).sum(axis=-1))
    # Without the sign of a zero.
    return found + 0.0


def _higher(scores: Numbers) -> tuple[Bools, Bools]:
    """Return whether a system is above another, and whether it is below, (B, one, other)."""
    one, other = scores[:, :, None], scores[:, None, :]
    if np.issubdtype(scores.dtype, np.integer):
        return one > other, one < other
    difference = np.round(one - other, DECIMALS)
    return difference > 0, difference < 0


def _count(pairs: Bools) -> Ints:
    """Return for each system the number of others, from (B, other, system).

    Numbers of the smallest type are added, along whole rows, since there are many pairs.
    """
    kind = np.min_scalar_type(pairs.shape[1])
    found: Ints = np.add.reduce(pairs.view(np.uint8), axis=1, dtype=kind).astype(np.int64)
    return found


#: Of two raters' numbers x and y (U,), with weights (B, U).
CORRELATIONS = by_key(
    Coefficient(
        "spearman",
        "Spearman's rank correlation",
        spearman,
        "spearman",
        "Spearman",
        citation="spearman1904",
        needs="order",
        library={"figure": "correlation", "method": "spearman"},
    ),
    Coefficient(
        "kendall",
        "Kendall's tau-b",
        kendall,
        "kendall",
        "Kendall",
        head="Kendall's tau-b",
        citation="kendall1945",
        needs="order",
        library={"figure": "correlation", "method": "kendall"},
    ),
    Coefficient(
        "pearson",
        "Pearson's correlation",
        pearson,
        "pearson",
        "Pearson",
        citation="pearson1895",
        needs="order",
        library={"figure": "correlation", "method": "pearson"},
    ),
)


def correlation_estimates(
    x: Floats,
    y: Floats,
    clusters: Ints,
    names: Collection[str] = CORRELATIONS,
    detail: str = "",
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return Spearman's, Kendall's or Pearson's correlations of x and y (U,), selected by `names`.

    Whole `clusters` (U,) are resampled, and ranks are computed again in every resample. `detail`
    follows the name in `method`. Units without both scores (NaN) are left out. Scores that differ
    only after the twelfth decimal are tied, since sums of fractions are not exact. Kendall's tau
    compares all pairs of distinct points. With more than 3,000 points (10,000 if there are fewer
    clusters than points) it has a value but no interval, and the method says so.
    """
    there = np.isfinite(x) & np.isfinite(y)
    a, b = (np.round(scores[there], DECIMALS) for scores in (x, y))
    n = int(there.sum())
    methods = {name: f"{CORRELATIONS[name].method}{detail}" for name in names}
    if n < 2:
        reason = "fewer than two units have both scores"
        return {name: undefined(reason, n, method) for name, method in methods.items()}
    points, index = distinct_points(a, b)
    kinds = np.full(len(x), -1, np.int64)
    kinds[there] = index
    tally = Tally.of(kinds, len(points), clusters)
    informative = informative_of_each(tally, *points.T, least=SEVERAL)
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    made: dict[str, Estimate] = {}
    for name, method in methods.items():
        if name == "kendall":
            made[name] = _kendall(bootstrap, points, n, method) or _alone(a, b, n, method)
        else:
            of = partial(CORRELATIONS[name].compute, points[:, 0], points[:, 1])
            made[name] = bootstrap.estimate(of, n, method, CONSTANT)
    return {name: each.within(*COEFFICIENT) for name, each in made.items()}


def distinct_points(x: Floats, y: Floats) -> tuple[Floats, Ints]:
    """Return the different points (x, y), (P, 2), and the index of each unit's point, (n,)."""
    across, column = np.unique(x, return_inverse=True)
    up, row = np.unique(y, return_inverse=True)
    places, index = np.unique(column * len(up) + row, return_inverse=True)
    return np.column_stack([across[places // len(up)], up[places % len(up)]]), index


def _kendall(bootstrap: Bootstrap, points: Floats, n: int, method: str) -> Estimate | None:
    """Resample tau over pairs of clusters or of points; return None if both are too many."""
    tally = bootstrap.tally
    of: OfWeights
    if tally.cells.shape[0] < len(points) <= MAXIMUM_IN_CLUSTERS:
        pairs = pairs_of_clusters(tally.table, points)
        of = _tau_of_pairs(*pairs)
        bootstrap = replace(bootstrap, tally=tally.of_clusters(), left_out=tau_without_one(*pairs))
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
    """Return three counts of pairs of units for every pair of clusters, (C, C) each.

    `table` (C, P) counts the units of each cluster at each of P points (x, y). The counts are
    concordant minus discordant pairs, pairs that differ in x, and pairs that differ in y.
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


def tau_without_one(excess: Floats, untied_x: Floats, untied_y: Floats) -> Floats:
    """Return tau-b with each cluster left out, (C,), from sums over pairs of clusters, (C, C).

    The pairs with the cluster, which are counted in both orders, are subtracted from all pairs. The
    pairs within the cluster are then added back, since they were subtracted twice.
    """
    both, x, y = (
        pairs.sum() - 2 * pairs.sum(axis=1) + np.diagonal(pairs)
        for pairs in (excess, untied_x, untied_y)
    )
    return ratio(both, np.sqrt(x * y))


def _tau_of_pairs(excess: Floats, untied_x: Floats, untied_y: Floats) -> OfWeights:
    def tau(weights: Floats) -> Value:
        both, x, y = (
            np.einsum("...c,...c->...", weights @ pairs, weights)
            for pairs in (excess, untied_x, untied_y)
        )
        return unbatch(ratio(both, np.sqrt(x * y)))

    return tau
