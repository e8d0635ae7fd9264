"""Means with queries as the independent units: their intervals, and the design effect."""

from __future__ import annotations

from math import inf

import numpy as np

from .estimate import (
    UNBOUNDED,
    Bounds,
    Estimate,
    Floats,
    Ints,
    defined,
    t_quantile,
    undefined,
    unique_integers,
)
from .informative import ROUNDING, count_differing, too_few_differ
from .proportion import score_interval
from .resampling import (
    FEWEST_DIFFERING,
    FEWEST_INFORMATIVE,
    MINIMUM_CLUSTERS,
    count_queries,
    too_few,
    too_unequal,
)
from .tally import effective_number

ALIKE = "no interval: all queries have the same mean"


def mean_by_cluster(
    values: Floats, clusters: Ints, method: str = "mean", bounds: Bounds = UNBOUNDED
) -> Estimate:
    """Return the mean over items, with an interval that treats queries as the independent units.

    The mean is the ratio of two sums over m queries: the sums of values s_q and the numbers of
    items n_q. Its linearised variance is

        m/(m-1) * sum_q (s_q - mean * n_q)^2 / (sum_q n_q)^2

    (Cochran 1977, section 6; Liang and Zeger 1986), which is s2/m of the query means if all queries
    have the same number of items.

    A mean between two finite `bounds`, such as a share, has the interval of `bounded_interval`,
    which has width even if all values are equal. Any other mean has mean +- t_(m-1) *
    root(variance), cut at the bounds, and no interval if all query means are equal. A value beyond
    the bounds widens them. NaN values are left out.
    """
    kept = np.isfinite(values)
    if not kept.any():
        return undefined("no values", 0, method)
    sums, sizes = sums_by_cluster(values[kept], clusters[kept])
    queries, n, mean = len(sums), int(sizes.sum()), float(sums.sum() / sizes.sum())
    if queries < MINIMUM_CLUSTERS:
        return defined(mean, None, n, f"{method}; {too_few(queries)}")
    variance = queries / (queries - 1) * float(((sums - mean * sizes) ** 2).sum()) / n**2
    least, most = min(bounds[0], values[kept].min()), max(bounds[1], values[kept].max())
    if 0 < most - least < inf:
        return _bounded(mean, variance, sums / sizes, sizes, method, (least, most))
    if count_differing(sums / sizes) == 0:
        return defined(mean, None, n, f"{method}; {ALIKE}")
    half = t_quantile(0.975, queries - 1) * variance**0.5
    how = f"95 % t interval clustered by {queries} queries"
    return defined(mean, (mean - half, mean + half), n, f"{method}; {how}").within(least, most)


def difference_by_cluster(
    differences: Floats, clusters: Ints, method: str = "mean difference", bounds: Bounds = UNBOUNDED
) -> Estimate:
    """Return the mean of differences of two systems or raters, with its t interval by query.

    The interval is that of `mean_by_cluster` without bounds, cut at the bounds. There is none if
    the two differ on fewer than five queries: the interval then depends on whether a rare query
    happens to be in the study.
    """
    made = mean_by_cluster(differences, clusters, method)
    kept = np.isfinite(differences)
    if made.value is not None and made.low is not None:
        apart, _ = sums_by_cluster(np.abs(differences[kept]), clusters[kept])
        if why := too_few_differ(apart, "the two"):
            made = defined(made.value, None, made.n, f"{method}; {why}")
    return made.within(*bounds)


def _bounded(
    mean: float, variance: float, means: Floats, sizes: Floats, method: str, bounds: Bounds
) -> Estimate:
    queries, n, effective = len(sizes), int(sizes.sum()), effective_number(sizes)
    if why := too_unequal(queries, effective):
        return defined(mean, None, n, f"{method}; {why}")
    ends, size = bounded_interval(mean, variance, means, effective, n, bounds)
    of = f"clustered by {count_queries(queries, effective)}, effective size {size:.0f}"
    return defined(mean, ends, n, f"{method}; 95 % Wilson interval {of}")


def bounded_interval(
    value: float,
    variance: float,
    means: Floats,
    queries: float,
    units: int,
    bounds: Bounds,
    least_size: float | None = None,
) -> tuple[tuple[float, float], float]:
    """Return Wilson's interval of a mean between two bounds, and its effective size.

    The bounds are mapped to 0 and 1. The quantile is t with `queries` - 1 degrees of freedom, where
    `queries` is the `effective_number` of the queries. For a mean p of `variance`, the effective
    size is

        max(queries, p (1 - p) / variance),

    or at least `least_size` instead, for an estimate that is less certain than a mean over queries
    (Korn and Graubard, Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data, Survey Methodology 24, 1998).

    The variance says little if it comes from few queries. If k < 5 of the query `means` (m,) lie
    away from the nearer bound, the inverse of the effective size is k/5 of the inverse of the above
    plus 1 - k/5 of that of the least size, as if items of a query were all alike. If more lie away,
    but fewer than five differ from the rest, p (1 - p) / variance is at most the number of `units`.
    """
    least, scale = bounds[0], bounds[1] - bounds[0]
    fewest = queries if least_size is None else least_size
    p = float(np.clip((value - least) / scale, 0, 1))
    error = variance / scale**2
    by_variance = p * (1 - p) / error if error > ROUNDING**2 else float(units)
    nearer = least if p < 0.5 else bounds[1]
    away = int(np.count_nonzero(np.abs(means - nearer) > ROUNDING * scale))
    known = min(away / FEWEST_INFORMATIVE, 1.0)
    if known == 1 and count_differing((means - least) / scale) < FEWEST_DIFFERING:
        by_variance = min(by_variance, units)
    size = 1 / (known / max(fewest, by_variance) + (1 - known) / fewest)
    low, high = score_interval(p, size, t_quantile(0.975, queries - 1))
    return (least + scale * max(low, 0.0), least + scale * min(high, 1.0)), size


def mean_of_clusters(
    values: Floats,
    clusters: Ints,
    method: str = "mean of queries",
    bounds: Bounds = UNBOUNDED,
) -> Estimate:
    """Return the mean of the query means, each query weighing the same, with its interval.

    The interval is that of `mean_by_cluster` for the means of m queries: without bounds,
    mean +- t_(m-1) * s / root(m). NaN values are left out.
    """
    kept = np.isfinite(values)
    if not kept.any():
        return undefined("no values", 0, method)
    sums, sizes = sums_by_cluster(values[kept], clusters[kept])
    made = mean_by_cluster(sums / sizes, np.arange(len(sums)), method, bounds)
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
