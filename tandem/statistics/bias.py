"""Whether a judge errs more in one direction, from its labels and a reference.

Both statistics are differences of shares, so that their intervals say whether the direction is
certain: three units against three is not.
"""

from __future__ import annotations

import numpy as np

from .arrays import Floats, Ints, Value, ratio, unbatch
from .cluster_means import sums_by_cluster
from .estimate import Estimate, undefined
from .informative import informative_shares
from .resampling import Bootstrap, Draws, Interval
from .tally import Tally

STRICTNESS = "share of people's yes missed less share of their no called yes"
HEIGHT = "share of labels above people's less share below"
ONE_SIDED = "people say no yes, or no no, where the judge answered"
NO_UNIT = "no unit has both labels"


def strictness(
    reference: Ints,
    judge: Ints,
    clusters: Ints,
    *,
    yes: int,
    no: int,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return the share of a reference's yes that a judge misses, less that of its no called yes.

    With M of Y yes missed and A of N no called yes, it is M/Y - A/N: above 0 the judge is too
    strict, below 0 too lenient. Codes (U,), -1 = missing; only units with yes or no from both
    count. Whole `clusters` (U,) are resampled. A query is informative if it holds an error.
    """
    both = np.isin(reference, (yes, no)) & np.isin(judge, (yes, no))
    sides = [both & (reference == code) for code in (yes, no)]
    columns = [each for of in sides for each in (of & (judge != reference), of)]
    n = int(both.sum())
    if not all(of.any() for of in sides):
        return undefined(ONE_SIDED, n, STRICTNESS)

    def less(sums: Floats) -> Value:
        return unbatch(ratio(sums[..., 0], sums[..., 1]) - ratio(sums[..., 2], sums[..., 3]))

    table = np.column_stack(columns).astype(float)
    bootstrap = Bootstrap(Tally.of_sums(table, clusters), draws, seed, interval)
    missed, yeses, added, noes = (sums_by_cluster(column, clusters)[0] for column in table.T)
    informative = informative_shares(missed + added, yeses + noes)
    return bootstrap.estimate(less, n, STRICTNESS, informative=informative)


def height(
    reference: Floats,
    judge: Floats,
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return the share of units that a judge puts above a reference, less the share below.

    Both are numbers (U,), NaN = missing. Whole `clusters` (U,) are resampled.
    """
    both = np.isfinite(reference) & np.isfinite(judge)
    n = int(both.sum())
    if not n:
        return undefined(NO_UNIT, n, HEIGHT)
    apart = np.where(both, judge, 0.0) - np.where(both, reference, 0.0)
    table = np.column_stack([apart > 0, apart < 0, both]).astype(float)

    def less(sums: Floats) -> Value:
        return unbatch(ratio(sums[..., 0], sums[..., 2]) - ratio(sums[..., 1], sums[..., 2]))

    bootstrap = Bootstrap(Tally.of_sums(table, clusters), draws, seed, interval)
    above, below, there = (sums_by_cluster(column, clusters)[0] for column in table.T)
    informative = informative_shares(above + below, there)
    return bootstrap.estimate(less, n, HEIGHT, informative=informative)
