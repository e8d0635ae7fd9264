"""Agreement of raters on categories, corrected for chance in six ways.

Every coefficient is a function of the counts (U, K) and optionally of unit weights (B, U): one
number without, one per resample with. A weight of 2 is the same as the unit standing there twice.
Undefined is NaN.
"""

import numpy as np

from analysis.statistics.alpha import krippendorff_alpha
from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch, unit_weights
from analysis.statistics.counts import (
    confusion,
    corrected,
    counts_of,
    paired_counts,
    reason_undefined,
    weighted_mean,
)
from analysis.statistics.gwet import gwet_ac

__all__ = [
    "cohen_kappa",
    "confusion",
    "counts_of",
    "fleiss_kappa",
    "fleiss_kappa_pooled",
    "gwet_ac",
    "krippendorff_alpha",
    "percent_agreement",
    "percent_agreement_pooled",
    "randolph_kappa",
    "reason_undefined",
    "unit_agreement",
]


def unit_agreement(counts: Ints) -> Floats:
    """The share of agreeing pairs of labels of each unit, (U,); NaN below two labels."""
    return ratio(*_pairs(counts))


def percent_agreement(counts: Ints, weights: Floats | None = None) -> Value:
    """The mean over units with two or more labels of the share of agreeing pairs."""
    return unbatch(_mean_agreement(counts, unit_weights(weights, len(counts))))


def percent_agreement_pooled(counts: Ints, weights: Floats | None = None) -> Value:
    """The share of agreeing pairs of labels of a unit, the pairs of all units taken together."""
    return unbatch(_pooled_agreement(counts, unit_weights(weights, len(counts))))


def fleiss_kappa(counts: Ints, weights: Floats | None = None) -> Value:
    """(P - Pe) / (1 - Pe): P as in `percent_agreement`, Pe the sum of the squared shares of the
    categories among all labels on units with two or more (Fleiss 1971)."""
    weight = unit_weights(weights, len(counts))
    return unbatch(corrected(_mean_agreement(counts, weight), _chance(counts, weight)))


def fleiss_kappa_pooled(counts: Ints, weights: Floats | None = None) -> Value:
    """Fleiss' kappa with the agreement of all pairs pooled, so that a unit with many labels
    counts more; the same as `fleiss_kappa` where all units have equally many."""
    weight = unit_weights(weights, len(counts))
    return unbatch(corrected(_pooled_agreement(counts, weight), _chance(counts, weight)))


def randolph_kappa(counts: Ints, k: int, weights: Floats | None = None) -> Value:
    """(P - 1/k) / (1 - 1/k): chance is uniform over the k categories on offer (Randolph 2005)."""
    agreement = _mean_agreement(counts, unit_weights(weights, len(counts)))
    return unbatch(corrected(agreement, 1 / k))


def cohen_kappa(table: Floats, weighting: str | None = None) -> Value:
    """1 - sum(w o) / sum(w e) of two raters' confusions, (K, K) or (B, K, K).

    w is the disagreement of two categories: 1 where they differ, or the distance of their
    positions (`weighting="linear"`) or its square (`"quadratic"`); o is the table, e the table
    that its margins give (Cohen 1960, 1968). Undefined where both use one and the same category.
    """
    distance = _distances(table.shape[-1], weighting)
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    observed = np.einsum("...ij,ij->...", table, distance) * rows.sum(axis=-1)
    expected = np.einsum("...i,ij,...j->...", rows, distance, columns)
    return unbatch(1 - ratio(observed, expected))


def _pairs(counts: Ints) -> tuple[Floats, Floats]:
    size = counts.sum(axis=1).astype(float)
    return (counts * (counts - 1.0)).sum(axis=1), size * (size - 1)


def _mean_agreement(counts: Ints, weight: Floats) -> Floats:
    return weighted_mean(unit_agreement(counts), weight)


def _pooled_agreement(counts: Ints, weight: Floats) -> Floats:
    agreeing, pairs = _pairs(counts)
    return ratio(weight @ agreeing, weight @ pairs)


def _chance(counts: Ints, weight: Floats) -> Floats:
    totals: Floats = weight @ paired_counts(counts)
    share = ratio(totals, totals.sum(axis=-1, keepdims=True))
    squares: Floats = (share**2).sum(axis=-1)
    return squares


def _distances(k: int, weighting: str | None) -> Floats:
    gaps: Floats = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    match weighting:
        case None:
            return (gaps > 0).astype(float)
        case "linear":
            return gaps
        case "quadratic":
            return gaps**2
    raise ValueError(f"unknown weighting {weighting!r}; use None, linear or quadratic")
