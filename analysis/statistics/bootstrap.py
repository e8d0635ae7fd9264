"""Intervals that respect queries: the percentile bootstrap of whole queries, and t on means."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value, distinct
from analysis.statistics.distributions import t_quantile
from analysis.statistics.estimate import Estimate, defined, is_undefined, undefined

#: With fewer queries than this no interval is given.
MINIMUM_CLUSTERS = 10
#: With a larger share of undefined resamples than this no interval is given.
MAXIMUM_UNDEFINED = 0.05
#: How many weights `Resamples.blocks` makes at once: 16 MB.
BLOCK = 2_000_000


@dataclass(frozen=True)
class Resamples:
    """Resampled queries. `draws` (B, C): how often each cluster is drawn; `index` (U,): the
    cluster of each unit."""

    draws: Floats
    index: Ints

    @classmethod
    def draw(cls, clusters: Ints, resamples: int, seed: int) -> "Resamples":
        """Draw as many clusters as there are, with replacement, `resamples` times (seeded)."""
        names, index = np.unique(clusters, return_inverse=True)
        generator = np.random.Generator(np.random.PCG64(seed))
        shares = np.full(len(names), 1 / max(len(names), 1))
        draws = generator.multinomial(len(names), shares, size=resamples)
        return cls(draws.astype(float), index.astype(np.int64))

    def weights(self) -> Floats:
        """The weight of each unit in each resample, (B, U)."""
        return self.draws[:, self.index]

    def blocks(self) -> Iterator[Floats]:
        """The weights in turn, (b, U) each, so that many units do not fill the memory."""
        step = max(1, BLOCK // max(1, len(self.index)))
        for start in range(0, len(self.draws), step):
            yield self.draws[start : start + step][:, self.index]


def cluster_weights(clusters: Ints, resamples: int, seed: int) -> Floats:
    """How often each unit is drawn in each resample, (B, U), queries being resampled whole.

    `clusters` (U,) holds the query of each unit. Equal seeds give equal weights.
    """
    return Resamples.draw(clusters, resamples, seed).weights()


def percentile_interval(values: Floats, level: float = 0.95) -> tuple[float, float] | None:
    """The central `level` of the resampled values (B,), or None.

    Undefined resamples (NaN) are left out; where more than 5 % are undefined, or nothing is
    there, no interval is given, since what is left is not a sample of the whole.
    """
    kept = values[np.isfinite(values)]
    if len(kept) == 0 or len(kept) < (1 - MAXIMUM_UNDEFINED) * len(values):
        return None
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def estimate(
    function: Callable[[Floats | None], Value],
    weights: Floats | Resamples | None,
    clusters: Ints,
    n: int,
    method: str,
    reason: str = "undefined on these labels",
) -> Estimate:
    """The value of `function(None)` with the percentile interval of `function(weights)`.

    `clusters` holds the queries of the units that enter: below ten different ones the interval
    is null and the method says so. `reason` is given where the value is undefined.
    """
    value = float(function(None))
    queries = len(np.unique(clusters))
    if is_undefined(value) or weights is None or queries < MINIMUM_CLUSTERS:
        return estimate_from(value, None, queries, n, method, reason)
    blocks = weights.blocks() if isinstance(weights, Resamples) else [weights]
    resampled = np.concatenate([np.atleast_1d(function(block)) for block in blocks])
    return estimate_from(value, resampled, queries, n, method, reason)


def estimate_from(
    value: float, resampled: Floats | None, queries: int, n: int, method: str, reason: str
) -> Estimate:
    """The same where the value and its resamples (B,) are already at hand."""
    if is_undefined(value):
        return undefined(reason, n, method)
    if queries < MINIMUM_CLUSTERS:
        return defined(value, None, n, f"{method}; {too_few(queries)}")
    if resampled is None:
        return defined(value, None, n, f"{method}; no interval: not resampled")
    interval = percentile_interval(resampled)
    if interval is None:
        return defined(value, None, n, f"{method}; no interval: undefined in many resamples")
    how = f"95 % percentile bootstrap of {queries} queries, {len(resampled)} resamples"
    return defined(value, interval, n, f"{method}; {how}")


def too_few(queries: int) -> str:
    """Why there is no interval."""
    noun = "query" if queries == 1 else "queries"
    return f"no interval: {queries} {noun}, at least {MINIMUM_CLUSTERS} are needed"


def mean_by_cluster(values: Floats, clusters: Ints, method: str = "mean") -> Estimate:
    """The plain mean over items, with an interval that takes queries as the independent units.

    The mean is a ratio of two sums over queries, of values s_q and of items n_q. Linearised,
    its variance is m/(m-1) * sum_q (s_q - mean*n_q)^2 / (sum_q n_q)^2 over m queries, and the
    interval is mean +- t_(m-1) * its root (Cochran 1977, section 6; Liang and Zeger 1986).
    With equally large queries this is exactly t on the query means. NaN values are left out.
    """
    kept = np.isfinite(values)
    if not kept.any():
        return undefined("no values", 0, method)
    sums, sizes = sums_by_cluster(values[kept], clusters[kept])
    mean, queries, n = sums.sum() / sizes.sum(), len(sums), int(sizes.sum())
    if queries < MINIMUM_CLUSTERS:
        return defined(mean, None, n, f"{method}; {too_few(queries)}")
    variance = queries / (queries - 1) * ((sums - mean * sizes) ** 2).sum() / n**2
    half = t_quantile(0.975, queries - 1) * np.sqrt(variance)
    how = f"95 % t interval clustered by {queries} queries"
    return defined(mean, (mean - half, mean + half), n, f"{method}; {how}")


def mean_of_clusters(values: Floats, clusters: Ints, method: str = "mean of queries") -> Estimate:
    """The mean of the query means, each query weighing the same, with its t interval.

    mean +- t_(m-1) * s / root(m) over the means of m queries. NaN values are left out.
    """
    kept = np.isfinite(values)
    if not kept.any():
        return undefined("no values", 0, method)
    sums, sizes = sums_by_cluster(values[kept], clusters[kept])
    made = mean_by_cluster(sums / sizes, np.arange(len(sums)), method)
    return Estimate(made.value, made.low, made.high, int(sizes.sum()), made.method)


def design_effect(values: Floats, clusters: Ints) -> float:
    """How many times larger the variance of the mean is than with independent items (Kish 1965).

    The variance of `mean_by_cluster` over s2/n. With m items in each query it is about
    1 + (m - 1) * the correlation within queries. NaN below two queries and without variance.
    """
    kept = np.isfinite(values)
    items = values[kept]
    sums, sizes = sums_by_cluster(items, clusters[kept])
    if len(sums) < 2 or np.ptp(items) == 0:
        return float("nan")
    scale = len(sums) / (len(sums) - 1)
    variance = scale * ((sums - items.mean() * sizes) ** 2).sum() / len(items) ** 2
    return float(variance / (items.var(ddof=1) / len(items)))


def sums_by_cluster(values: Floats, clusters: Ints) -> tuple[Floats, Floats]:
    """The sum of the values and the number of items of each cluster, in order of cluster."""
    index = distinct(clusters)[2]
    sums, sizes = np.bincount(index, values), np.bincount(index)
    return sums.astype(float), sizes.astype(float)
