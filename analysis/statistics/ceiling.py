"""What people reach with each other: the mean of a coefficient over pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.statistics.agreement import cohen_kappa
from analysis.statistics.arrays import Floats, Ints, Value, distinct, ratio, unbatch
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.tally import Tally, kinds_of

#: Pairs that share fewer units stay out, unless no pair shares so many.
LEAST_SHARED = 30

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

    Where no pair shares so many, all that share a unit.
    """
    there = sparse.csr_array(codes >= 0, dtype=np.int64)
    shared = sparse.coo_array(sparse.triu(there.T @ there, 1))
    pairs = np.column_stack(shared.coords).astype(np.int64)
    enough = shared.data >= LEAST_SHARED
    kept = enough if enough.any() else shared.data > 0
    return Pairs(pairs[kept], int((shared.data > 0).sum() - kept.sum()))


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
    mean = PairMean(rows, np.searchsorted(who, pairs.kept), k)
    bootstrap = Bootstrap(Tally.of(kinds, len(rows), clusters), draws, seed, interval)
    functions = {"percent": mean.percent, "cohen_kappa": mean.kappa}
    return {
        name: bootstrap.estimate(functions[name], n, method, NO_PAIR, queries)
        for name, method in methods.items()
    }


@dataclass(frozen=True)
class PairMean:
    """Means over pairs (P, 2) of the columns of `rows` (N, R), codes of k categories, -1 = missing.

    They take weights of the rows, (N,) or (B, N), and weigh each pair by the units that it shares
    under them.
    """

    rows: Ints
    pairs: Ints
    k: int

    def percent(self, weights: Floats) -> Value:
        """The mean share of equal labels."""
        a, b = self._columns
        shared = ((a >= 0) & (b >= 0)).astype(float)
        equal = shared * (a == b)
        return unbatch(ratio(weights @ equal.sum(axis=1), weights @ shared.sum(axis=1)))

    def kappa(self, weights: Floats) -> Value:
        """The mean of Cohen's kappa over the pairs where it is defined."""
        tables = (self._into_cells @ weights.T).T.reshape(
            *weights.shape[:-1], len(self.pairs), self.k, self.k
        )
        kappas, units = np.asarray(cohen_kappa(tables)), tables.sum(axis=(-2, -1))
        there = np.isfinite(kappas)
        total = (np.where(there, kappas, 0.0) * units).sum(axis=-1)
        return unbatch(ratio(total, (there * units).sum(axis=-1)))

    @cached_property
    def _columns(self) -> tuple[Ints, Ints]:
        return self.rows[:, self.pairs[:, 0]], self.rows[:, self.pairs[:, 1]]

    @cached_property
    def _into_cells(self) -> sparse.csr_array:
        """From rows to the cells of the pairs' tables, (P K K, N)."""
        a, b = self._columns
        row, pair = np.nonzero((a >= 0) & (b >= 0))
        cells = pair * self.k**2 + a[row, pair] * self.k + b[row, pair]
        shape = (len(self.pairs) * self.k**2, len(self.rows))
        return sparse.csr_array((np.ones(len(row)), (cells, row)), shape=shape)
