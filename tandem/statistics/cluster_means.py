"""Means with queries as the independent units: their intervals, the design effect, and how many
queries are informative, which decides the level of an interval.

If one label is rare, most queries contain only the other one. A coefficient and its variation then
come from the few queries with the rare label: ten queries of which four are informative say no more
than four queries. An interval is therefore computed at the level for the number of informative
queries, and there is none with fewer than five. If every query contains the rarer label, as with
balanced labels, nothing changes.

A query is informative

- for coefficients of several raters together, if at least two of its labels (or half of them, if
  that is fewer) are not the commonest label;
- for a table of two raters and for curves, if each compared column has at least one such label;
- for correlations, if in each score at least two units (or half of the units, if that is fewer) do
  not have the commonest value;
- for one category, if each column has a label in the category, or outside it if that is rarer;
- for a share, if the query's share is not 0, or not 1 if that is rarer.

A query with a single unit cannot contain both labels, so it counts twice if its label is not the
commonest. Balanced labels on queries with one unit therefore lose nothing, either.

`python -m benchmarks --only intervals` shows how often intervals contain the truth under this rule.
"""

from __future__ import annotations

from math import inf

import numpy as np
from scipy import sparse

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
from .proportion import score_interval
from .resampling import (
    FEWEST_DIFFERING,
    FEWEST_INFORMATIVE,
    MINIMUM_CLUSTERS,
    count_queries,
    too_few,
    too_unequal,
)
from .tally import Tally, effective_number

#: The number of labels (for correlations, of units) other than the commonest that make a query
#: informative for several raters together. It is not 1, since a single such label is often a slip.
SEVERAL = 2
#: Values nearer to each other are equal, since sums of decimal fractions are not exact.
ROUNDING = 1e-9


def count_informative(tally: Tally, others: Floats, labels: Floats, least: int = 1) -> int:
    """Count the informative clusters.

    `labels` (P,) is the number of labels of a unit of each kind, and `others` (P,) how many of them
    are not the commonest. A cluster is informative if at least `least` of its labels, or half of
    them if that is fewer, are not the commonest.
    """
    held, of = tally.cells @ others, tally.cells @ labels
    only = (held > 0) & (held == of) & (tally.sizes == 1)
    some = int(tally.times[held >= np.clip(of / 2, 0.5, least)].sum())
    return min(some + int(tally.times[only].sum()), tally.clusters)


def informative_among(tally: Tally, counts: Ints | Floats | sparse.csr_array) -> int:
    """Count the informative clusters for several raters together.

    `counts` (P, K) has each kind's number of labels by category.
    """
    labels = np.asarray(counts.sum(axis=1), float)
    commonest = np.arange(counts.shape[1]) == np.argmax(tally.total @ counts)
    others = labels - counts @ commonest.astype(float)
    return count_informative(tally, others, labels, SEVERAL)


def informative_of_each(tally: Tally, *columns: Ints | Floats, least: int = 1) -> int:
    """Return the smallest count over the raters' columns (P,) of labels by kind, -1 = none."""
    return min(_of_column(tally, column, least) for column in columns)


def informative_by_category(tally: Tally, k: int, *columns: Ints) -> list[int]:
    """Return the smallest count over the columns, for each of k categories against the others."""
    return [
        informative_of_each(tally, *((column == category).astype(np.int64) for column in columns))
        for category in range(k)
    ]


def informative_shares(parts: Floats, wholes: Floats) -> int:
    """Count the queries that are informative for the shares `parts` / `wholes`, (n,) each."""
    there, single = wholes > 0, wholes == 1
    found = [
        int(np.count_nonzero(there & (held > 0)) + np.count_nonzero(single & (held == wholes)))
        for held in (parts, wholes - parts)
    ]
    return min(int(np.count_nonzero(there)), *found)


def count_differing(values: Floats) -> int:
    """Count the values (n,) that differ from the commonest one."""
    times = np.unique(np.round(values / ROUNDING), return_counts=True)[1]
    return len(values) - int(times.max(initial=0))


def too_few_differ(differences: Floats, who: str) -> str:
    """Explain that there is no interval, since the two differ on too few queries; or empty.

    `differences` (n,) or (n, k) are those of each query, and `who` names the two that are compared.
    """
    apart = np.abs(differences) > ROUNDING
    differing = int(np.count_nonzero(apart if apart.ndim == 1 else apart.any(axis=1)))
    if differing >= FEWEST_DIFFERING:
        return ""
    return (
        f"no interval: {who} differ on {differing} of {len(differences)} queries, at least "
        f"{FEWEST_DIFFERING} must"
    )


def _of_column(tally: Tally, column: Ints | Floats, least: int) -> int:
    there = column >= 0 if column.dtype.kind == "i" else np.isfinite(column)
    values, place = np.unique(column[there], return_inverse=True)
    if len(values) < 2:
        return 0
    others = np.zeros(len(column))
    others[there] = place != np.bincount(place, tally.total[there]).argmax()
    return count_informative(tally, others, there.astype(float), least)


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
