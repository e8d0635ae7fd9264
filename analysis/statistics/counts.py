"""From labels to the counts that the coefficients are made of."""

import numpy as np
from scipy import sparse

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unit_weights


def counts_of(codes: Ints, k: int) -> Ints:
    """How many raters gave each unit each category: (U, R) codes, -1 = no label, to (U, K).

    Raises ValueError where a code is not below k.
    """
    if codes.size and codes.max() >= k:
        raise ValueError(f"code {codes.max()} is not one of {k} categories; give a larger k")
    units, raters = np.nonzero(codes >= 0)
    cells = units * k + codes[units, raters]
    return np.bincount(cells, minlength=len(codes) * k).reshape(len(codes), k).astype(np.int64)


def confusion(a: Ints, b: Ints, k: int, weights: Floats | None = None) -> Floats:
    """The table of two raters' codes: rows a, columns b; (K, K), or (B, K, K) with weights (B, U).

    Units that one of the two has not labelled (-1) are left out.
    """
    both = np.flatnonzero((a >= 0) & (b >= 0))
    if both.size and max(a.max(), b.max()) >= k:
        raise ValueError(f"a code is not one of {k} categories; give a larger k")
    weight = unit_weights(weights, len(a))[..., both]
    cells = a[both] * k + b[both]
    # A dense indicator would have K*K columns, which is much with 25 categories.
    shape = (k * k, len(both))
    into_cells = sparse.csr_array((np.ones(len(both)), (cells, np.arange(len(both)))), shape=shape)
    table: Floats = (into_cells @ weight.T).T.reshape(*weight.shape[:-1], k, k)
    return table


def reason_undefined(counts: Ints) -> str:
    """In plain words why a chance-corrected coefficient of these counts (U, K) is undefined."""
    paired = counts[counts.sum(axis=1) >= 2]
    if not counts.any():
        return "there are no labels"
    if len(paired) == 0:
        return "no unit has two labels"
    if np.count_nonzero(paired.any(axis=0)) < 2:
        return "all labels are the same category"
    return "undefined on these labels"


def paired_counts(counts: Ints) -> Floats:
    """The counts with nothing on units of fewer than two labels."""
    kept: Floats = counts * (counts.sum(axis=1) >= 2)[:, None].astype(float)
    return kept


def weighted_mean(per_unit: Floats, weight: Floats) -> Floats:
    """The mean over the units where the value is defined."""
    there = np.isfinite(per_unit)
    return ratio(weight @ np.where(there, per_unit, 0.0), weight @ there.astype(float))


def corrected(agreement: Floats, chance: Value) -> Floats:
    """(agreement - chance) / (1 - chance), NaN where chance alone explains everything."""
    return ratio(agreement - chance, 1 - np.asarray(chance))


def positions(counts: Ints, values: Floats | None) -> Floats:
    """The value of each category (default: its position), centred."""
    scale = np.arange(counts.shape[1], dtype=float) if values is None else np.asarray(values, float)
    # Centred, so that large values (years, say) do not drown their differences.
    centred: Floats = scale - scale.mean()
    return centred
