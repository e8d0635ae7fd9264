"""Means with queries as the independent units: t intervals, and the design effect."""

from __future__ import annotations

import numpy as np

from .arrays import Floats, Ints, t_quantile, unique_integers
from .estimate import Estimate, defined, undefined
from .resampling import MINIMUM_CLUSTERS, too_few


def mean_by_cluster(values: Floats, clusters: Ints, method: str = "mean") -> Estimate:
    """Return the mean over items, with an interval that treats queries as the independent units.

    The mean is the ratio of two sums over m queries: the sums of values s_q and the numbers of
    items n_q. The interval is mean +- t_(m-1) * root(variance), with the linearised variance

        m/(m-1) * sum_q (s_q - mean * n_q)^2 / (sum_q n_q)^2

    (Cochran 1977, section 6; Liang and Zeger 1986). If all queries have the same number of items,
    this is exactly the t interval of the query means. NaN values are left out.
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
    """Return the mean of the query means, each query weighing the same, with its t interval.

    The interval is mean +- t_(m-1) * s / root(m) over the means of m queries. NaN values are left
    out.
    """
    kept = np.isfinite(values)
    if not kept.any():
        return undefined("no values", 0, method)
    sums, sizes = sums_by_cluster(values[kept], clusters[kept])
    made = mean_by_cluster(sums / sizes, np.arange(len(sums)), method)
    return Estimate(made.value, made.low, made.high, int(sizes.sum()), made.method)


def design_effect(values: Floats, clusters: Ints) -> float:
    """Return how many times larger the variance of the mean is than with independent items.

    This is the variance of `mean_by_cluster` divided by s2/n (Kish 1965). With m items in each
    query it is about 1 + (m - 1) * the correlation within queries. NaN below two queries and
    without variance.
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
    """Return the sum of the values and the number of items of each cluster, in order of cluster."""
    index = unique_integers(clusters)[2]
    sums, sizes = np.bincount(index, values), np.bincount(index)
    return sums.astype(float), sizes.astype(float)
