"""Krippendorff's alpha on counts (U, K), at three levels of measurement."""

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Level, Value, ratio, unbatch, unit_weights
from analysis.statistics.counts import paired_counts, positions


def krippendorff_alpha(
    counts: Ints, level: Level, values: Floats | None = None, weights: Floats | None = None
) -> Value:
    """1 - Do/De (Krippendorff 2011), as one closed form for all three levels.

    With S(c) the sum of squared differences over all ordered pairs of labels counted in c, n_u
    the labels of unit u, N all labels on units with two or more and T their totals per category:
    alpha = 1 - (N - 1) * sum_u S(c_u)/(n_u - 1) / S(T). The difference is 0 or 1 for nominal
    categories, that of `values` (default: the position) for interval, and for ordinal ones that
    of the midranks of the categories in T.
    """
    paired = paired_counts(counts)
    weight = unit_weights(weights, len(counts))
    totals: Floats = weight @ paired
    labels = totals.sum(axis=-1)
    if level == "nominal":
        within, overall = _unequal_pairs(paired), _unequal_pairs(totals)
    else:
        scale = _midranks(totals) if level == "ordinal" else positions(counts, values)
        size = paired.sum(axis=1)
        within = _squared_differences(size, scale @ paired.T, scale**2 @ paired.T)
        first, second = (totals * scale).sum(axis=-1), (totals * scale**2).sum(axis=-1)
        overall = _squared_differences(labels, first, second)
    observed = np.einsum("...u,...u->...", weight, within / np.maximum(paired.sum(axis=1) - 1, 1))
    several = np.count_nonzero(totals, axis=-1) > 1
    return unbatch(1 - ratio((labels - 1) * observed, np.where(several, overall, 0.0)))


def _unequal_pairs(counts: Floats) -> Floats:
    pairs: Floats = counts.sum(axis=-1) ** 2 - (counts**2).sum(axis=-1)
    return pairs


def _squared_differences(size: Floats, first: Floats, second: Floats) -> Floats:
    """Over ordered pairs of `size` values, from their sum and their sum of squares."""
    return 2 * (size * second - first**2)


def _midranks(totals: Floats) -> Floats:
    ranks: Floats = np.cumsum(totals, axis=-1) - totals / 2
    # Centred for precision: alpha does not depend on where the ranks begin.
    centred: Floats = ranks - ranks.mean(axis=-1, keepdims=True)
    return centred
