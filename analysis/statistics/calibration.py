"""Whether a judge's probabilities mean what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch
from analysis.statistics.bootstrap import mean_by_cluster
from analysis.statistics.estimate import SHARE, Estimate
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.tally import Tally

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Units with neighbouring probabilities: their mean and the share to which people say yes."""

    units: int
    probability: float
    share: Estimate


@dataclass(frozen=True)
class Calibration:
    """Brier score, expected calibration error, and the reliability curve (a point for each bin)."""

    brier: Estimate
    expected_calibration_error: Estimate
    reliability: list[Bin]


def calibration(
    probabilities: Floats,
    outcomes: Ints,
    clusters: Ints,
    bins: int = BINS,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Calibration:
    """Probabilities (U,) against people's 1 and 0 (U,), in bins of about equally many units.

    Brier score: the mean of (p - y)^2, with a t interval clustered by queries (Brier 1950).
    Expected calibration error: sum over bins of n_b/n * |mean p - mean y| (Naeini and others
    2015). It is above 0 by chance alone, the more so with few units; its bootstrap too.
    Units without a probability (NaN) or a label (-1) are left out. Equal probabilities stay in
    one bin. Raises ValueError where a probability is not between 0 and 1.
    """
    there = np.isfinite(probabilities) & (outcomes >= 0)
    p, y = probabilities[there], outcomes[there].astype(float)
    if len(p) and (p.min() < 0 or p.max() > 1):
        raise ValueError("a probability lies between 0 and 1; scale the scores first")
    brier = mean_by_cluster((p - y) ** 2, clusters[there], "Brier score").within(*SHARE)
    place = equal_count_bins(p, bins)
    size = int(place.max(initial=-1)) + 1
    member = (place[:, None] == np.arange(size)).astype(float)
    sums = np.zeros((len(there), 3 * size))
    sums[there] = np.concatenate([member, member * p[:, None], member * y[:, None]], axis=1)
    bootstrap = Bootstrap(Tally.of_sums(sums, clusters), draws, seed, interval)
    method = f"expected calibration error, {size} bins of about equally many units"
    error = bootstrap.estimate(_calibration_error, len(p), method, "no values").within(*SHARE)
    return Calibration(brier, error, _reliability(bootstrap, size))


def equal_count_bins(values: Floats, bins: int) -> Ints:
    """The bin 0..b-1 of each value (n,), about equally full; equal values stay together."""
    if not len(values):
        return np.empty(0, np.int64)
    edges = np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf")
    place = np.searchsorted(np.unique(edges), values, side="left")
    return np.unique(place, return_inverse=True)[1].astype(np.int64)


def _calibration_error(sums: Floats) -> Value:
    n, p, y = _thirds(sums)
    return unbatch(ratio(np.abs(p - y).sum(axis=-1), n.sum(axis=-1)))


def _reliability(bootstrap: Bootstrap, size: int) -> list[Bin]:
    if not size:
        return []
    n, p, _ = _thirds(bootstrap.tally.total)
    # An interval rests on the queries that have a unit in the bin.
    queries = np.asarray((bootstrap.tally.table[:, :size] > 0).sum(axis=0)).ravel()
    return [
        Bin(int(n[b]), float(p[b] / n[b]), _share_of(bootstrap, b, int(n[b]), int(queries[b])))
        for b in range(size)
    ]


def _share_of(bootstrap: Bootstrap, place: int, units: int, queries: int) -> Estimate:
    return bootstrap.estimate(
        lambda w: _share(w)[..., place], units, "share of yes", clusters=queries
    ).within(*SHARE)


def _share(sums: Floats) -> Floats:
    n, _, y = _thirds(sums)
    return ratio(y, n)


def _thirds(sums: Floats) -> tuple[Floats, Floats, Floats]:
    n, p, y = np.split(sums, 3, axis=-1)
    return n, p, y
