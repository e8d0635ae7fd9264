"""Units that are alike, counted: what makes resampling cheap.

A coefficient of counts sees no difference between two units with the same counts. So the units are
sorted into P kinds, and a resample is no longer a weight for each unit but for each kind: with
three raters and five categories a million units are 35 kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.statistics.arrays import Floats, Ints, distinct
from analysis.statistics.bootstrap import Resamples

#: How many weights are made at once: 16 MB.
BLOCK = 2_000_000
#: The share of entries from which a table is no sparse one, and how many it has at most: 80 MB.
FILLED, MOST_FULL = 0.3, 10_000_000
#: Beyond so many codes of a row, rows are compared column by column.
MOST_CODES = 2**40


@dataclass(frozen=True)
class Tally:
    """`table` (C, P): how many units of each of P kinds each of C clusters holds.

    Where each cluster is a single unit, the rows that are alike are kept once and `times` (C,)
    says how often: a multinomial draw of kinds has then the same distribution as one of units.
    """

    table: sparse.csr_array
    times: Ints

    @classmethod
    def of(cls, kinds: Ints, size: int, clusters: Ints) -> Tally:
        """From the kind 0..size-1 of each unit (U,), -1 = takes no part, and its cluster (U,)."""
        names, _, index = distinct(clusters)
        if len(names) == len(clusters):
            return cls._of_single_units(kinds, size)
        there = kinds >= 0
        # Where a cluster holds several units of a kind, the entries of the same place are summed.
        entries = (np.ones(int(there.sum())), (index[there], kinds[there]))
        table = sparse.csr_array(sparse.coo_array(entries, shape=(len(names), size)))
        return cls(table, np.ones(len(names), np.int64))

    @classmethod
    def _of_single_units(cls, kinds: Ints, size: int) -> Tally:
        times = np.bincount(kinds[kinds >= 0], minlength=size)
        silent = int((kinds < 0).sum())
        # Units that take no part are drawn like the others, and then count for nothing.
        table = sparse.csr_array(sparse.eye_array(size + 1, size))
        return cls(table, np.append(times, silent).astype(np.int64))

    @classmethod
    def of_sums(cls, sums: Floats, clusters: Ints) -> Tally:
        """From S numbers of each unit (U, S) that a statistic needs the sums of, and the clusters.

        The "kinds" are then the S sums; a cluster is counted where a sum of it is above 0.
        """
        names, _, index = distinct(clusters)
        member = sparse.csr_array(
            (np.ones(len(index)), (index, np.arange(len(index)))), shape=(len(names), len(index))
        )
        return cls(sparse.csr_array(member @ sums), np.ones(len(names), np.int64))

    @cached_property
    def total(self) -> Floats:
        """The number of units of each kind, (P,)."""
        total: Floats = self.times @ self.table
        return total

    @property
    def clusters(self) -> int:
        """How many clusters hold a unit that takes part."""
        return int(self.times[self.sizes > 0].sum())

    @cached_property
    def differing(self) -> int:
        """How many clusters hold other shares of the kinds than the commonest ones do.

        Where nearly all clusters hold one thing, such as a no by everybody, what varies comes from
        the few others, and resamples of so few show too little of it.
        """
        # Sums may be negative, as those of slopes are.
        whole = np.asarray(abs(self.table).sum(axis=1), float).ravel()
        held = whole > 0
        # Rows in one direction have one such number; any two others are told apart by chance.
        mark = np.random.Generator(np.random.PCG64(0)).random(self.table.shape[1])
        prints = np.round((self.table @ mark)[held] / whole[held], 9)
        often = np.bincount(np.unique(prints, return_inverse=True)[1], self.times[held])
        return int(often.sum() - often.max(initial=0))

    @cached_property
    def sizes(self) -> Floats:
        """The number of units of each cluster, (C,)."""
        sizes: Floats = np.asarray(self.table.sum(axis=1), float).ravel()
        return sizes

    def resampled(self, resamples: int, seed: int) -> Iterator[Floats]:
        """The weights of the kinds, (b, P) at a time, clusters being drawn whole (seeded).

        With a cluster for each row these are the draws that `Resamples.draw` makes.
        """
        drawn = int(self.times.sum())
        shares = self.times / max(drawn, 1)
        generator = np.random.Generator(np.random.PCG64(seed))
        step = max(1, BLOCK // max(1, *self.table.shape))
        for start in range(0, resamples, step):
            draws = generator.multinomial(drawn, shares, size=min(step, resamples - start))
            yield self._weighted(draws.astype(float))

    def drawn(self, resamples: Resamples) -> Iterator[Floats]:
        """The same for draws already made, (B, C), in which clusters stand in the same order."""
        if resamples.draws.shape[1] != self.table.shape[0]:
            raise ValueError("the draws are of other clusters than those of the tally")
        step = max(1, BLOCK // max(1, self.table.shape[1]))
        for start in range(0, len(resamples.draws), step):
            yield self._weighted(resamples.draws[start : start + step])

    def without_one(self) -> Iterator[tuple[Floats, Ints]]:
        """The weights with one cluster left out, (c, P) at a time, and how often each stands."""
        chosen = np.flatnonzero(self.times > 0)
        step = max(1, BLOCK // max(1, self.table.shape[1]))
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            yield self.total - self.table[rows].toarray(), self.times[rows]

    @cached_property
    def _full(self) -> Floats | None:
        """The table as an array where most of it is filled: multiplying by that is faster."""
        rows, columns = self.table.shape
        if self.table.nnz < FILLED * rows * columns or rows * columns > MOST_FULL:
            return None
        full: Floats = self.table.toarray()
        return full

    def _weighted(self, draws: Floats) -> Floats:
        full = self._full
        weights: Floats = (self.table.T @ draws.T).T if full is None else draws @ full
        return weights


def kinds_of(rows: Ints) -> tuple[Ints, Ints]:
    """The different rows of whole numbers (U, K), (P, K), and which of them each row is, (U,)."""
    low = rows.min(axis=0, initial=0)
    spans = (rows.max(axis=0, initial=0) - low + 1).tolist()
    codes, size = np.zeros(len(rows), np.int64), 1
    for column, span in zip((rows - low).T, spans, strict=True):
        if size * span > MOST_CODES:
            codes = np.unique(codes, return_inverse=True)[1]
            size = int(codes.max(initial=0)) + 1
        codes, size = codes * span + column, size * span
    _, first, kinds = distinct(codes)
    return rows[first], kinds
