"""The interval of a median, which is valid for any distribution."""

import math

import numpy as np

from .cluster_means import sums_by_cluster
from .estimate import Floats, Ints, t_quantile, unique_integers
from .resampling import LEVEL, MINIMUM_CLUSTERS


def median_interval(
    values: Floats, level: float = LEVEL, clusters: Ints | None = None
) -> tuple[float, float] | None:
    """Return the interval of a median between two of the values (n,); None if they are too few.

    The interval holds at least at the level, whatever the distribution. NaN is left out.

    The number X of independent values below the median is Binomial(n, 1/2). The median therefore
    lies between the k-th smallest and the k-th largest value with probability 1 - 2 P(X < k)
    (Thompson, Annals of Mathematical Statistics 7, 1936).

    If values share `clusters` (n,), they are not independent. k is then limited by the clustered t
    interval of the share of values below the median (Woodruff, Confidence intervals for medians and
    other position measures, JASA 47, 1952). Below `MINIMUM_CLUSTERS` there is no interval. In
    simulations (10 to 50 clusters of 3 or 8 values, correlation 0 to .6) this interval contains the
    median in 96 to 99 % of cases. An interval for independent values does so in 71 to 98 %.
    """
    from scipy import stats

    there = np.isfinite(values)
    values, clusters = values[there], None if clusters is None else clusters[there]
    ordered = np.sort(values)
    k = int(stats.binom.ppf((1 - level) / 2, len(ordered), 0.5)) if len(ordered) else 0
    if clusters is not None:
        k = min(k, _clustered_rank(values, clusters, level))
    return (float(ordered[k - 1]), float(ordered[-k])) if k else None


def _clustered_rank(values: Floats, clusters: Ints, level: float) -> int:
    """Return the rank at which the interval of a median begins, 0 if there is none."""
    queries = len(unique_integers(clusters)[0])
    if queries == len(values):
        return queries
    if queries < MINIMUM_CLUSTERS:
        return 0
    middle = np.median(values)
    below = (values < middle) + 0.5 * (values == middle)
    sums, sizes = sums_by_cluster(below, clusters)
    variance = queries / (queries - 1) * ((sums - sizes / 2) ** 2).sum() / len(values) ** 2
    half = t_quantile((1 + level) / 2, queries - 1) * math.sqrt(variance)
    return max(0, math.floor(len(values) * (0.5 - half)))
