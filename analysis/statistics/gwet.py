"""Gwet's AC1 and AC2 on counts (U, K)."""

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Level, Value, ratio, unbatch, unit_weights
from analysis.statistics.counts import corrected, positions, weighted_mean


def gwet_ac(
    counts: Ints, level: Level, values: Floats | None = None, weights: Floats | None = None
) -> Value:
    """Gwet's AC1 for nominal categories, AC2 with quadratic weights for ordered ones (Gwet 2014).

    (Pa - Pe) / (1 - Pe): Pa is the weighted agreement, averaged over units with two or more
    labels; Pe = sum of the weights / (K (K - 1)) * sum_k p_k (1 - p_k), where p_k is the mean over
    all units, those with a single label included, of the unit's share of k. K is the number of
    columns of `counts`. One category alone in use gives 1, as chance agreement is then 0.
    """
    k = counts.shape[1]
    weight = unit_weights(weights, len(counts))
    similarity = np.eye(k) if level == "nominal" else _quadratic(positions(counts, values))
    size = counts.sum(axis=1)
    agreeing = (counts * (counts @ similarity - 1)).sum(axis=1)
    agreement = weighted_mean(ratio(agreeing, size * (size - 1)), weight)
    labelled = np.minimum(size, 1)
    shares: Floats = weight @ (counts / np.maximum(size, 1)[:, None])
    share = ratio(shares, np.asarray(weight @ labelled)[..., None])
    spread = (share * (1 - share)).sum(axis=-1)
    return unbatch(corrected(agreement, ratio(similarity.sum() * spread, k * (k - 1))))


def _quadratic(scale: Floats) -> Floats:
    gaps = (scale[:, None] - scale) ** 2
    return 1 - gaps / (gaps.max() or 1.0)
