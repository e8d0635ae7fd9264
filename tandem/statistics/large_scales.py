"""Cohen's kappa of two raters on scales with too many categories for a table: numbers and sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .agreement import positions
from .cluster_means import informative_of_each
from .coefficients import OF_SETS, WEIGHTED, why_no_kappa
from .estimate import Coefficient, Estimate, Floats, Ints
from .pairwise import terms, weighted_kappa
from .resampling import Bootstrap, Draws, Interval, OfWeights
from .sets import masi_distances, weighted_kappa_of_sets
from .tally import Tally, kinds_of


def pair_of_sets_estimate(
    one: Ints,
    other: Ints,
    clusters: Ints,
    members: Floats,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return Cohen's kappa of two raters' sets, weighted by their MASI distances (Passonneau 2006).

    Codes (U,) are those of K sets, -1 = missing, and `members` (K, M) say which codes are in each.
    Whole `clusters` (U,) are resampled. The tables of `pair_estimates` would be too large for many
    sets.
    """
    distances = masi_distances(members)

    def kappa_of(first: Ints, second: Ints) -> OfWeights:
        return lambda weights: weighted_kappa_of_sets(first, second, distances, weights)

    return _without_table(OF_SETS, one, other, clusters, kappa_of, draws, seed, interval)


def pair_of_numbers_estimate(
    one: Ints,
    other: Ints,
    clusters: Ints,
    values: Floats,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return Cohen's kappa of two raters with quadratic weights, for scales of many numbers.

    It is that of `pair_estimates`, whose tables would be too large: codes (U,), -1 = missing, are
    of categories with the numbers `values` (K,), and whole `clusters` (U,) are resampled.
    """
    scale = positions(len(values), values)

    def kappa_of(first: Ints, second: Ints) -> OfWeights:
        sums = terms(scale[first], scale[second])
        return lambda weights: weighted_kappa(np.moveaxis(weights @ sums, -1, 0))

    return _without_table(WEIGHTED, one, other, clusters, kappa_of, draws, seed, interval)


def _without_table(
    of: Coefficient,
    one: Ints,
    other: Ints,
    clusters: Ints,
    kappa_of: Callable[[Ints, Ints], OfWeights],
    draws: Draws,
    seed: int,
    interval: Interval,
) -> Estimate:
    """Return a kappa of two columns (U,), from a function of the pairs of labels that occur."""
    labels, kinds = kinds_of(np.column_stack([one, other]))
    there = (labels >= 0).all(axis=1)
    place = np.where(there, np.cumsum(there) - 1, -1)
    tally = Tally.of(place[kinds], int(there.sum()), clusters)
    first, second = labels[there].T
    bootstrap = Bootstrap(tally, draws, seed, interval, informative_of_each(tally, first, second))
    n, reason = int(((one >= 0) & (other >= 0)).sum()), why_no_kappa(one, other)
    kappa = kappa_of(first, second)
    return bootstrap.estimate(kappa, n, of.method, reason).within(*of.bounds)
