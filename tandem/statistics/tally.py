"""Tallies: counts of units by kind and cluster, and the weights that resamples give to kinds.

Coefficients that depend only on counts treat units with equal counts alike. Units are therefore
grouped into P kinds, and a resample weights each kind instead of each unit. With three raters and
five categories, a million units are only 35 kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import sparse

from .estimate import Bools, Floats, Ints, unique_integers

#: The number of weights that `Resamples.blocks` computes at once, which take 16 MB.
BLOCK = 2_000_000
#: The filled share above which a table is kept dense, and the most cells of a dense table (80 MB).
FILLED, MOST_FULL = 0.3, 10_000_000
#: The largest table tallied without a sparse array, whose creation takes longer than the sums.
SMALL = 100_000
#: Above this number of possible rows, codes are renumbered before another column is added.
MOST_CODES = 2**40


def _draw(clusters: int, resamples: int, seed: int) -> Floats:
    """Draw as many clusters as there are, with replacement, `resamples` times: counts (B, C)."""
    few = clusters * resamples <= BLOCK
    return _kept_draw(clusters, resamples, seed) if few else _new_draw(clusters, resamples, seed)


def _new_draw(clusters: int, resamples: int, seed: int) -> Floats:
    generator = np.random.Generator(np.random.PCG64(seed))
    shares = np.full(clusters, 1 / max(clusters, 1))
    draws = generator.multinomial(clusters, shares, size=resamples).astype(float)
    # Several statistics read the same draws.
    draws.flags.writeable = False
    return draws


_kept_draw = lru_cache(maxsize=4)(_new_draw)


@dataclass(frozen=True)
class Resamples:
    """Resampled queries.

    `draws` (B, C) counts how often each cluster is drawn, and `index` (U,) is each unit's cluster.
    """

    draws: Floats
    index: Ints

    @classmethod
    def draw(cls, clusters: Ints, resamples: int, seed: int) -> Resamples:
        """Draw as many clusters as there are, with replacement, `resamples` times (seeded)."""
        names, index = np.unique(clusters, return_inverse=True)
        return cls(_draw(len(names), resamples, seed), index.astype(np.int64))

    def weights(self) -> Floats:
        """Return the weight of each unit in each resample, (B, U)."""
        return self.draws[:, self.index]

    def blocks(self) -> Iterator[Floats]:
        """Yield the weights in blocks, (b, U) each, so that many units do not fill the memory."""
        step = max(1, BLOCK // max(1, len(self.index)))
        for start in range(0, len(self.draws), step):
            yield self.draws[start : start + step][:, self.index]


def effective_number(sizes: Floats, times: Ints | None = None) -> float:
    """Return (sum n)^2 / sum n^2 of sizes n (C,), each occurring `times` (C,) times.

    Clusters of these sizes vary like so many of equal size (Kish 1965). 0 if all sizes are 0.
    """
    weight = np.ones(len(sizes)) if times is None else times
    squares = float((weight * sizes**2).sum())
    return float((weight * sizes).sum()) ** 2 / squares if squares else 0.0


def cluster_weights(clusters: Ints, resamples: int, seed: int) -> Floats:
    """Count how often each unit is drawn in each resample, (B, U), with whole queries resampled.

    `clusters` (U,) holds the query of each unit. Equal seeds give equal weights.
    """
    return Resamples.draw(clusters, resamples, seed).weights()


@dataclass(frozen=True)
class Tally:
    """`cells` (C, P) count the units of each of P kinds in each of C clusters, dense or sparse.

    If each cluster is a single unit, equal rows are stored once, and `times` (C,) says how often
    each occurs: a multinomial draw of kinds has the same distribution as one of units. `weights`
    (C,) are the sizes of the clusters if they are not the sums of their cells.
    """

    cells: Floats | sparse.csr_array
    times: Ints
    weights: Floats | None = None

    @classmethod
    def of(cls, kinds: Ints, size: int, clusters: Ints) -> Tally:
        """Tally the kind 0..size-1 of each unit (U,), -1 = not counted, by its cluster (U,)."""
        names, _, index = unique_integers(clusters)
        if len(names) == len(clusters):
            return cls._of_single_units(kinds, size)
        there = kinds >= 0
        rows, columns, shape = index[there], kinds[there], (len(names), size)
        once = np.ones(len(names), np.int64)
        if len(names) * size <= SMALL:
            counts = np.bincount(rows * size + columns, minlength=len(names) * size)
            return cls(counts.astype(float).reshape(shape), once)
        # Entries at the same position are summed if a cluster holds several units of a kind.
        entries = (np.ones(len(rows)), (rows, columns))
        return cls(sparse.csr_array(sparse.coo_array(entries, shape=shape)), once)

    @classmethod
    def _of_single_units(cls, kinds: Ints, size: int) -> Tally:
        times = np.bincount(kinds[kinds >= 0], minlength=size)
        silent = int((kinds < 0).sum())
        # Units that are not counted are resampled like the others.
        return cls(_unit_cells(size + 1, size), np.append(times, silent).astype(np.int64))

    def of_clusters(self) -> Tally:
        """Tally each of the clusters as a kind of its own."""
        rows = self.cells.shape[0]
        sizes = self.sizes if self.weights is None else self.weights
        return Tally(_unit_cells(rows, rows), self.times, sizes)

    @classmethod
    def of_sums(cls, sums: Floats, clusters: Ints, sizes: Floats | Bools | None = None) -> Tally:
        """Tally S numbers of each unit (U, S) whose sums a statistic needs, by cluster.

        The "kinds" are then the S sums, and a cluster is counted if one of its sums is above 0.
        `sizes` (U,) say how much each unit counts in the statistic, for a ratio of sums its
        denominator. By default all units count the same, except those without any number.
        """
        names, _, index = unique_integers(clusters)
        member = sparse.csr_array(
            (np.ones(len(index)), (index, np.arange(len(index)))), shape=(len(names), len(index))
        )
        each = sums.any(axis=1) if sizes is None else sizes
        weights = np.asarray(member @ np.asarray(each, float))
        return cls(sparse.csr_array(member @ sums), np.ones(len(names), np.int64), weights)

    @cached_property
    def table(self) -> sparse.csr_array:
        """The cells as a sparse array."""
        return sparse.csr_array(self.cells)

    @cached_property
    def total(self) -> Floats:
        """The number of units of each kind, (P,)."""
        total: Floats = self.times @ self.cells
        return total

    @cached_property
    def clusters(self) -> int:
        """The number of clusters that hold a counted unit."""
        return int(self.times[self.sizes > 0].sum())

    @cached_property
    def differing(self) -> int:
        """The number of clusters whose shares of the kinds differ from the commonest shares.

        If nearly all clusters are alike, such as a unanimous no, the variation comes from the few
        others, and resamples show too little of it.
        """
        # Sums may be negative, for instance sums of slopes.
        whole = np.asarray(abs(self.cells).sum(axis=1), float).ravel()
        held = whole > 0
        # Proportional rows share this number. Random factors separate any two others.
        mark = np.random.Generator(np.random.PCG64(0)).random(self.cells.shape[1])
        prints = np.round((self.cells @ mark)[held] / whole[held], 9)
        often = np.bincount(np.unique(prints, return_inverse=True)[1], self.times[held])
        return int(often.sum() - often.max(initial=0))

    @cached_property
    def sizes(self) -> Floats:
        """The number of units of each cluster, (C,)."""
        sizes: Floats = np.asarray(self.cells.sum(axis=1), float).ravel()
        return sizes

    @cached_property
    def effective(self) -> float:
        """The `effective_number` of the clusters by their sizes."""
        sizes = self.sizes if self.weights is None else self.weights
        return effective_number(np.abs(sizes), self.times)

    def resampled(self, resamples: int, seed: int) -> Iterator[Floats]:
        """Yield the weights of the kinds, (b, P) at a time, resampling whole clusters (seeded).

        With a cluster for each row these are the draws of `Resamples.draw`.
        """
        drawn = int(self.times.sum())
        step = max(1, BLOCK // max(1, *self.cells.shape))
        if drawn == len(self.times) and drawn * resamples <= BLOCK and (self.times == 1).all():
            draws = _draw(drawn, resamples, seed)
            yield from (self._weighted(draws[n : n + step]) for n in range(0, resamples, step))
            return
        shares = self.times / max(drawn, 1)
        generator = np.random.Generator(np.random.PCG64(seed))
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            yield self._weighted(generator.multinomial(drawn, shares, size=size).astype(float))

    def weigh(self, resamples: Resamples) -> Iterator[Floats]:
        """Yield the weights for existing draws (B, C) with the clusters in the same order."""
        if resamples.draws.shape[1] != self.cells.shape[0]:
            raise ValueError("the resamples have other clusters than the tally")
        step = max(1, BLOCK // max(1, self.cells.shape[1]))
        for start in range(0, len(resamples.draws), step):
            yield self._weighted(resamples.draws[start : start + step])

    def without_one(self) -> Iterator[tuple[Floats, Ints]]:
        """Yield the weights without one cluster, (c, P) at a time, and how often each occurs."""
        few = self.cells.shape[0] * self.cells.shape[1] <= BLOCK
        yield from self._kept_without_one if few else self._without_one()

    @cached_property
    def _kept_without_one(self) -> list[tuple[Floats, Ints]]:
        """A single block, kept for the next statistic of the tally."""
        return list(self._without_one())

    def _without_one(self) -> Iterator[tuple[Floats, Ints]]:
        chosen = np.flatnonzero(self.times > 0)
        step = max(1, BLOCK // max(1, self.cells.shape[1]))
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            yield self.total - _dense(self.cells[rows]), self.times[rows]

    @cached_property
    def _full(self) -> Floats | None:
        """The table as a dense array if most of it is filled, which multiplies faster."""
        rows, columns = self.cells.shape
        dense = isinstance(self.cells, np.ndarray)
        filled = np.count_nonzero(self.cells if dense else self.table.data)
        if filled < FILLED * rows * columns or rows * columns > MOST_FULL:
            return None
        return _dense(self.cells)

    def _weighted(self, draws: Floats) -> Floats:
        if self._full is not None:
            return draws @ self._full
        few = self.cells.size * len(draws) <= SMALL
        weights: Floats = ((self.cells if few else self.table).T @ draws.T).T
        return weights


def _dense(cells: Floats | sparse.csr_array) -> Floats:
    dense: Floats = cells if isinstance(cells, np.ndarray) else cells.toarray()
    return dense


def _unit_cells(rows: int, columns: int) -> Floats | sparse.csr_array:
    """Return ones on the diagonal, (rows, columns)."""
    if rows * columns <= SMALL:
        return np.eye(rows, columns)
    return sparse.csr_array(sparse.eye_array(rows, columns))


def kinds_of(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows (P, K) of integers (U, K), and each unit's index into them, (U,)."""
    low = rows.min(axis=0, initial=0)
    spans = (rows.max(axis=0, initial=0) - low + 1).tolist()
    codes, size = np.zeros(len(rows), np.int64), 1
    for column, span in zip((rows - low).T, spans, strict=True):
        if size * span > MOST_CODES:
            codes = np.unique(codes, return_inverse=True)[1]
            size = int(codes.max(initial=0)) + 1
        codes, size = codes * span + column, size * span
    _, first, kinds = unique_integers(codes)
    return rows[first], kinds
