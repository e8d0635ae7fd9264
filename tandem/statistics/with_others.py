"""Agreement of each rater with all the others together, and who is far below them.

The cost grows with the number of labels, not of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import sparse

from .agreement import cohen_kappa, counts_of
from .estimate import Bools, Floats, Ints, ratio, t_below, unique_integers
from .paired import holm

T = TypeVar("T")


@dataclass(frozen=True)
class WithOthers:
    """Each rater's agreement with all the others, all (R,).

    `units` counts the units that another rater labelled, too. `percent` is the mean over these
    units of the share of equal labels. `kappa` is over all pairs of labels, and `others` is the
    kappa of the others with each other. `p_value` tests whether the rater agrees less than the
    others do.
    """

    units: Ints
    percent: Floats
    kappa: Floats
    others: Floats
    p_value: Floats


def each_with_others(codes: Ints, clusters: Ints, k: int, out: Collection[int] = ()) -> WithOthers:
    """Compare each rater of codes (U, R), -1 = no label, with the others taken together.

    Raters in `out`, by column, are compared, but are not among the others.

    `kappa` is computed from the table of the rater's label and each other label of the unit, and
    `others` from all pairs of labels without the rater's. The one-sided p-value is that of a t test
    over `clusters` (U,): the rater's percent minus the share of equal labels among the others. If
    the clusters vary less than a binomial variable with that many units, the binomial variance is
    used. NaN if nothing is shared.
    """
    is_other = ~np.isin(np.arange(codes.shape[1]), list(out))
    counts = counts_of(codes[:, is_other], k)
    unit, rater = np.nonzero(codes >= 0)
    given, raters = codes[unit, rater], codes.shape[1]
    tables = _tables(codes, counts, k)
    uses = np.bincount(rater * k + given, minlength=raters * k).reshape(raters, k)
    tables[:, np.arange(k), np.arange(k)] -= uses * is_other[:, None]
    every = (counts.T @ counts - np.diag(counts.sum(axis=0))).astype(float)
    own = tables * is_other[:, None, None]
    rest = every - own - own.transpose(0, 2, 1)
    kappa, others = (np.asarray(cohen_kappa(table)) for table in (tables, rest))

    unit, rater, share = _shares(codes, is_other)
    units, percent = _mean_share(rater, share, codes.shape[1])
    expected = ratio(np.trace(rest, axis1=1, axis2=2), rest.sum(axis=(1, 2)))
    p_value = _below(percent, expected, units, rater, share, clusters[unit])
    return WithOthers(units, percent, kappa, others, p_value)


def percent_with_others(codes: Ints) -> tuple[Ints, Floats]:
    """Return each rater's `units` and `percent`, (R,) each, as in `WithOthers`."""
    _, rater, share = _shares(codes, np.ones(codes.shape[1], dtype=bool))
    return _mean_share(rater, share, codes.shape[1])


def _mean_share(rater: Ints, share: Floats, raters: int) -> tuple[Ints, Floats]:
    units = np.bincount(rater, minlength=raters)
    sums = np.bincount(rater, share, minlength=raters)
    percent = ratio(sums.astype(float), units.astype(float))
    return units.astype(np.int64), percent


def _shares(codes: Ints, is_other: Bools) -> tuple[Ints, Ints, Floats]:
    """Return, for labels on shared units, the unit, the rater, and the share of equal other labels.

    Only the raters that `is_other` (R,) marks count as others.
    """
    unit, rater = np.nonzero(codes >= 0)
    own = is_other[rater].astype(np.int64)
    others = np.bincount(unit, own, minlength=len(codes))[unit] - own
    answer = unique_integers(unit * (int(codes.max(initial=0)) + 1) + codes[unit, rater])[2]
    same = (np.bincount(answer, own)[answer] if len(answer) else answer) - own
    several = others > 0
    return unit[several], rater[several], same[several] / others[several]


def tabulate_against(codes: Ints, one: Ints, k: int) -> Floats:
    """Tabulate each rater of codes (U, R), in the rows, against `one` (U,): (R, K, K)."""
    return _tables(codes, counts_of(one[:, None], k), k)


def far_off(found: WithOthers, gap: float, fewest: int, q: float = 0.05) -> Ints:
    """Return the raters whose kappa is significantly more than `gap` below the others'.

    Only raters with at least `fewest` shared units are tested. Their p-values are adjusted for the
    number of raters tested (Holm 1979).
    """
    asked = np.flatnonzero(
        (found.units >= fewest) & np.isfinite(found.p_value) & np.isfinite(found.others)
    )
    adjusted = holm(found.p_value[asked])
    # A rater who uses a single category never has a kappa above chance.
    own = np.where(np.isfinite(found.kappa), found.kappa, 0.0)[asked]
    far = (found.others[asked] - own > gap) & (adjusted < q)
    return asked[far].astype(np.int64)


def confirm_far_off(
    found: Collection[T], among: Callable[[Collection[T]], Collection[T]]
) -> set[T]:
    """Return the raters `found` far off whose low agreement is not due to other such raters.

    `among(out)` returns the raters who are far off when compared only with raters outside of `out`.
    A careful rater who shares most units with a careless one appears far off, too. The raters
    `found` are therefore first compared without each other. Those who are still far off are
    confirmed. The rest are compared again without the confirmed raters. Two raters who share units
    only with each other are both returned.
    """
    if len(found) < 2:
        return set(found)
    sure = set(found) & set(among(found))
    return sure | set(found) & set(among(sure))


def _tables(codes: Ints, counts: Ints, k: int) -> Floats:
    """Tabulate each rater's categories against the others' `counts` (U, K) on the unit."""
    unit, rater = np.nonzero(codes >= 0)
    cells, shape = rater * k + codes[unit, rater], (codes.shape[1] * k, len(codes))
    given = sparse.csr_array((np.ones(len(unit)), (cells, unit)), shape=shape)
    tables: Floats = np.asarray(given @ counts, dtype=float).reshape(-1, k, k)
    return tables


def _below(
    percent: Floats, expected: Floats, units: Ints, rater: Ints, share: Floats, clusters: Ints
) -> Floats:
    """Return p-values of t by rater, from sums over clusters as in `mean_by_cluster`."""
    of = unique_integers(clusters)[2]
    width = int(of.max(initial=0)) + 1
    keys, _, index = unique_integers(rater * width + of)
    who = keys // width
    sums, sizes = np.bincount(index, share), np.bincount(index)
    several = np.bincount(who, minlength=len(units))
    squares = np.bincount(who, (sums - percent[who] * sizes) ** 2, minlength=len(units))
    freedom = (several - 1).astype(float)
    clustered = ratio(several.astype(float) * squares, freedom * units.astype(float) ** 2)
    variance = np.fmax(clustered, ratio(expected * (1 - expected), units.astype(float)))
    t = (percent - expected) / np.sqrt(np.where(variance > 0, variance, np.nan))
    return np.where(several > 1, t_below(t, np.maximum(several - 1, 1)), np.nan)
