"""What a crowd reaches with each other, with intervals that cost no more than its labels.

The tables of all pairs in all resamples would be the square of the people times the resamples. So
the mean over pairs is taken once, with its derivative by the weight of each unit, and on a resample
it is taken for linear in the weights (the infinitesimal jackknife, Efron 1982, chapter 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy import sparse

from analysis.statistics.arrays import Bools, Floats, Ints, distinct
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.pairwise import PairCounts, answers_of, pair_counts
from analysis.statistics.tally import Tally

FEWEST_SHARED = 30
METHODS = {
    "percent": "share of equal labels, mean over pairs of people weighted by shared units",
    "cohen_kappa": "Cohen's kappa, mean over pairs of people weighted by shared units",
}
LINEAR = ", resamples linearised"
NO_PAIR = f"no two people share {FEWEST_SHARED} units with labels that vary"


def crowd_ceiling_estimates(
    codes: Ints,
    clusters: Ints,
    k: int,
    *,
    names: Sequence[str] = tuple(METHODS),
    fewest: int = FEWEST_SHARED,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> dict[str, Estimate]:
    """The share of equal labels and Cohen's kappa, each its mean over pairs of R raters weighted by
    the units that a pair shares; those with fewer than `fewest`, or without a kappa, stay out.

    codes (U, R) of k categories, -1 = missing; `clusters` (U,) are resampled whole.
    """
    found = pair_counts(codes, k, with_uses="cohen_kappa" in names).least(fewest)
    made: dict[str, Estimate] = {}
    for name in names:
        method = METHODS[name] + LINEAR
        pairs = found if name == "percent" else found.varied()
        if not len(pairs.units):
            made[name] = undefined(NO_PAIR, 0, METHODS[name])
            continue
        value, slopes, shared = (
            _percent(pairs, codes) if name == "percent" else _kappa(pairs, codes)
        )
        queries = len(distinct(clusters[shared])[0])
        tally = Tally.of_sums(slopes[:, None], clusters)
        bootstrap = Bootstrap(tally, draws, seed, interval)
        of = partial(_on_resamples, value)
        estimate = bootstrap.estimate(of, int(shared.sum()), method, clusters=queries)
        made[name] = estimate.within(-1.0, 1.0)
    return made


def _on_resamples(value: float, weights: Floats) -> Floats:
    """The slopes sum to 0 over all units, whatever weighs all of them alike changing nothing."""
    made: Floats = value + weights[..., 0]
    return made


def _percent(pairs: PairCounts, codes: Ints) -> tuple[float, Floats, Bools]:
    """The value, its slope by the weight of each unit (U,), and the units that enter (U,)."""
    whole = float(pairs.units.sum())
    value = float(pairs.equal.sum()) / whole
    ones = np.ones(len(pairs.units))
    both, equal = _sums(pairs, codes, ones, ones)
    return value, (equal - value * both) / whole, both > 0


def _kappa(pairs: PairCounts, codes: Ints) -> tuple[float, Floats, Bools]:
    """The same of sum n kappa / sum n, kappa = (e n - g) / (n^2 - g) with n units, e equal, and
    g = sum_c A_c B_c of the uses of each category by the two on their n units."""
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
        # What one of the two gave weighs by how often the other gave it.
        rows = np.concatenate([pairs.one, pairs.other])
        columns = np.concatenate([pairs.other, pairs.one])
        weights = np.concatenate([by_chance * second, by_chance * first])
        table = sparse.csr_array((weights, (rows, columns)), shape=(size, size))
        slopes = slopes + np.asarray(((given @ table) * labelled).sum(axis=1)).ravel()
    entered, _ = _sums(pairs, codes, np.ones(len(n)), np.zeros(len(n)))
    return value, slopes / whole, entered > 0


def _sums(pairs: PairCounts, codes: Ints, both: Floats, equal: Floats) -> tuple[Floats, Floats]:
    """The sums over a unit's pairs of `both` (P,), and of `equal` where they agree, (U,) each."""
    size = codes.shape[1]

    def over(given: sparse.csr_array, weights: Floats) -> Floats:
        table = sparse.csr_array((weights, (pairs.one, pairs.other)), shape=(size, size))
        return np.asarray(((given @ table) * given).sum(axis=1), dtype=float).ravel()

    answers, unit = answers_of(codes)
    agreed = np.bincount(unit, over(answers, equal), minlength=len(codes))
    return over(_sparse(codes >= 0), both), agreed.astype(float)


def _sparse(there: Bools) -> sparse.csr_array:
    return sparse.csr_array(there, dtype=np.float64)
