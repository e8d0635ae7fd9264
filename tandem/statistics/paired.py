"""Tests whether systems differ on the same queries, and whether a judge ranks them as people do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import erfc, sqrt
from typing import Literal

import numpy as np

from .cluster_means import difference_by_cluster, sums_by_cluster
from .correlation import tau_ap
from .estimate import (
    COEFFICIENT,
    Bools,
    Estimate,
    Floats,
    Ints,
    Value,
    ratio,
    t_below,
    t_quantile,
    unbatch,
    undefined,
)
from .resampling import LEVEL, MINIMUM_CLUSTERS, Bootstrap, Draws, Interval
from .tally import Tally

#: Above this number of differences the normal approximation replaces the exact test.
EXACT_UP_TO = 200
#: Up to this number of differences all combinations of signs are enumerated.
ENUMERATED_UP_TO = 13
RankCorrelation = Literal["kendall", "spearman", "tau_ap"]
#: Means are compared to this many decimals, since sums of decimal fractions are not exact.
DECIMALS = 12


@dataclass(frozen=True)
class PairedTest:
    """The mean difference with its interval, and a two-sided p-value (null with a reason)."""

    difference: Estimate
    p_value: float | None
    method: str
    reason: str | None = None


def wilcoxon_signed_rank(differences: Floats) -> PairedTest:
    """Test by signed ranks whether differences (n,) lie around 0, two-sided (Wilcoxon 1945).

    Zeros are left out, and ties have midranks. For up to 200 differences the p-value is exact: it
    is taken over all combinations of signs of the observed ranks. Above that, it comes from the
    normal approximation.
    """
    difference = difference_by_cluster(differences, np.arange(len(differences)))
    kept = _other_than_zero(differences)
    if len(kept) == 0:
        reason = "no difference is other than zero"
        return PairedTest(difference, None, "Wilcoxon signed-rank", reason)
    if len(kept) > EXACT_UP_TO:
        p = erfc(abs(_normal_score(kept)) / sqrt(2))
        return PairedTest(difference, p, "Wilcoxon signed-rank, normal approximation")
    return PairedTest(difference, _exact_signed_rank(kept), "Wilcoxon signed-rank, exact")


def sign_flip(differences: Floats, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """Test by random signs whether the mean of the queries' differences (n,) is 0, two-sided.

    For up to 13 differences, p is the share of all 2^n combinations of signs whose mean is at least
    as far from 0 (Fisher 1935). Above that, p is (1 + k) / (1 + `resamples`), where k is the number
    of such combinations among `resamples` random ones (Phipson and Smyth 2010).
    """
    kept = differences[np.isfinite(differences)]
    difference = difference_by_cluster(kept, np.arange(len(kept)))
    if not kept.any():
        return PairedTest(difference, None, "sign flips", "no difference is other than zero")
    n = len(kept)
    if n <= ENUMERATED_UP_TO:
        signs = _signs(np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return PairedTest(difference, float(_extreme(signs, kept).mean()), "sign flips, exact")
    generator = np.random.Generator(np.random.PCG64(seed))
    signs = _signs(generator.integers(0, 2, (resamples, n)))
    p = (1 + int(_extreme(signs, kept).sum())) / (1 + resamples)
    return PairedTest(difference, p, f"sign flips, {resamples} drawn")


def _signs(bits: Ints) -> Floats:
    return np.where(bits > 0, -1.0, 1.0)


def _extreme(signs: Floats, differences: Floats) -> Bools:
    """Return the sums at least as far from 0 as that of the differences, allowing for rounding."""
    found: Bools = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
    return found


def paired_t(a: Floats, b: Floats, clusters: Ints) -> PairedTest:
    """Test the query means of a - b by t, two-sided; items (n,) belong to the queries `clusters`.

    Every query has the same weight. Items without one of the two values (NaN) are left out. If ten
    or more queries have no interval, since fewer than five differ from the rest, there is no
    p-value either.
    """
    there = np.isfinite(a - b)
    sums, sizes = sums_by_cluster((a - b)[there], clusters[there])
    means = sums / sizes
    difference = difference_by_cluster(means, np.arange(len(means)), "mean difference of queries")
    if len(means) < 2 or np.ptp(means) == 0:
        reason = "fewer than two queries" if len(means) < 2 else "all differences are equal"
        return PairedTest(difference, None, "paired t by query", reason)
    if len(means) >= MINIMUM_CLUSTERS and difference.low is None:
        return PairedTest(difference, None, "paired t by query", difference.why_no_interval)
    # SciPy's own function takes a hundred times as long, and many systems have many pairs.
    t = abs(means.mean()) / (means.std(ddof=1) / sqrt(len(means)))
    p = float(2 * t_below(-t, len(means) - 1))
    return PairedTest(difference, p, "paired t by query")


def signed_rank_below(differences: Floats) -> float:
    """Return the one-sided p-value of the signed-rank test that differences (n,) are below 0.

    Zeros and ties are treated as in `wilcoxon_signed_rank`. If all differences are 0, p is 1.
    """
    kept = _other_than_zero(differences)
    if len(kept) == 0:
        return 1.0
    if len(kept) > EXACT_UP_TO:
        return erfc(-_normal_score(kept) / sqrt(2)) / 2
    ranks, positive = _rank_sum(kept)
    return float(min(1.0, _ways(ranks, positive).sum()))


def _exact_signed_rank(differences: Floats) -> float:
    ranks, positive = _rank_sum(differences)
    low = min(positive, int(ranks.sum()) - positive)
    return float(min(1.0, 2 * _ways(ranks, low).sum()))


def _other_than_zero(differences: Floats) -> Floats:
    # Equal differences of decimal fractions may differ in the last bits.
    rounded: Floats = np.round(differences, 12)
    kept: Floats = rounded[np.isfinite(rounded) & (rounded != 0)]
    return kept


def _normal_score(differences: Floats) -> float:
    """Return z of the signed-rank sum under the normal approximation.

    z = (W+ - n (n + 1) / 4) / sqrt((n (n + 1) (2 n + 1) - sum of (t^3 - t) / 2) / 24), where t are
    the numbers of tied sizes. There is no correction for continuity.
    """
    ranks, times = _midranks(np.abs(differences))
    n, tied = len(ranks), float((times**3 - times).sum()) / 2
    variance = (n * (n + 1) * (2 * n + 1) - tied) / 24
    return float((ranks[differences > 0].sum() - n * (n + 1) / 4) / sqrt(variance))


def _midranks(sizes: Floats) -> tuple[Floats, Floats]:
    """Return the midrank of each size, from 1, and how often the size occurs."""
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    times = counts.astype(float)
    return (np.cumsum(times) - (times - 1) / 2)[place], times


def _rank_sum(differences: Floats) -> tuple[Ints, int]:
    """Return the doubled ranks of the differences' sizes, and the sum of the positive ones'."""
    ranks, _ = _midranks(np.abs(differences))
    doubled = np.round(2 * ranks).astype(np.int64)
    return doubled, int(doubled[differences > 0].sum())


def _ways(ranks: Ints, most: int) -> Floats:
    """Return the chance of each sum of positive ranks from 0 to `most`.

    Larger sums are not computed: with many systems, these tests take most of a report's time.
    """
    ways = np.zeros(most + 1)
    ways[0] = 1
    for rank in ranks.tolist():
        # Probabilities are halved at each step because counts would overflow a float.
        if rank <= most:
            ways[rank:] = ways[rank:] + ways[:-rank]
        ways /= 2
    return ways


@dataclass(frozen=True)
class Comparison:
    """Systems a and b: the paired test of a - b, and its p-value adjusted for all comparisons."""

    a: str
    b: str
    test: PairedTest
    adjusted_p_value: float | None


def compare_systems(scores: Floats, names: Sequence[str]) -> list[Comparison]:
    """Compare every pair of systems by paired t tests with Holm's adjustment of p and interval.

    `scores` (Q, S) are those of S systems on Q queries, NaN = none. The adjustment is for the
    number of pairs whose test is defined (`adjust_tests`).
    """
    queries = np.arange(len(scores))
    pairs = list(combinations(range(len(names)), 2))
    tests = adjust_tests([paired_t(scores[:, a], scores[:, b], queries) for a, b in pairs])
    return [
        Comparison(names[a], names[b], test, adjusted)
        for (a, b), (test, adjusted) in zip(pairs, tests, strict=True)
    ]


def adjust_tests(tests: Sequence[PairedTest]) -> list[tuple[PairedTest, float | None]]:
    """Adjust the p-values of paired tests of one family by Holm, and their intervals alike.

    If a test's adjusted p-value is k times its own, its interval has the level 1 - .05/k. Hence an
    interval by the same test excludes 0 exactly if the adjusted p-value is below .05. Tests without
    a p-value do not count. Differences are means of n queries, and t has n - 1 degrees of freedom.
    """
    known = np.array([test.p_value for test in tests if test.p_value is not None], float)
    found = iter(zip(holm(known).tolist(), _holm_factors(known).tolist(), strict=True))
    made: list[tuple[PairedTest, float | None]] = []
    for test in tests:
        if test.p_value is None:
            made.append((test, None))
            continue
        adjusted, factor = next(found)
        made.append((replace(test, difference=_widened(test.difference, factor)), adjusted))
    return made


def _widened(made: Estimate, factor: float) -> Estimate:
    """Return a mean with its 95 % t interval widened to the level 1 - .05/factor."""
    if made.value is None or made.low is None or made.high is None or factor <= 1:
        return made
    tail, freedom = (1 - LEVEL) / 2, made.n - 1
    wider = t_quantile(1 - tail / factor, freedom) / t_quantile(1 - tail, freedom)
    half = wider * (made.high - made.low) / 2
    level = f"{100 * (1 - (1 - LEVEL) / factor):.2f} %"
    method = f"{made.method}, widened to {level} by Holm's adjustment"
    return replace(made, low=made.value - half, high=made.value + half, method=method)


def _holm_factors(p_values: Floats) -> Floats:
    """Return the number k >= 1 by which Holm multiplies each p-value (m,), not limited to p = 1."""
    order = np.argsort(p_values, kind="stable")
    times, ordered = np.arange(len(p_values), 0.0, -1), p_values[order]
    steps = np.maximum.accumulate(times * ordered)
    factors = np.empty(len(p_values))
    factors[order] = np.divide(steps, ordered, out=times.copy(), where=ordered > 0)
    return factors


def holm(p_values: Floats) -> Floats:
    """Adjust p-values (m,) so that all claims hold together at the level (Holm 1979).

    The i-th smallest p-value becomes the maximum of (m - j + 1) * p_(j) over j <= i, at most 1.
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1) * p_values[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def system_rank_correlation(
    people: Floats,
    judge: Floats,
    function: RankCorrelation = "kendall",
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Correlate the rankings of S systems by people and by a judge.

    `people` and `judge` (Q, S) are scores on Q queries, NaN = none.

    The correlation (Kendall's tau-b, Spearman's rho, or `tau_ap` with people's order as the
    reference) is that of the systems' means over queries.
    People's means are over the queries that people scored, and the judge's over those that it
    scored. Whole queries are resampled. Few systems give few possible values, so that the interval
    is coarse.
    """
    n = people.shape[1]
    correlate, name = OF_ROWS[function]
    method = f"{name} of the means of {n} systems"
    if n < 3:
        return undefined("fewer than three systems", n, method)
    sums = np.concatenate([sums_and_counts(people), sums_and_counts(judge)], axis=1)
    bootstrap = Bootstrap(Tally.of_sums(sums, np.arange(len(sums))), draws, seed, interval)

    def statistic(weights: Floats) -> Value:
        x, sizes_x, y, sizes_y = np.split(weights, 4, axis=-1)
        return unbatch(np.asarray(correlate(_means(x, sizes_x), _means(y, sizes_y))))

    reason = "the systems' means are all equal, or a system has no scores"
    queries = int((np.isfinite(people).any(axis=1) & np.isfinite(judge).any(axis=1)).sum())
    return bootstrap.estimate(statistic, n, method, reason, queries).within(*COEFFICIENT)


def kendall_of_rows(x: Floats, y: Floats) -> Floats:
    """Return tau-b of each row of x and y (..., S); NaN if a row is constant or holds NaN."""
    dx = np.sign(x[..., :, None] - x[..., None, :])
    dy = np.sign(y[..., :, None] - y[..., None, :])
    excess = (dx * dy).sum(axis=(-2, -1))
    untied = [(d**2).sum(axis=(-2, -1)) for d in (dx, dy)]
    return ratio(excess, np.sqrt(untied[0] * untied[1]))


def spearman_of_rows(x: Floats, y: Floats) -> Floats:
    """Correlate the midranks of each row of x and y (..., S); NaN if constant or with NaN."""
    from scipy import stats

    centre = (x.shape[-1] + 1) / 2
    rx, ry = (stats.rankdata(s, axis=-1, nan_policy="propagate") - centre for s in (x, y))
    return ratio((rx * ry).sum(axis=-1), np.sqrt((rx**2).sum(axis=-1) * (ry**2).sum(axis=-1)))


OF_ROWS: dict[RankCorrelation, tuple[Callable[[Floats, Floats], Value], str]] = {
    "kendall": (kendall_of_rows, "Kendall's tau-b"),
    "spearman": (spearman_of_rows, "Spearman's rank correlation"),
    "tau_ap": (tau_ap, "tau_AP, with people's order as the reference,"),
}


def sums_and_counts(scores: Floats) -> Floats:
    """Return the scores (Q, S), 0 where missing, beside whether they exist: (Q, 2 S)."""
    there = np.isfinite(scores)
    return np.concatenate([np.where(there, scores, 0.0), there.astype(float)], axis=1)


def _means(sums: Floats, sizes: Floats) -> Floats:
    return np.round(ratio(sums, sizes), DECIMALS)
