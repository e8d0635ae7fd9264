"""A crowd's agreement, pair by pair and person by person, at a cost that grows with the labels.

All is sums over the labels that are there, by sparse products: no pair is formed that shares no
unit, and no table of a pair is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.statistics.agreement import cohen_kappa
from analysis.statistics.arrays import Bools, Floats, Ints, distinct, ratio
from analysis.statistics.counts import corrected, counts_of
from analysis.statistics.distributions import t_below
from analysis.statistics.systems import holm


@dataclass(frozen=True)
class PairCounts:
    """The pairs of raters with a unit in common, all (P,): columns `one` < `other`, shared `units`,
    on how many they are `equal`, and by category how often each of the two `uses` it there."""

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
        """Cohen's, NaN where it is undefined."""
        return corrected(self.percent, ratio(self.chance, self.units.astype(float) ** 2))

    def least(self, units: int) -> PairCounts:
        """Those that share so many units."""
        return self._kept(self.units >= units)

    def varied(self) -> PairCounts:
        """Those whose kappa is defined."""
        return self._kept(self.units.astype(float) ** 2 > self.chance)

    def _kept(self, kept: Bools) -> PairCounts:
        uses = tuple((first[kept], second[kept]) for first, second in self.uses)
        return PairCounts(
            self.one[kept], self.other[kept], self.units[kept], self.equal[kept], uses
        )


def pair_counts(codes: Ints, k: int, with_uses: bool = True) -> PairCounts:
    """The pairs of raters that share units, from codes (U, R) of k categories, -1 = no label.

    Without uses, which are many where there are many categories, there is no kappa.

    With Y (U, R) saying who labelled a unit and X_c who gave it category c, pairs share Y'Y units,
    agree on sum_c X_c'X_c of them, and X_c'Y says how often one used c on what the other labelled
    too: kappa is that of each pair's own units (Cohen 1960).
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
    """Who gave each of the A different answers to a unit, (A, R), and those units, (A,)."""
    unit, rater = np.nonzero(codes >= 0)
    names, first, answer = distinct(unit * (int(codes.max(initial=0)) + 1) + codes[unit, rater])
    shape = (len(names), codes.shape[1])
    return sparse.csr_array((np.ones(len(unit)), (answer, rater)), shape=shape), unit[first]


@dataclass(frozen=True)
class WithOthers:
    """Each rater with all the others, all (R,): `units` that somebody else labelled too, `percent`
    (the mean over them of the share of equal labels), `kappa` over all pairs of labels, `others`
    (the kappa of the others with each other), and the `p_value` of agreeing less than they do."""

    units: Ints
    percent: Floats
    kappa: Floats
    others: Floats
    p_value: Floats


def each_with_others(codes: Ints, clusters: Ints, k: int) -> WithOthers:
    """How each rater of codes (U, R), -1 = no label, agrees with the others taken together.

    Kappa is that of the table of a rater's own label and each other's on the unit; `others` that of
    all pairs of labels without the rater's. The p-value is one-sided: t of the rater's percent less
    the share of equal labels among the others, over `clusters` (U,), with the variance of a
    binomial of so many units where the clusters show less. NaN where nothing is shared.
    """
    counts = counts_of(codes, k)
    unit, rater = np.nonzero(codes >= 0)
    given, raters = codes[unit, rater], codes.shape[1]
    tables = _tables(codes, counts, k)
    uses = np.bincount(rater * k + given, minlength=raters * k).reshape(raters, k)
    tables[:, np.arange(k), np.arange(k)] -= uses
    every = (counts.T @ counts - np.diag(counts.sum(axis=0))).astype(float)
    rest = every - tables - tables.transpose(0, 2, 1)
    kappa, others = (np.asarray(cohen_kappa(table)) for table in (tables, rest))

    unit, rater, share = _shares(codes)
    units, percent = percent_with_others(codes)
    expected = ratio(np.trace(rest, axis1=1, axis2=2), rest.sum(axis=(1, 2)))
    p_value = _below(percent, expected, units, rater, share, clusters[unit])
    return WithOthers(units, percent, kappa, others, p_value)


def percent_with_others(codes: Ints) -> tuple[Ints, Floats]:
    """Each rater's `units` and `percent`, (R,) each, as in `WithOthers`."""
    _, rater, share = _shares(codes)
    units = np.bincount(rater, minlength=codes.shape[1])
    sums = np.bincount(rater, share, minlength=codes.shape[1])
    percent = ratio(sums.astype(float), units.astype(float))
    return units.astype(np.int64), percent


def _shares(codes: Ints) -> tuple[Ints, Ints, Floats]:
    """The unit and the rater of each label on a unit of several, and the share of equal others."""
    size = (codes >= 0).sum(axis=1)
    unit, rater = np.nonzero((codes >= 0) & (size >= 2)[:, None])
    answer = distinct(unit * (int(codes.max(initial=0)) + 1) + codes[unit, rater])[2]
    same = np.bincount(answer)[answer] if len(answer) else answer
    return unit, rater, (same - 1) / (size[unit] - 1)


def with_one(codes: Ints, one: Ints, k: int) -> Floats:
    """The tables (R, K, K) of each rater of codes (U, R), in the rows, with `one` (U,)."""
    return _tables(codes, counts_of(one[:, None], k), k)


def far_off(found: WithOthers, gap: float, fewest: int, q: float = 0.05) -> Ints:
    """The raters whose kappa lies further below the others' than `gap`, and not by chance.

    Only raters with at least `fewest` shared units are looked at; their p-values are adjusted for
    their number (Holm 1979).
    """
    asked = np.flatnonzero(
        (found.units >= fewest) & np.isfinite(found.p_value) & np.isfinite(found.others)
    )
    adjusted = holm(found.p_value[asked])
    # One who gives a single category has no better kappa than chance.
    own = np.where(np.isfinite(found.kappa), found.kappa, 0.0)[asked]
    far = (found.others[asked] - own > gap) & (adjusted < q)
    return asked[far].astype(np.int64)


def _tables(codes: Ints, counts: Ints, k: int) -> Floats:
    """How often each rater gave a category where a unit's `counts` (U, K) are of another's."""
    unit, rater = np.nonzero(codes >= 0)
    cells, shape = rater * k + codes[unit, rater], (codes.shape[1] * k, len(codes))
    given = sparse.csr_array((np.ones(len(unit)), (cells, unit)), shape=shape)
    tables: Floats = np.asarray(given @ counts, dtype=float).reshape(-1, k, k)
    return tables


def _below(
    percent: Floats, expected: Floats, units: Ints, rater: Ints, share: Floats, clusters: Ints
) -> Floats:
    """The p-values of t, by rater: sums over clusters as in `mean_by_cluster`."""
    of = distinct(clusters)[2]
    width = int(of.max(initial=0)) + 1
    keys, _, index = distinct(rater * width + of)
    who = keys // width
    sums, sizes = np.bincount(index, share), np.bincount(index)
    several = np.bincount(who, minlength=len(units))
    squares = np.bincount(who, (sums - percent[who] * sizes) ** 2, minlength=len(units))
    freedom = (several - 1).astype(float)
    clustered = ratio(several.astype(float) * squares, freedom * units.astype(float) ** 2)
    variance = np.fmax(clustered, ratio(expected * (1 - expected), units.astype(float)))
    t = (percent - expected) / np.sqrt(np.where(variance > 0, variance, np.nan))
    return np.where(several > 1, t_below(t, np.maximum(several - 1, 1)), np.nan)


def _sparse(there: Bools) -> sparse.csr_array:
    return sparse.csr_array(there, dtype=np.float64)


def _at(table: sparse.csr_array, rows: Ints, columns: Ints) -> Floats:
    if not len(rows):
        return np.zeros(0)
    found: Floats = np.asarray(table.tocsr()[rows, columns], dtype=float).ravel()
    return found
