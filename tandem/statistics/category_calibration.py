"""Calibration of a judge that gives each category a probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats, Ints
from .cluster_means import mean_by_cluster
from .curves import BINS, Bin, calibration
from .estimate import SHARE, Bounds, Estimate
from .resampling import Draws, Interval

ROUNDING = 1e-6


@dataclass(frozen=True)
class CategoryCalibration:
    """Scores of all probabilities, and the calibration of the most probable category.

    `ranked_probability_score` is None unless the categories are ordered.
    """

    brier: Estimate
    ranked_probability_score: Estimate | None
    expected_calibration_error: Estimate
    reliability: list[Bin]


def category_calibration(
    probabilities: Floats,
    outcomes: Ints,
    clusters: Ints,
    ordered: bool = False,
    bins: int = BINS,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> CategoryCalibration:
    """Compare probabilities of K categories (U, K) with people's codes (U,).

    The Brier score is the mean of sum_k (p_k - y_k)^2, from 0 to 2 (Brier 1950). With `ordered`
    categories there is also the ranked probability score: the mean of sum_k (P_k - Y_k)^2 / (K - 1)
    over cumulative shares P and Y, from 0 to 1 (Epstein 1969). It penalises a distant category more
    than a near one. Both scores have intervals clustered by query. Expected calibration error and
    reliability are those of `calibration`, applied to the most probable category and whether people
    chose it (Guo and others 2017). Units without probabilities (NaN) or a label (-1) are left out.
    Raises ValueError if the probabilities of a unit are negative or do not sum to 1.
    """
    there = np.isfinite(probabilities).all(axis=1) & (outcomes >= 0)
    p = np.where(there[:, None], probabilities, 0.0)
    if there.any() and (p.min() < 0 or np.abs(p[there].sum(axis=1) - 1).max() > ROUNDING):
        raise ValueError("the probabilities of a unit lie between 0 and 1, and their sum is 1")
    k = p.shape[1]
    y = (outcomes[:, None] == np.arange(k)).astype(float)
    best = p.argmax(axis=1)
    sureness = np.minimum(p.max(axis=1, initial=0.0), 1.0)
    of_best = calibration(
        np.where(there, sureness, np.nan),
        np.where(there, best == outcomes, -1).astype(np.int64),
        clusters,
        bins,
        draws=draws,
        seed=seed,
        interval=interval,
    )
    squares = ((p - y) ** 2).sum(axis=1)
    brier = _mean(squares, there, clusters, "Brier score of all categories", (0.0, 2.0))
    ranked = None
    if ordered and k > 1:
        far = ((p - y).cumsum(axis=1)[:, :-1] ** 2).sum(axis=1) / (k - 1)
        ranked = _mean(far, there, clusters, "ranked probability score", SHARE)
    error = of_best.expected_calibration_error
    return CategoryCalibration(brier, ranked, error, of_best.reliability)


def _mean(values: Floats, there: Bools, clusters: Ints, method: str, bounds: Bounds) -> Estimate:
    return mean_by_cluster(np.where(there, values, np.nan), clusters, method, bounds)
