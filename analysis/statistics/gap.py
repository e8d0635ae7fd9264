"""How far a judge stands from people, measured as people are measured: in pairs.

A majority is less noisy than a person. So a judge's kappa with the majority is no match for what
people reach with each other, and may lie above it for a judge that is worse than each of them. The
gap compares like with like: the judge with each person, and persons with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.statistics.agreement import cohen_kappa
from analysis.statistics.arrays import Floats, Ints, Value, distinct, ratio, unbatch
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.tally import Tally, kinds_of

#: Pairs that share fewer units are left out, unless none shares so many and people are few.
LEAST_SHARED = 30
#: Above so many people such pairs are always left out: each of a crowd shares little with another.
CROWD = 30
#: So many cells of tables are made at once: 16 MB.
AT_ONCE = 2_000_000

NAMES = {"cohen_kappa": "Cohen's kappa", "percent": "share of equal labels"}
GAP = "of the judge with each person less that of people with each other"
LESS = "of the judge with each person less that of {other}"
OTHER = "the other judge"
NO_UNIT = "no unit has a label of the judge and of two people"
NO_SHARED = "no unit has a label of both judges and of a person"
NO_PAIR = f"no two people share {LEAST_SHARED} units that the judge labelled"
NO_PERSON = f"no person shares {LEAST_SHARED} units with the judges"
ALIKE = "all labels are the same category"


def gap_estimates(
    judge: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(NAMES),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """The gap of a judge (U,) to people (U, R) in Cohen's kappa and in the share of equal labels.

    sum_p n_jp kappa_jp / sum_p n_jp - sum_pq n_pq kappa_pq / sum_pq n_pq, with n the units that two
    share: the mean over people of the judge's kappa with each, less the mean over pairs of people.
    Both are of the units with a label of the judge and of two people, and of the same people, and
    are resampled together. Codes of k categories, -1 = missing; `clusters` (U,) are resampled
    whole. A kappa that is undefined leaves its mean. Pairs of people that share fewer than 30 such
    units are left out, unless at most 30 people are there and no pair shares so many.
    """
    n = int(((judge >= 0) & ((people >= 0).sum(axis=1) >= 2)).sum())
    if not n:
        return {name: undefined(NO_UNIT, n, method_of(name, GAP)) for name in names}
    shared = _shared(people[judge >= 0])
    pairs, left_out = _kept(shared, people.shape[1])
    if not len(pairs):
        return {name: undefined(NO_PAIR, n, method_of(name, GAP)) for name in names}
    who = np.unique(pairs)
    enter = (judge >= 0) & ((people[:, who] >= 0).sum(axis=1) >= 2)
    # The judge is the first column, and people the others.
    columns = np.where(enter[:, None], np.column_stack([judge, people[:, who]]), -1)
    rows, kinds = kinds_of(columns)
    means = (
        PairMean(rows, _with(0, range(1, len(who) + 1)), k),
        PairMean(rows, np.searchsorted(who, pairs).astype(np.int64) + 1, k),
    )
    bootstrap = Bootstrap(Tally.of(kinds, len(rows), clusters), draws, seed, interval)
    methods = {name: method_of(name, GAP, left_out, "pair", "pairs") for name in names}
    return _differences(bootstrap, means, methods, int(enter.sum()), clusters[enter])


def judge_difference(
    judge: Ints,
    other: Ints,
    people: Ints,
    clusters: Ints,
    k: int,
    *,
    named: str = OTHER,
    names: Sequence[str] = tuple(NAMES),
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """One judge (U,) less another (U,), each by its mean over people (U, R) of the kappa with them.

    Both means are of the units with a label of both judges and of a person, weigh people by such
    units, and are resampled together. People with fewer than 30 of them are left out, unless at
    most 30 people are there and none has so many. The method calls the other judge as `named`; the
    other arguments are those of `gap_estimates`.
    """
    less = LESS.format(other=named)
    both = (judge >= 0) & (other >= 0)
    n = int((both & (people >= 0).any(axis=1)).sum())
    if not n:
        return {name: undefined(NO_SHARED, n, method_of(name, less)) for name in names}
    units = (people[both] >= 0).sum(axis=0)
    who, left_out = _enough(units, people.shape[1])
    if not len(who):
        return {name: undefined(NO_PERSON, n, method_of(name, less)) for name in names}
    enter = both & (people[:, who] >= 0).any(axis=1)
    columns = np.where(enter[:, None], np.column_stack([judge, other, people[:, who]]), -1)
    rows, kinds = kinds_of(columns)
    places = range(2, len(who) + 2)
    means = PairMean(rows, _with(0, places), k), PairMean(rows, _with(1, places), k)
    bootstrap = Bootstrap(Tally.of(kinds, len(rows), clusters), draws, seed, interval)
    methods = {name: method_of(name, less, left_out, "person", "people") for name in names}
    return _differences(bootstrap, means, methods, int(enter.sum()), clusters[enter])


def _with(column: int, others: Iterable[int]) -> Ints:
    """The pairs (P, 2) of one column with each of others."""
    return np.array([(column, other) for other in others], dtype=np.int64)


def _differences(
    bootstrap: Bootstrap,
    means: tuple[PairMean, PairMean],
    methods: Mapping[str, str],
    n: int,
    clusters: Ints,
) -> dict[str, Estimate]:
    """One mean over pairs less another, by name, on n units of these clusters."""
    functions = {"cohen_kappa": PairMean.kappa, "percent": PairMean.percent}
    queries = len(distinct(clusters)[0])

    def made(name: str) -> Estimate:
        def difference(weights: Floats) -> Value:
            one, other = (np.asarray(functions[name](each, weights)) for each in means)
            return unbatch(one - other)

        return bootstrap.estimate(difference, n, methods[name], ALIKE, queries)

    return {name: made(name) for name in methods}


def method_of(name: str, of: str, left_out: int = 0, one: str = "", several: str = "") -> str:
    """The method of a difference in words; `of` is `GAP` or `LESS`, filled in."""
    said = f"{NAMES[name]} {of}, means weighted by shared units"
    noun = one if left_out == 1 else several
    fewer = f", {left_out} {noun} below {LEAST_SHARED} shared units left out"
    return said + (fewer if left_out else "")


def _shared(people: Ints) -> sparse.coo_array:
    """How many units each two people share, above the diagonal; pairs that share none are absent.

    A crowd has many more pairs than labels, so that all of them are never formed.
    """
    labelled = sparse.csr_array(people >= 0, dtype=np.int64)
    return sparse.coo_array(sparse.triu(labelled.T @ labelled, 1))


def _kept(shared: sparse.coo_array, people: int) -> tuple[Ints, int]:
    """The pairs (P, 2) that stay, and how many that share a unit do not."""
    pairs = np.column_stack(shared.coords).astype(np.int64)
    kept, left_out = _enough(shared.data, people)
    return pairs[kept], left_out


def _enough(units: Ints, people: int) -> tuple[Ints, int]:
    """The places of those with enough shared units, and how many with some are left out."""
    some = np.flatnonzero(units > 0)
    enough = np.flatnonzero(units >= LEAST_SHARED)
    if not len(enough) and people <= CROWD:
        return some, 0
    return enough, len(some) - len(enough)


@dataclass(frozen=True)
class PairMean:
    """Means over pairs (P, 2) of columns of `rows` (N, C), codes of k categories, -1 = missing.

    They take weights of the rows, (N,) or (B, N), and weigh each pair by the units that it shares
    under them.
    """

    rows: Ints
    pairs: Ints
    k: int

    def percent(self, weights: Floats) -> Value:
        """The mean share of equal labels."""
        shared, equal = self._shared_and_equal
        return unbatch(ratio(weights @ equal, weights @ shared))

    def kappa(self, weights: Floats) -> Value:
        """The mean of Cohen's kappa; pairs whose kappa is undefined leave it."""
        cells = self.k**2
        some = max(1, AT_ONCE // (cells * max(1, weights.size // len(self.rows)))) * cells
        sums = [self._sums(weights, at, at + some) for at in range(0, self._cells.shape[0], some)]
        return unbatch(ratio(*np.sum(sums, axis=0)))

    def _sums(self, weights: Floats, start: int, end: int) -> tuple[Floats, Floats]:
        """The sum of kappa times units over some of the pairs, and that of their units."""
        shape = (*weights.shape[:-1], -1, self.k, self.k)
        tables = (self._cells[start:end] @ weights.T).T.reshape(shape)
        kappa, units = np.asarray(cohen_kappa(tables)), tables.sum(axis=(-2, -1))
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
