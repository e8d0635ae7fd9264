"""Distances and agreement of sets of codes, for variables that take several codes.

Passonneau (2006) measures how far apart two sets are by MASI, which is 1 - J M: J is the Jaccard
index of the two, and M is 1 if they are equal, 2/3 if one contains the other, 1/3 if they merely
meet, and 0 if they are disjoint. Two empty sets are equal.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .estimate import Bools, Floats, Ints, ratio

#: With more different sets, the table of their distances is too large.
MOST_SETS = 2000
#: The number of distances summed at once, which take 16 MB.
AT_ONCE = 2_000_000


def masi_distances(members: Floats | Bools) -> Floats:
    """Return the MASI distances (K, K) of K sets of M codes, from which codes they have, (K, M).

    Raises ValueError if `members` is no table, or has more than `MOST_SETS` rows.
    """
    if members.ndim != 2:
        raise ValueError("give a table (K, M) of which codes are in each of the K sets")
    if len(members) > MOST_SETS:
        raise ValueError(f"there are {len(members)} sets; at most {MOST_SETS} are compared")
    inside = members.astype(float)
    size, both = inside.sum(axis=1), inside @ inside.T
    union = np.add.outer(size, size) - both
    jaccard = np.divide(both, union, out=np.ones_like(both), where=union > 0)
    smaller, larger = np.minimum.outer(size, size), np.maximum.outer(size, size)
    shared = np.select([both == larger, both == smaller, both > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    found: Floats = 1 - jaccard * shared
    return found


def distances_within(counts: Floats | Ints | sparse.csr_array, distances: Floats) -> Floats:
    """Sum the distances (K, K) over all ordered pairs of the labels that rows (N, K) count."""
    step = max(1, AT_ONCE // max(1, counts.shape[1]))
    parts = [counts[start : start + step] for start in range(0, counts.shape[0], step)]
    sums = [np.asarray((part @ distances * _dense(part)).sum(axis=1)).ravel() for part in parts]
    return np.concatenate(sums) if sums else np.zeros(0)


def _dense(counts: Floats | Ints | sparse.csr_array) -> Floats:
    return np.asarray(counts if isinstance(counts, np.ndarray) else counts.toarray(), float)


def weighted_kappa_of_sets(one: Ints, other: Ints, distances: Floats, weights: Floats) -> Floats:
    """Return Cohen's kappa of two raters, weighted by the distances (K, K) of their labels.

    It is 1 - n sum o / sum e (Cohen 1968): o are the distances of both labels on the n units, and e
    those of all pairs of a label of one with a label of the other. `one` and `other` (U,) are
    codes, -1 = missing, and `weights` (U,) or (B, U) those of the units. NaN if both use only one.
    """
    both = np.flatnonzero((one >= 0) & (other >= 0))
    weight, k = weights[..., both], np.arange(len(distances))
    observed = weight @ distances[one[both], other[both]]
    rows, columns = (weight @ (labels[both][:, None] == k) for labels in (one, other))
    expected = ((rows @ distances) * columns).sum(axis=-1)
    return 1 - ratio(weight.sum(axis=-1) * observed, expected)
