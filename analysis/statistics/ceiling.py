"""What people reach with each other: the mean of a coefficient over all pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy import sparse

from analysis.statistics.agreement import cohen_kappa
from analysis.statistics.alignment import macro
from analysis.statistics.arrays import Floats, Ints, Value, distinct, ratio
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval, OfWeights
from analysis.statistics.tally import Tally, kinds_of

OF_PAIRS = "mean over pairs of people of"
METHODS = {
    "percent": f"{OF_PAIRS} the share of equal labels",
    "cohen_kappa": f"{OF_PAIRS} Cohen's kappa",
}
NO_PAIR = "no two people share labels that vary"


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
    """The share of equal labels and Cohen's kappa, each its mean over all pairs of R raters.

    codes (U, R) of k categories, -1 = missing; `clusters` (U,) are resampled whole. Pairs without a
    common unit, or whose kappa is undefined, leave the mean. `names` are those that are wanted.
    """
    enter = (codes >= 0).sum(axis=1) >= 2
    n, queries = int(enter.sum()), len(distinct(clusters[enter])[0])
    if not n:
        return {name: undefined(NO_PAIR, n, METHODS[name]) for name in names}
    rows, kinds = kinds_of(codes)
    bootstrap = Bootstrap(Tally.of(kinds, len(rows), clusters), draws, seed, interval)
    functions = {"percent": lambda: _percent(rows), "cohen_kappa": lambda: _kappa(rows, k)}
    return {
        name: bootstrap.estimate(functions[name](), n, METHODS[name], NO_PAIR, queries)
        for name in names
    }


def _percent(rows: Ints) -> OfWeights:
    pairs = list(_pairs(rows))
    both = np.stack([(a >= 0) & (b >= 0) for a, b in pairs], axis=1).astype(float)
    equal = both * np.stack([a == b for a, b in pairs], axis=1)

    def percent(weights: Floats) -> Value:
        return macro(ratio(weights @ equal, weights @ both))

    return percent


def _kappa(rows: Ints, k: int) -> OfWeights:
    pairs = list(_pairs(rows))
    found = [np.flatnonzero((a >= 0) & (b >= 0)) for a, b in pairs]
    cells = [
        n * k * k + a[there] * k + b[there]
        for n, ((a, b), there) in enumerate(zip(pairs, found, strict=True))
    ]
    places = (np.concatenate(cells), np.concatenate(found))
    shape = (len(pairs) * k * k, len(rows))
    into_cells = sparse.csr_array((np.ones(len(places[0])), places), shape=shape)

    def kappa(weights: Floats) -> Value:
        tables = (into_cells @ weights.T).T.reshape(*weights.shape[:-1], len(pairs), k, k)
        return macro(np.asarray(cohen_kappa(tables)))

    return kappa


def _pairs(rows: Ints) -> combinations[tuple[Ints, Ints]]:
    return combinations(rows.T, 2)
