"""Whether a judge favours answers from its own model family over those of others.

A unit's difference d is the judge's number minus people's mean. A lenient judge has positive
differences for all families, so only the difference between two means shows a preference:

    sum_own d / n_own - sum_others d / n_others,

Both means are resampled together, by whole queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats, Ints, Value, ratio, unbatch, unique_integers
from .cluster_means import difference_by_cluster
from .estimate import Estimate, undefined
from .resampling import Bootstrap, Draws, Interval
from .tally import Tally

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
