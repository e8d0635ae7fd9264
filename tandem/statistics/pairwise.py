"""Agreement of every pair of raters, for large crowds, also with quadratic weights.

The cost grows with the number of labels, not of pairs: results are sums over existing labels, from
sparse products, so pairs without a common unit cost nothing. Resampling the table of every pair
would still be too slow. The mean over pairs is therefore computed once, with its derivative with
respect to the weight of each unit. Its value on a resample is the linear approximation in these
weights (the infinitesimal jackknife, Efron 1982, chapter 6).

With categories as numbers x and y, the kappa of two raters on n units is

    2 (n Sxy - Sx Sy) / (n (Sxx + Syy) - 2 Sx Sy),

where S are sums over these units. So no table of categories is needed, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from .agreement import correct_for_chance, counts_of, paired_counts, positions
from .cluster_means import informative_among
from .coefficients import EQUAL, KAPPA, OF_SETS, OF_TWO, WEIGHTED
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
from .resampling import Bootstrap, Draws, Interval
from .sets import masi_distances, weighted_kappa_of_sets
from .tally import Tally

#: The share of a difference that may be due to the rounding of its terms.
ROUNDING = 1e-12


def terms(x: Floats, y: Floats) -> Floats:
    """Return what is summed over units with the numbers x and y (U,): (U, 6)."""
    return np.column_stack([np.ones(len(x)), x, y, x**2, y**2, x * y])


def weighted_kappa(sums: Sequence[Floats] | Floats) -> Floats:
    """Return kappa from the six sums of `terms`, NaN if undefined."""
    n, x, y, xx, yy, xy = sums
    return ratio(2 * (n * xy - x * y), _expected(n, x, y, xx, yy))


def _expected(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats) -> Floats:
    expected = n * (xx + yy) - 2 * x * y
    # Two raters with a single category expect no disagreement, apart from rounding.
    kept: Floats = np.where(expected > ROUNDING * n * (xx + yy), expected, 0.0)
    return kept


def weighted_slopes(
    codes: Ints, scale: Floats, one: Ints, other: Ints
) -> tuple[float, Floats, Bools] | None:
    """Return the mean kappa of pairs of raters weighted by shared units, and its slopes.

    The slopes (U,) are the derivatives with respect to the weight of each unit, and the last part
    says which units entered, (U,). `one` and `other` (P,) are the columns of `codes` (U, R), and
    `scale` (K,) the categories' numbers. None if no kappa is defined.
    """
    if not len(one):
        return None
    labelled = codes >= 0
    value_of = np.where(labelled, scale[np.maximum(codes, 0)], 0.0)
    there, x, xx = (sparse.csr_array(each) for each in (labelled * 1.0, value_of, value_of**2))

    def at(table: sparse.csr_array, rows: Ints, columns: Ints) -> Floats:
        return np.asarray(table.tocsr()[rows, columns], dtype=float).ravel()

    ones, squares = x.T @ there, xx.T @ there
    sums = (
        at(there.T @ there, one, other),
        at(ones, one, other), at(ones, other, one),
        at(squares, one, other), at(squares, other, one),
        at(x.T @ x, one, other),
    )  # fmt: skip
    kappa = weighted_kappa(sums)
    varied = np.isfinite(kappa)
    if not varied.any():
        return None
    one, other, kappa = one[varied], other[varied], kappa[varied]
    n, sx, sy, sxx, syy, sxy = (each[varied] for each in sums)
    whole, value = n.sum(), float((n * kappa).sum() / n.sum())
    expected = n * (sxx + syy) - 2 * sx * sy

    def over(left: sparse.csr_array, right: sparse.csr_array, weights: Floats) -> Floats:
        """Sum the weights of a unit's pairs, times both raters' entries there, (U,)."""
        size = codes.shape[1]
        table = sparse.csr_array((weights, (one, other)), shape=(size, size))
        return np.asarray(((left @ table) * right).sum(axis=1), dtype=float).ravel()

    # Kappa is A / B. A unit with x and y adds dA = 2 (Sxy + n xy - x Sy - y Sx) to A, and to B
    # dB = Sxx + Syy + n (x^2 + y^2) - 2 (x Sy + y Sx). The sum of n kappa grows by
    # kappa + n (dA - kappa dB) / B.
    share = n / expected
    slopes = (
        over(there, there, kappa - value + share * (2 * sxy - kappa * (sxx + syy)))
        + over(x, x, 2 * share * n)
        - over(x, there, 2 * share * (1 - kappa) * sy)
        - over(there, x, 2 * share * (1 - kappa) * sx)
        - over(xx, there, share * kappa * n)
        - over(there, xx, share * kappa * n)
    )
    entered = over(there, there, np.ones(len(n))) > 0
    return value, slopes / whole, entered


#: Pairs that share fewer units are left out, unless no pair shares this many and people are few.
LEAST_SHARED = 30
#: Above this number of people, pairs that share few units are always left out.
CROWD = 30
#: The number of cells of tables computed at once, which take 16 MB.
AT_ONCE = 2_000_000
OF_PAIRS = "mean over pairs of people weighted by shared units"
LINEAR = ", resamples linearised"
IN_A_CROWD = f"it is computed for at most {CROWD} people"
NO_PAIR = f"no two people share {LEAST_SHARED} units with labels that vary"


def shared_units(people: Ints) -> sparse.coo_array:
    """Count the units that each pair of people shares, above the diagonal, without empty pairs.

    A crowd has many more pairs than labels, so only pairs that share a unit are formed.
    """
    labelled = sparse.csr_array(people >= 0, dtype=np.int64)
    return sparse.coo_array(sparse.triu(labelled.T @ labelled, 1))


def kept_pairs(shared: sparse.coo_array, people: int) -> tuple[Ints, int]:
    """Return the pairs (P, 2) to keep, and the number of other pairs that share a unit."""
    pairs = np.column_stack(shared.coords).astype(np.int64)
    kept, left_out = with_enough_units(shared.data, people)
    return pairs[kept], left_out


def with_enough_units(units: Ints, people: int) -> tuple[Ints, int]:
    """Return the indices with enough shared units, and how many others have at least one."""
    some = np.flatnonzero(units > 0)
    large = np.flatnonzero(units >= LEAST_SHARED)
    if not len(large) and people <= CROWD:
        return some, 0
    return large, len(some) - len(large)


@dataclass(frozen=True)
class PairMean:
    """Means over pairs (P, 2) of columns of `rows` (N, C), codes of k categories, -1 = missing.

    The methods take weights of the rows, (N,) or (B, N), and weight each pair by the units that it
    shares under them. `drawn` (B, C) also weights each pair by how often its two columns were
    drawn. `values` (K,) are the numbers of ordered categories; their positions if None. For sets,
    `values` (K, M) say which codes each one has.
    """

    rows: Ints
    pairs: Ints
    k: int
    values: Floats | None = None

    def percent(self, weights: Floats, drawn: Floats | None = None) -> Value:
        """Return the mean share of equal labels."""
        if drawn is not None:
            return unbatch(self._percent_drawn(weights, drawn))
        shared, equal = self._shared_and_equal
        return unbatch(ratio(weights @ equal, weights @ shared))

    def kappa(self, weights: Floats, drawn: Floats | None = None) -> Value:
        """Return the mean of Cohen's kappa, without pairs whose kappa is undefined."""
        cells = self.k**2
        some = max(1, AT_ONCE // (cells * max(1, weights.size // len(self.rows)))) * cells
        size = self._cells.shape[0]
        sums = [self._sums(weights, drawn, at, at + some) for at in range(0, size, some)]
        return unbatch(ratio(*np.sum(sums, axis=0)))

    def weighted_kappa(self, weights: Floats, drawn: Floats | None = None) -> Value:
        """Return the mean of Cohen's kappa with quadratic weights, without undefined ones."""
        scale = positions(self.k, self.values)

        def of_pair(one: Ints, other: Ints) -> Floats:
            there = (one >= 0) & (other >= 0)
            sums = weights[..., there] @ terms(scale[one[there]], scale[other[there]])
            return weighted_kappa(np.moveaxis(sums, -1, 0))

        return self._mean_of(of_pair, weights, drawn)

    def kappa_of_sets(self, weights: Floats, drawn: Floats | None = None) -> Value:
        """Return the mean of Cohen's kappa weighted by MASI distances, without undefined ones."""
        distances = masi_distances(np.zeros(0) if self.values is None else self.values)

        def of_pair(one: Ints, other: Ints) -> Floats:
            return weighted_kappa_of_sets(one, other, distances, weights)

        return self._mean_of(of_pair, weights, drawn)

    def _mean_of(
        self, kappa_of: Callable[[Ints, Ints], Floats], weights: Floats, drawn: Floats | None
    ) -> Value:
        """Return the mean over pairs of a function of both columns, by the units they share."""
        above, whole = np.zeros(weights.shape[:-1]), np.zeros(weights.shape[:-1])
        for a, b in self.pairs:
            one, other = self.rows[:, a], self.rows[:, b]
            kappa = kappa_of(one, other)
            defined = np.isfinite(kappa)
            times = weights @ ((one >= 0) & (other >= 0)).astype(float)
            times = times if drawn is None else times * drawn[:, a] * drawn[:, b]
            above += np.where(defined, kappa, 0.0) * times
            whole += np.where(defined, times, 0.0)
        return unbatch(ratio(above, whole))

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
        """Return the sum of kappa times units over some of the pairs, and of their units."""
        shape = -1, self.k, self.k, *weights.shape[:-1]
        tables = (self._cells[start:end] @ weights.T).reshape(shape)
        kappa, units = (np.ascontiguousarray(each.T) for each in _kappas(tables))
        if drawn is not None:
            pairs = self.pairs[start // self.k**2 : end // self.k**2]
            units = units * drawn[:, pairs[:, 0]] * drawn[:, pairs[:, 1]]
        there = np.isfinite(kappa)
        weighted = np.where(there, kappa, 0.0) * units
        return weighted.sum(axis=-1), np.where(there, units, 0.0).sum(axis=-1)

    @cached_property
    def _shared_and_equal(self) -> tuple[Floats, Floats]:
        """Count the pairs that share a row, and the pairs that agree on it, both (N,)."""
        shared, equal = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        for one, other in self.rows.T[self.pairs]:
            there = (one >= 0) & (other >= 0)
            shared += there
            equal += there & (one == other)
        return shared, equal

    @cached_property
    def _cells(self) -> sparse.csr_array:
        """Map each row to its cell in the table of each pair, (P * K * K, N)."""
        places, size = [], self.k**2
        for n, (one, other) in enumerate(self.rows.T[self.pairs]):
            there = np.flatnonzero((one >= 0) & (other >= 0))
            places.append((n * size + one[there] * self.k + other[there], there))
        cells, rows = map(np.concatenate, zip(*places, strict=True))
        shape = (len(self.pairs) * size, len(self.rows))
        return sparse.csr_array((np.ones(len(cells)), (cells, rows)), shape=shape)


#: The coefficients of which a mean over pairs is computed.
MEANS: Mapping[str, Callable[..., Value]] = {
    KAPPA.key: PairMean.kappa,
    EQUAL.key: PairMean.percent,
    WEIGHTED.key: PairMean.weighted_kappa,
    OF_SETS.key: PairMean.kappa_of_sets,
}
#: Weighted kappas are computed only if asked for, since other scales have none.
METHODS = {name: f"{OF_TWO[name].method}, {OF_PAIRS}" for name in MEANS}


def _kappas(tables: Floats) -> tuple[Floats, Floats]:
    """Return `cohen_kappa` and the units of counts (P, K, K, ...), (P, ...) each.

    Along a long last axis, sums take a fraction of the time.
    """
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    units, equal = rows.sum(axis=1), np.einsum("pkk...->p...", tables)
    expected = units**2 - (rows * columns).sum(axis=1)
    return 1 - ratio((units - equal) * units, expected), units


@dataclass(frozen=True)
class PairCounts:
    """The pairs of raters with a unit in common, all (P,).

    `one` < `other` are the raters' columns. `units` is the number of shared units, and `equal` the
    number of those with equal labels. `uses` counts how often each of the two raters uses each
    category on shared units.
    """

    one: Ints
    other: Ints
    units: Ints
    equal: Floats
    uses: tuple[tuple[Floats, Floats], ...]

    @cached_property
    def chance(self) -> Floats:
        """The sum over categories of the products of both raters' uses."""
        found = np.zeros(len(self.units))
        for first, second in self.uses:
            found += first * second
        return found

    @cached_property
    def percent(self) -> Floats:
        return ratio(self.equal, self.units.astype(float))

    @cached_property
    def kappa(self) -> Floats:
        """Cohen's kappa of each pair, NaN if undefined."""
        return correct_for_chance(self.percent, ratio(self.chance, self.units.astype(float) ** 2))

    def least(self, units: int) -> PairCounts:
        """Return the pairs that share at least `units` units."""
        return self._kept(self.units >= units)

    def varied(self) -> PairCounts:
        """Return the pairs whose kappa is defined."""
        return self._kept(self.units.astype(float) ** 2 > self.chance)

    def _kept(self, kept: Bools) -> PairCounts:
        uses = tuple((first[kept], second[kept]) for first, second in self.uses)
        return PairCounts(
            self.one[kept], self.other[kept], self.units[kept], self.equal[kept], uses
        )


def pair_counts(codes: Ints, k: int, with_uses: bool = True) -> PairCounts:
    """Return the pairs of raters that share units, from codes (U, R), -1 = no label.

    Without uses, which take much memory if there are many categories, there is no kappa.

    Let Y (U, R) indicate labels, and X_c (U, R) labels of category c. Then pairs share Y'Y units
    and agree on sum_c X_c'X_c of them, and X_c'Y counts the uses of c by one rater on units that
    the other labelled, too. Kappa is computed on each pair's own units (Cohen 1960).
    """
    labelled = _sparse(codes >= 0)
    shared = sparse.triu(labelled.T @ labelled, 1).tocoo()
    one, other = shared.row.astype(np.int64), shared.col.astype(np.int64)
    units, (alike, _) = shared.data.astype(np.int64), answers_of(codes)
    uses = []
    for category in range(k if with_uses else 0):
        used = _sparse(codes == category).T @ labelled
        uses.append((_at(used, one, other), _at(used, other, one)))
    return PairCounts(one, other, units, _at(alike.T @ alike, one, other), tuple(uses))


def answers_of(codes: Ints) -> tuple[sparse.csr_array, Ints]:
    """Return the A distinct answers to all units: each one's raters (A, R) and its unit (A,)."""
    unit, rater = np.nonzero(codes >= 0)
    names, first, answer = unique_integers(
        unit * (int(codes.max(initial=0)) + 1) + codes[unit, rater]
    )
    shape = (len(names), codes.shape[1])
    return sparse.csr_array((np.ones(len(unit)), (answer, rater)), shape=shape), unit[first]


def _sparse(there: Bools) -> sparse.csr_array:
    return sparse.csr_array(there, dtype=np.float64)


def _at(table: sparse.csr_array, rows: Ints, columns: Ints) -> Floats:
    if not len(rows):
        return np.zeros(0)
    found: Floats = np.asarray(table.tocsr()[rows, columns], dtype=float).ravel()
    return found


def crowd_ceiling_estimates(
    codes: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = (EQUAL.key, KAPPA.key),
    values: Floats | None = None,
    fewest: int = LEAST_SHARED,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """Return the share of equal labels and Cohen's kappa, each a mean over pairs of R raters.

    `names` may also ask for `cohen_kappa_quadratic`, kappa with quadratic weights, for which
    `values` (K,) are the categories' numbers. Pairs are weighted by the units that they share.
    Pairs with fewer than `fewest` shared units, or without a kappa, are left out. `codes` (U, R)
    are of k categories, -1 = missing. Whole `clusters` (U,) are resampled.
    """
    found = pair_counts(codes, k, with_uses=KAPPA.key in names).least(fewest)
    made: dict[str, Estimate] = {}
    for name in names:
        method = METHODS[name] + LINEAR
        if name == OF_SETS.key:
            made[name] = undefined(IN_A_CROWD, 0, METHODS[name])
            continue
        scale = positions(k, values if name == WEIGHTED.key else None)
        if (of := _mean_and_slopes(name, found, codes, scale)) is None:
            made[name] = undefined(NO_PAIR, 0, METHODS[name])
            continue
        value, slopes, shared = of
        queries = len(unique_integers(clusters[shared])[0])
        tally = Tally.of_sums(slopes[:, None], clusters, shared)
        informative = _informative(codes[shared], clusters[shared], k)
        bootstrap = Bootstrap(tally, draws, seed, interval, informative)
        resampled = partial(_on_resamples, value)
        estimate = bootstrap.estimate(resampled, int(shared.sum()), method, clusters=queries)
        made[name] = estimate.within(-1.0, 1.0)
    return made


def _mean_and_slopes(
    name: str, pairs: PairCounts, codes: Ints, scale: Floats
) -> tuple[float, Floats, Bools] | None:
    """Return the value, its slope by the weight of each unit (U,), and the counted units (U,)."""
    if name == WEIGHTED.key:
        return weighted_slopes(codes, scale, pairs.one, pairs.other)
    if name == EQUAL.key:
        return _percent(pairs, codes) if len(pairs.units) else None
    varied = pairs.varied()
    return _kappa(varied, codes) if len(varied.units) else None


def _informative(codes: Ints, clusters: Ints, k: int) -> int:
    held = Tally.of_sums(np.asarray(paired_counts(counts_of(codes, k))), clusters)
    return informative_among(held, np.eye(k))


def _on_resamples(value: float, weights: Floats) -> Floats:
    """Return the value on resamples, (B,).

    The slopes sum to 0 over all units, since an equal weight on all units changes nothing.
    """
    made: Floats = value + weights[..., 0]
    return made


def _percent(pairs: PairCounts, codes: Ints) -> tuple[float, Floats, Bools]:
    whole = float(pairs.units.sum())
    value = float(pairs.equal.sum()) / whole
    ones = np.ones(len(pairs.units))
    both, equal = _sums(pairs, codes, ones, ones)
    return value, (equal - value * both) / whole, both > 0


def _kappa(pairs: PairCounts, codes: Ints) -> tuple[float, Floats, Bools]:
    """Return value, slopes and counted units of sum n kappa / sum n.

    kappa = (e n - g) / (n^2 - g), where n is the number of shared units, e the number of units with
    equal labels, and g = sum_c A_c B_c, with A_c and B_c the two raters' uses of category c.
    """
    n, e, g = pairs.units.astype(float), pairs.equal, pairs.chance
    rest, above = n**2 - g, e * n - g
    whole = n.sum()
    value = float((n * above / rest).sum() / whole)
    by_units = (2 * e * n - g) / rest - 2 * n**2 * above / rest**2 - value
    by_chance = n * (above / rest - 1) / rest
    both, equal = _sums(pairs, codes, by_units, n**2 / rest)
    slopes, labelled = both + equal, _sparse(codes >= 0)
    size = codes.shape[1]
    for category, (first, second) in enumerate(pairs.uses):
        given = _sparse(codes == category)
        # The slope of one rater's use of a category is the other's number of uses.
        rows = np.concatenate([pairs.one, pairs.other])
        columns = np.concatenate([pairs.other, pairs.one])
        weights = np.concatenate([by_chance * second, by_chance * first])
        table = sparse.csr_array((weights, (rows, columns)), shape=(size, size))
        slopes = slopes + np.asarray(((given @ table) * labelled).sum(axis=1)).ravel()
    entered, _ = _sums(pairs, codes, np.ones(len(n)), np.zeros(len(n)))
    return value, slopes / whole, entered > 0


def _sums(pairs: PairCounts, codes: Ints, both: Floats, equal: Floats) -> tuple[Floats, Floats]:
    """Sum `both` (P,) over a unit's pairs, and `equal` over those that agree, (U,) each."""
    size = codes.shape[1]

    def over(given: sparse.csr_array, weights: Floats) -> Floats:
        table = sparse.csr_array((weights, (pairs.one, pairs.other)), shape=(size, size))
        return np.asarray(((given @ table) * given).sum(axis=1), dtype=float).ravel()

    answers, unit = answers_of(codes)
    agreed = np.bincount(unit, over(answers, equal), minlength=len(codes))
    return over(_sparse(codes >= 0), both), agreed.astype(float)
