"""How well each person agrees with the others, and these with each other.

Both by the same coefficients, over all pairs of labels of a unit: a person's own label with each of
the others', and the others' among themselves. Pure, over arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.blocks.resampling import MANY, TOO_MANY
from analysis.statistics import Estimate, Floats, Ints, cohen_kappa, counts_of, mean_by_cluster
from analysis.statistics.estimate import SHARE, defined, undefined

PERCENT = "share of the others' labels of a unit that are equal, mean over units"
KAPPA, WEIGHTED = "Cohen's kappa over all pairs", "Cohen's kappa, quadratic weights, over all pairs"
NOBODY, ALONE = "nobody else has labelled these units", "they gave no label of a category"
ONE_CATEGORY = "all labels are the same category"
NO_OTHERS = "no unit has two labels of the others"


@dataclass(frozen=True)
class WithOthers:
    """A person's agreement with the others on `units` that both labelled: the share of equal labels
    and kappa; `others` is the kappa of the others with each other."""

    rater: int
    units: int
    percent: Estimate
    kappa: Estimate
    others: Estimate


def with_others(
    raters: Sequence[int],
    codes: Ints,
    clusters: Ints,
    k: int,
    is_ordered: bool,
    out: Collection[int] = (),
) -> list[WithOthers]:
    """For each of `raters` (R,) with `codes` (U, R) of k categories, -1 = none. Who is left `out`
    is compared, but is nobody's other."""
    counted = np.array([rater not in out for rater in raters], dtype=bool)
    every = counts_of(codes[:, counted], k)
    found = []
    for column, rater in enumerate(raters):
        own = codes[:, column]
        rest = every - counts_of(own[:, None], k) if counted[column] else every
        found.append(_one(rater, own, rest, clusters, k, is_ordered))
    return found


def _one(rater: int, own: Ints, rest: Ints, clusters: Ints, k: int, is_ordered: bool) -> WithOthers:
    both = np.flatnonzero((own >= 0) & (rest.sum(axis=1) > 0))
    shares = rest[both, own[both]] / rest[both].sum(axis=1)
    why = NOBODY if (own >= 0).any() else ALONE
    percent = (
        mean_by_cluster(shares, clusters[both], PERCENT).within(*SHARE)
        if len(both)
        else undefined(why, 0, PERCENT)
    )
    table = np.zeros((k, k))
    np.add.at(table, own[both], rest[both])
    kappa = _kappa(table, len(both), is_ordered, why)
    paired = rest[rest.sum(axis=1) >= 2].astype(float)
    # Each pair of two others stands in both orders, so that the table is symmetric.
    among = paired.T @ paired - np.diag(paired.sum(axis=0))
    return WithOthers(
        rater, len(both), percent, kappa, _kappa(among, len(paired), is_ordered, NO_OTHERS)
    )


def _kappa(table: Floats, units: int, is_ordered: bool, why: str) -> Estimate:
    method = WEIGHTED if is_ordered else KAPPA
    if not units:
        return undefined(why, 0, method)
    if len(table) > MANY:
        return undefined(TOO_MANY, units, method)
    value = cohen_kappa(table, "quadratic" if is_ordered else None)
    if not np.isfinite(value):
        return undefined(ONE_CATEGORY, units, method)
    return defined(float(value), None, units, method)
