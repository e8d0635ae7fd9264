"""What people reach with each other: the mean of a coefficient over pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.arrays import Ints, distinct
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.pair_means import LEAST_SHARED, PairMean, kept_pairs, shared_units
from analysis.statistics.tally import Tally, kinds_of

OF_PAIRS = "mean over pairs of people weighted by shared units"
METHODS = {
    "percent": f"share of equal labels, {OF_PAIRS}",
    "cohen_kappa": f"Cohen's kappa, {OF_PAIRS}",
}
NO_PAIR = "no two people share labels that vary"


@dataclass(frozen=True)
class Pairs:
    """The pairs of columns (P, 2) that stay, and how many others share a unit and do not."""

    kept: Ints
    left_out: int

    def method(self, name: str) -> str:
        """The method of a mean over them in words, with what was left out."""
        if not self.left_out:
            return METHODS[name]
        pairs = "1 pair" if self.left_out == 1 else f"{self.left_out} pairs"
        return f"{METHODS[name]}, {pairs} below {LEAST_SHARED} shared units left out"


def ceiling_pairs(codes: Ints) -> Pairs:
    """The pairs of raters of codes (U, R), -1 = missing, that share at least 30 units.

    Where at most 30 people are there and no pair shares so many, all that share a unit.
    """
    return Pairs(*kept_pairs(shared_units(codes), codes.shape[1]))


def ceiling_estimates(
    codes: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(METHODS),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """The share of equal labels and Cohen's kappa, each its mean over pairs of R raters:
    sum_p n_p kappa_p / sum_p n_p, with n_p the units that a pair shares.

    codes (U, R) of k categories, -1 = missing; `clusters` (U,) are resampled whole. Which pairs
    enter says `ceiling_pairs`; one whose kappa is undefined leaves the mean. `names` are those that
    are wanted.
    """
    pairs = ceiling_pairs(codes)
    who = np.unique(pairs.kept)
    people = codes[:, who]
    enter = (people >= 0).sum(axis=1) >= 2
    n, queries = int(enter.sum()), len(distinct(clusters[enter])[0])
    methods = {name: pairs.method(name) for name in names}
    if not n:
        return {name: undefined(NO_PAIR, n, method) for name, method in methods.items()}
    rows, kinds = kinds_of(people)
    mean = PairMean(rows, np.searchsorted(who, pairs.kept).astype(np.int64), k)
    bootstrap = Bootstrap(Tally.of(kinds, len(rows), clusters), draws, seed, interval)
    functions = {"percent": mean.percent, "cohen_kappa": mean.kappa}
    return {
        name: bootstrap.estimate(functions[name], n, method, NO_PAIR, queries)
        for name, method in methods.items()
    }
