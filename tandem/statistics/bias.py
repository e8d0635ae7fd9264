"""Whether a judge errs more in one direction, or favours answers from its own model family.

Both statistics are differences of shares, so that their intervals say whether the direction is
certain: three units against three is not.

A unit's difference d is the judge's number minus people's mean. A lenient judge has positive
differences for all families, so only the difference between two means shows a preference:

    sum_own d / n_own - sum_others d / n_others,

Both means are resampled together, by whole queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .cluster_means import difference_by_cluster, sums_by_cluster
from .estimate import (
    Bools,
    Estimate,
    Floats,
    Ints,
    Value,
    ratio,
    unbatch,
    undefined,
    unique_integers,
)
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


LESS = "judge's number less people's mean"
PREFERENCE = f"{LESS}, own family less the others"
NO_OWN = "no answer of the judge's own family has labels of people and of the judge"
NO_OTHERS = "no answer of another family has labels of people and of the judge"


@dataclass(frozen=True)
class FamilyDifferences:
    """Mean of judge minus people on its `own` family and on `others`, and their difference."""

    own: Estimate
    others: Estimate
    preference: Estimate


def family_differences(
    judge: Floats,
    people: Floats,
    own: Bools,
    others: Bools,
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> FamilyDifferences:
    """Compare a judge's numbers (U,) with people's mean (U,) by family; NaN = no label.

    `own` and `others` (U,) mark units about answers of the judge's family and of other families.
    Units with neither mark do not count. The means have t intervals clustered by query. The
    difference has an interval from resampled `clusters` (U,).
    """
    difference = judge - people
    there = np.isfinite(difference)
    sides = {name: there & side for name, side in (("own", own), ("others", others))}
    whys = {"own": NO_OWN, "others": NO_OTHERS}
    means = {
        name: difference_by_cluster(difference[side], clusters[side], f"mean of {LESS}, clustered")
        if side.any()
        else undefined(whys[name], 0, f"mean of {LESS}, clustered")
        for name, side in sides.items()
    }
    bootstrap = Bootstrap(_tally(difference, sides, clusters), draws, seed, interval)
    preference = _preference(bootstrap, sides, clusters)
    return FamilyDifferences(means["own"], means["others"], preference)


def _tally(difference: Floats, sides: Mapping[str, Bools], clusters: Ints) -> Tally:
    """Tally the sum of the differences and the number of units of each side, by cluster."""
    known = np.where(np.isfinite(difference), difference, 0.0)
    columns = [column for side in sides.values() for column in (known * side, side)]
    return Tally.of_sums(
        np.column_stack(columns).astype(float), clusters, np.logical_or(*sides.values())
    )


def _preference(bootstrap: Bootstrap, sides: Mapping[str, Bools], clusters: Ints) -> Estimate:
    either = sides["own"] | sides["others"]
    n = int(either.sum())
    for name, why in (("own", NO_OWN), ("others", NO_OTHERS)):
        if not sides[name].any():
            return undefined(why, n, PREFERENCE)
    queries = len(unique_integers(clusters[either])[0])
    return bootstrap.estimate(_less, n, PREFERENCE, clusters=queries)


def _less(sums: Floats) -> Value:
    return unbatch(ratio(sums[..., 0], sums[..., 1]) - ratio(sums[..., 2], sums[..., 3]))
