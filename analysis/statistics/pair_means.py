"""Means over pairs of raters, weighted by the units that a pair shares, and which pairs enter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.statistics.agreement import cohen_kappa
from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch

#: Pairs that share fewer units are left out, unless none shares so many and people are few.
LEAST_SHARED = 30
#: Above so many people such pairs are always left out: each of a crowd shares little with another.
CROWD = 30
#: So many cells of tables are made at once: 16 MB.
AT_ONCE = 2_000_000


def shared_units(people: Ints) -> sparse.coo_array:
    """How many units each two people share, above the diagonal; pairs that share none are absent.

    A crowd has many more pairs than labels, so that all of them are never formed.
    """
    labelled = sparse.csr_array(people >= 0, dtype=np.int64)
    return sparse.coo_array(sparse.triu(labelled.T @ labelled, 1))


def kept_pairs(shared: sparse.coo_array, people: int) -> tuple[Ints, int]:
    """The pairs (P, 2) that stay, and how many that share a unit do not."""
    pairs = np.column_stack(shared.coords).astype(np.int64)
    kept, left_out = enough(shared.data, people)
    return pairs[kept], left_out


def enough(units: Ints, people: int) -> tuple[Ints, int]:
    """The places of those with enough shared units, and how many with some are left out."""
    some = np.flatnonzero(units > 0)
    large = np.flatnonzero(units >= LEAST_SHARED)
    if not len(large) and people <= CROWD:
        return some, 0
    return large, len(some) - len(large)


@dataclass(frozen=True)
class PairMean:
    """Means over pairs (P, 2) of columns of `rows` (N, C), codes of k categories, -1 = missing.

    They take weights of the rows, (N,) or (B, N), and weigh each pair by the units that it shares
    under them; with `drawn` (B, C) also by how often each of the two columns was drawn.
    """

    rows: Ints
    pairs: Ints
    k: int

    def percent(self, weights: Floats, drawn: Floats | None = None) -> Value:
        """The mean share of equal labels."""
        if drawn is not None:
            return unbatch(self._percent_drawn(weights, drawn))
        shared, equal = self._shared_and_equal
        return unbatch(ratio(weights @ equal, weights @ shared))

    def kappa(self, weights: Floats, drawn: Floats | None = None) -> Value:
        """The mean of Cohen's kappa; pairs whose kappa is undefined leave it."""
        cells = self.k**2
        some = max(1, AT_ONCE // (cells * max(1, weights.size // len(self.rows)))) * cells
        size = self._cells.shape[0]
        sums = [self._sums(weights, drawn, at, at + some) for at in range(0, size, some)]
        return unbatch(ratio(*np.sum(sums, axis=0)))

    def _percent_drawn(self, weights: Floats, drawn: Floats) -> Floats:
        equal, shared = np.zeros(len(weights)), np.zeros(len(weights))
        for a, b in self.pairs:
            one, other, times = self.rows[:, a], self.rows[:, b], drawn[:, a] * drawn[:, b]
            there = (one >= 0) & (other >= 0)
            shared += times * (weights @ there)
            equal += times * (weights @ (there & (one == other)))
        return ratio(equal, shared)

    def _sums(
        self, weights: Floats, drawn: Floats | None, start: int, end: int
    ) -> tuple[Floats, Floats]:
        """The sum of kappa times units over some of the pairs, and that of their units."""
        shape = (*weights.shape[:-1], -1, self.k, self.k)
        tables = (self._cells[start:end] @ weights.T).T.reshape(shape)
        kappa, units = np.asarray(cohen_kappa(tables)), tables.sum(axis=(-2, -1))
        if drawn is not None:
            pairs = self.pairs[start // self.k**2 : end // self.k**2]
            units = units * drawn[:, pairs[:, 0]] * drawn[:, pairs[:, 1]]
        there = np.isfinite(kappa)
        weighted = np.where(there, kappa, 0.0) * units
        return weighted.sum(axis=-1), np.where(there, units, 0.0).sum(axis=-1)

    @cached_property
    def _shared_and_equal(self) -> tuple[Floats, Floats]:
        """How many of the pairs share a row, and how many agree on it, both (N,)."""
        shared, equal = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        for one, other in self.rows.T[self.pairs]:
            there = (one >= 0) & (other >= 0)
            shared += there
            equal += there & (one == other)
        return shared, equal

    @cached_property
    def _cells(self) -> sparse.csr_array:
        """Into the cells of the table of each pair, (P * K * K, N)."""
        places, size = [], self.k**2
        for n, (one, other) in enumerate(self.rows.T[self.pairs]):
            there = np.flatnonzero((one >= 0) & (other >= 0))
            places.append((n * size + one[there] * self.k + other[there], there))
        cells, rows = map(np.concatenate, zip(*places, strict=True))
        shape = (len(self.pairs) * size, len(self.rows))
        return sparse.csr_array((np.ones(len(cells)), (cells, rows)), shape=shape)
