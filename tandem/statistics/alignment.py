"""A judge compared with a reference: agreement, the direction of its errors, and its own family.

Tables have people in the rows and the judge in the columns.

Both statistics are differences of shares, so that their intervals say whether the direction is
certain: three units against three is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .agreement import confusion, counts_of
from .cluster_means import difference_by_cluster, informative_shares, sums_by_cluster
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
    unit_weights,
)
from .resampling import Bootstrap, Draws, Interval
from .tally import Tally

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "confusion",
    "f1",
    "macro",
    "majority",
    "mean_absolute_error",
    "precision",
    "recall",
    "specificity",
]


def majority(codes: Ints) -> tuple[Ints, Bools]:
    """Return the most frequent label of each unit of codes (U, R), and whether several tie for it.

    The majority (U,) is -1 on a tie and without labels.
    """
    counts = counts_of(codes, max(int(codes.max(initial=-1)) + 1, 1))
    most = counts.max(axis=1)
    ties = ((counts == most[:, None]).sum(axis=1) > 1) & (most > 0)
    reference = np.where(ties | (most == 0), -1, counts.argmax(axis=1))
    return reference.astype(np.int64), ties


def precision(table: Floats) -> Floats:
    """Return the precision of each category, hits / the judge's uses of it: (K,) or (B, K).

    NaN if the judge never uses the category.
    """
    return ratio(_diagonal(table), table.sum(axis=-2))


def recall(table: Floats) -> Floats:
    """Return the recall of each category, hits / people's uses of it: (K,) or (B, K).

    NaN if people never use the category.
    """
    return ratio(_diagonal(table), table.sum(axis=-1))


def f1(table: Floats) -> Floats:
    """Return 2 hits / (people's + judge's uses of a category): (K,) or (B, K).

    This is the harmonic mean of precision and recall. It is 0 if only one of the two uses the
    category, and NaN if neither does.
    """
    return ratio(2 * _diagonal(table), table.sum(axis=-1) + table.sum(axis=-2))


def accuracy(table: Floats) -> Value:
    """Return the share of units on which judge and reference agree; NaN without units."""
    return unbatch(ratio(_diagonal(table).sum(axis=-1), table.sum(axis=(-2, -1))))


def specificity(table: Floats) -> Floats:
    """Return the share of the units outside a category that the judge also puts outside.

    The shape is (K,) or (B, K). NaN if people put everything in this category.
    """
    people, judge = table.sum(axis=-1), table.sum(axis=-2)
    total = people.sum(axis=-1, keepdims=True)
    return ratio(total - people - judge + _diagonal(table), total - people)


def macro(per_class: Floats) -> Value:
    """Return the plain mean over the categories (..., K) with a defined measure; NaN without any.

    A category that the judge never uses has no precision and is left out of the mean of precisions.
    Implementations that count it as 0 give a lower number.
    """
    there = np.isfinite(per_class)
    return unbatch(ratio(np.where(there, per_class, 0.0).sum(axis=-1), there.sum(axis=-1)))


def balanced_accuracy(table: Floats) -> Value:
    """Return the mean recall of the categories that people use; NaN without units."""
    return macro(recall(table))


def mean_absolute_error(x: Floats, y: Floats, weights: Floats | None = None) -> Value:
    """Return the mean of |x - y| over units (n,) with both scores; NaN without any."""
    gaps = np.abs(x - y)
    there = np.isfinite(gaps)
    weight = unit_weights(weights, len(x))
    return unbatch(ratio(weight @ np.where(there, gaps, 0.0), weight @ there.astype(float)))


def _diagonal(table: Floats) -> Floats:
    return np.diagonal(table, axis1=-2, axis2=-1)


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
