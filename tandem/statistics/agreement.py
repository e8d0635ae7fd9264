"""Agreement on categories, corrected for chance: kappas, Krippendorff's alpha, Gwet's AC1 and AC2.

Every coefficient takes the counts (U, K) and optionally unit weights (B, U). Without weights it
returns one number; with weights, one number per resample. A unit with weight 2 counts like two
equal units. NaN = undefined.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy import sparse

from .estimate import (
    Estimate,
    Floats,
    Ints,
    Level,
    Value,
    check_level,
    ratio,
    unbatch,
    undefined,
    unit_weights,
)
from .resampling import UNDEFINED, Bootstrap, Draws, Interval
from .sets import distances_within, masi_distances
from .tally import Tally, kinds_of

#: With at most so many categories, products are faster than sums along an axis.
FEW = 10
Counts: TypeAlias = "Ints | Floats | sparse.csr_array"
"""The labels of each unit by category, (U, K)."""
WIDE = 64
"""With more categories, a table of counts is sparse."""
METHOD = "Krippendorff's alpha, interval"
NO_PAIR = "no unit has two labels"
ALIKE = "all labels are the same category"


def counts_of(codes: Ints, k: int) -> Ints:
    """Count the raters who gave each unit each category: (U, R) codes, -1 = no label, to (U, K).

    Raises ValueError if a code is not below k.
    """
    if codes.size and codes.max() >= k:
        raise ValueError(f"code {codes.max()} is not one of {k} categories; give a larger k")
    units, raters = np.nonzero(codes >= 0)
    cells = units * k + codes[units, raters]
    return np.bincount(cells, minlength=len(codes) * k).reshape(len(codes), k).astype(np.int64)


def kinds_by_counts(codes: Ints, k: int) -> tuple[Counts, Ints]:
    """Return the counts of each kind of unit (P, K), and the kind of each unit of codes, (U,).

    With many categories the table is nearly empty and therefore sparse: its work then grows with
    the labels, and not with units times categories.
    """
    if k <= WIDE:
        return kinds_of(counts_of(codes, k))
    rows, kinds = kinds_of(np.sort(codes, axis=1))
    if codes.size and codes.max() >= k:
        raise ValueError(f"code {codes.max()} is not one of {k} categories; give a larger k")
    unit, rater = np.nonzero(rows >= 0)
    cells = (np.ones(len(unit)), (unit, rows[unit, rater]))
    return sparse.csr_array(cells, shape=(len(rows), k)), kinds


def confusion(a: Ints, b: Ints, k: int, weights: Floats | None = None) -> Floats:
    """Return the table of two raters' codes, a in the rows and b in the columns.

    The shape is (K, K), or (B, K, K) with weights (B, U). Units that one of the two has not
    labelled (-1) are left out.
    """
    both = np.flatnonzero((a >= 0) & (b >= 0))
    if both.size and max(a.max(), b.max()) >= k:
        raise ValueError(f"a code is not one of {k} categories; give a larger k")
    weight = unit_weights(weights, len(a))[..., both]
    cells = a[both] * k + b[both]
    # Sparse, since with 25 categories a dense indicator would have 625 columns.
    shape = (k * k, len(both))
    into_cells = sparse.csr_array((np.ones(len(both)), (cells, np.arange(len(both)))), shape=shape)
    table: Floats = (into_cells @ weight.T).T.reshape(*weight.shape[:-1], k, k)
    return table


def reason_undefined(counts: Counts) -> str:
    """Explain why a chance-corrected coefficient of these counts (U, K) is undefined."""
    used = paired_counts(counts).sum(axis=0)
    if not counts.sum():
        return "there are no labels"
    if not used.any():
        return NO_PAIR
    if np.count_nonzero(used) < 2:
        return ALIKE
    return UNDEFINED


def paired_counts(counts: Counts) -> Counts:
    """Set the counts to 0 on units with fewer than two labels."""
    return _scaled(counts, (counts.sum(axis=1) >= 2).astype(float))


def _scaled(counts: Counts, by: Floats) -> Counts:
    """Multiply the counts of each unit by a number, (U,)."""
    if isinstance(counts, np.ndarray):
        return counts * by[:, None]
    return sparse.csr_array(sparse.diags_array(by) @ counts)


def weighted_mean(per_unit: Floats, weight: Floats) -> Floats:
    """Return the mean over the units where the value is defined."""
    there = np.isfinite(per_unit)
    return _ratio_of_sums(weight, np.where(there, per_unit, 0.0), there.astype(float))


def _ratio_of_sums(weight: Floats, part: Floats, whole: Floats) -> Floats:
    """Return the weighted sum of `part` (U,) over that of `whole` (U,), for each resample."""
    # Both sums in one pass, since reading the weights takes most of the time.
    sums = weight @ np.stack([part, whole], axis=1)
    return ratio(sums[..., 0], sums[..., 1])


def correct_for_chance(agreement: Floats, chance: Value) -> Floats:
    """Return (agreement - chance) / (1 - chance), or NaN if chance explains everything."""
    return ratio(agreement - chance, 1 - np.asarray(chance))


def positions(k: int, values: Floats | None) -> Floats:
    """Return the value of each of k categories (default: its position), centred."""
    scale = np.arange(k, dtype=float) if values is None else np.asarray(values, float)
    # Centred, so that differences of large values such as years are not lost to rounding.
    centred: Floats = scale - scale.mean()
    return centred


def alpha_of_two(
    x: Floats,
    y: Floats,
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return interval alpha of two raters' numbers x and y (U,), NaN = missing (Krippendorff 2011).

    Only the n units with both numbers count. Whole `clusters` (U,) are resampled.

        alpha = 1 - (2n - 1) * sum d^2 / (2n * sum v^2 - (sum v)^2),

    where d are the differences of the two numbers, and v are all 2n numbers.
    """
    there = np.isfinite(x) & np.isfinite(y)
    n = int(there.sum())
    if not n:
        return undefined(NO_PAIR, n, METHOD)
    # Centred for precision: alpha does not depend on the origin of the scale.
    middle = float((x[there] + y[there]).mean()) / 2
    a, b = (np.where(there, each - middle, 0.0) for each in (x, y))
    sums = np.column_stack([there.astype(float), a + b, a**2 + b**2, (a - b) ** 2])
    bootstrap = Bootstrap(Tally.of_sums(sums, clusters), draws, seed, interval)
    queries = len(np.unique(clusters[there]))
    return bootstrap.estimate(_alpha, n, METHOD, ALIKE, queries)


def _alpha(sums: Floats) -> Value:
    labels, first, second, apart = 2 * sums[..., 0], *np.moveaxis(sums[..., 1:], -1, 0)
    overall = labels * second - first**2
    # A variance that is only a rounding error counts as none.
    overall = np.where(overall > 1e-12 * np.maximum(labels * second, 1.0), overall, 0.0)
    return unbatch(1 - ratio((labels - 1) * apart, overall))


def krippendorff_alpha(
    counts: Counts, level: Level, values: Floats | None = None, weights: Floats | None = None
) -> Value:
    """Return 1 - Do/De (Krippendorff 2011), as one closed form for all levels.

        alpha = 1 - (N - 1) * sum_u [S(c_u) / (n_u - 1)] / S(T)

    Only units with two or more labels count. c_u are the counts of unit u by category, n_u is its
    number of labels, T are the sums of the c_u, and N is the sum of the n_u. S(c) is the sum of
    squared differences over all ordered pairs of the labels that c counts. The difference of two
    categories is 0 or 1 at the nominal level. At the interval level it is the difference of their
    `values` (default: their positions), and at the ordinal level that of their midranks in T. At
    level set, S sums the MASI distances themselves (Passonneau 2006, see `masi_distances`), and
    `values` (K, M) say which codes are in each set.
    """
    check_level(level)
    paired = paired_counts(counts)
    weight = unit_weights(weights, counts.shape[0])
    totals: Floats = weight @ paired
    labels = totals.sum(axis=-1)
    if level == "nominal":
        within, overall = _unequal_pairs(paired), _unequal_pairs(totals)
    elif level == "set":
        distances = masi_distances(np.zeros(0) if values is None else values)
        within = distances_within(paired, distances)
        overall = ((totals @ distances) * totals).sum(axis=-1)
    else:
        scale = _midranks(totals) if level == "ordinal" else positions(counts.shape[1], values)
        size = paired.sum(axis=1)
        within = _squared_differences(size, scale @ paired.T, scale**2 @ paired.T)
        first, second = (totals * scale).sum(axis=-1), (totals * scale**2).sum(axis=-1)
        overall = _squared_differences(labels, first, second)
    observed = np.einsum("...u,...u->...", weight, within / np.maximum(paired.sum(axis=1) - 1, 1))
    several = np.count_nonzero(totals, axis=-1) > 1
    return unbatch(1 - ratio((labels - 1) * observed, np.where(several, overall, 0.0)))


def _unequal_pairs(counts: Counts) -> Floats:
    pairs: Floats = counts.sum(axis=-1) ** 2 - (counts**2).sum(axis=-1)
    return pairs


def _squared_differences(size: Floats, first: Floats, second: Floats) -> Floats:
    """Sum over ordered pairs of `size` values, from their sum and their sum of squares."""
    return 2 * (size * second - first**2)


def _midranks(totals: Floats) -> Floats:
    ranks: Floats = np.cumsum(totals, axis=-1) - totals / 2
    # Centred for precision: alpha does not depend on where the ranks begin.
    centred: Floats = ranks - ranks.mean(axis=-1, keepdims=True)
    return centred


def gwet_ac(
    counts: Counts, level: Level, values: Floats | None = None, weights: Floats | None = None
) -> Value:
    """Return Gwet's AC1 for nominal categories, AC2 with quadratic weights for ordered ones.

    After Gwet 2014,

        AC = (Pa - Pe) / (1 - Pe),
        Pe = sum of the weights / (K (K - 1)) * sum_k p_k (1 - p_k),

    where Pa is the weighted agreement, averaged over units with two or more labels, and p_k is the
    mean share of category k among a unit's labels, over all units, including those with a single
    label. K is the number of columns of `counts`. If only one category is used, Pe is 0 and the
    result is 1.
    """
    check_level(level)
    k = counts.shape[1]
    weight = unit_weights(weights, counts.shape[0])
    size = counts.sum(axis=1)
    agreeing, pairs = _pairs(counts)
    similar = float(k)
    if level != "nominal":
        # Sums of the weights 1 - d^2 / span^2, without a table of K by K categories.
        scale = positions(k, values)
        square = float(np.ptp(scale)) ** 2 or 1.0
        apart = _squared_differences(size, counts @ scale, counts @ scale**2)
        agreeing = pairs - apart / square
        whole = _squared_differences(np.array(float(k)), scale.sum(), (scale**2).sum())
        similar = k * k - float(whole) / square
    agreement = weighted_mean(ratio(agreeing, pairs), weight)
    labelled = np.minimum(size, 1)
    shares: Floats = weight @ _scaled(counts, 1 / np.maximum(size, 1))
    share = ratio(shares, np.asarray(weight @ labelled)[..., None])
    spread = (share * (1 - share)).sum(axis=-1)
    return unbatch(correct_for_chance(agreement, ratio(similar * spread, k * (k - 1))))


def unit_agreement(counts: Counts) -> Floats:
    """Return each unit's share of agreeing pairs of labels, (U,); NaN below two labels."""
    return ratio(*_pairs(counts))


def percent_agreement(counts: Counts, weights: Floats | None = None) -> Value:
    """Return the mean, over units with two or more labels, of the share of agreeing pairs."""
    return unbatch(_mean_agreement(counts, unit_weights(weights, counts.shape[0])))


def percent_agreement_pooled(counts: Counts, weights: Floats | None = None) -> Value:
    """Return the share of agreeing pairs of labels, with the pairs of all units pooled."""
    return unbatch(_pooled_agreement(counts, unit_weights(weights, counts.shape[0])))


def fleiss_kappa(counts: Counts, weights: Floats | None = None) -> Value:
    """Return (P - Pe) / (1 - Pe) (Fleiss 1971).

    P is `percent_agreement`. Pe is the sum of the squared shares of the categories among all labels
    on units with two or more labels.
    """
    weight = unit_weights(weights, counts.shape[0])
    return unbatch(correct_for_chance(_mean_agreement(counts, weight), _chance(counts, weight)))


def fleiss_kappa_pooled(counts: Counts, weights: Floats | None = None) -> Value:
    """Return Fleiss' kappa with the agreement of all pairs pooled.

    A unit with many labels counts more. Equals `fleiss_kappa` if all units have equally many
    labels.
    """
    weight = unit_weights(weights, counts.shape[0])
    return unbatch(correct_for_chance(_pooled_agreement(counts, weight), _chance(counts, weight)))


def randolph_kappa(counts: Counts, k: int, weights: Floats | None = None) -> Value:
    """Return (P - 1/k) / (1 - 1/k): chance is uniform over the k categories (Randolph 2005)."""
    agreement = _mean_agreement(counts, unit_weights(weights, counts.shape[0]))
    return unbatch(correct_for_chance(agreement, 1 / k))


def cohen_kappa(table: Floats, weighting: str | None = None, values: Floats | None = None) -> Value:
    """Return 1 - sum(w o) / sum(w e) of two raters' confusions, (K, K) or (B, K, K).

    After Cohen 1960 and 1968. w is the disagreement of two categories: 1 if they differ, or the
    distance of their `values` (K,) (`weighting="linear"`), or the squared distance (`"quadratic"`).
    By default, a category's value is its position. For sets it is their MASI distance (`"masi"`),
    with `values` (K, M) as in `krippendorff_alpha`. o is the table, and e the table expected from
    its margins. Undefined if both raters use the same single category.
    """
    if weighting == "masi":
        distance = masi_distances(np.zeros(0) if values is None else values)
    else:
        distance = _distances(positions(table.shape[-1], values), weighting)
    rows, columns, flat = _margins(table)
    observed = (flat @ distance.ravel()) * (rows @ np.ones(len(distance)))
    expected = np.einsum("...i,...i->...", rows @ distance, columns)
    return unbatch(1 - ratio(observed, expected))


def _margins(tables: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the sums of rows and of columns, (..., K), and the tables as (..., K * K).

    Products with ones take a quarter of the time of sums along an axis of few elements.
    """
    k, shape = tables.shape[-1], tables.shape[:-2]
    rows = (tables.reshape(-1, k) @ np.ones(k)).reshape(*shape, k)
    flat = tables.reshape(*shape, k * k)
    of_columns = np.tile(np.eye(k), (k, 1))
    return rows, flat @ of_columns if k <= FEW else tables.sum(axis=-2), flat


def _pairs(counts: Counts) -> tuple[Floats, Floats]:
    size = counts.sum(axis=1).astype(float)
    return (counts**2).sum(axis=1) - size, size * (size - 1)


def _mean_agreement(counts: Counts, weight: Floats) -> Floats:
    return weighted_mean(unit_agreement(counts), weight)


def _pooled_agreement(counts: Counts, weight: Floats) -> Floats:
    agreeing, pairs = _pairs(counts)
    return _ratio_of_sums(weight, agreeing, pairs)


def _chance(counts: Counts, weight: Floats) -> Floats:
    totals: Floats = weight @ paired_counts(counts)
    share = ratio(totals, totals.sum(axis=-1, keepdims=True))
    squares: Floats = (share**2).sum(axis=-1)
    return squares


def _distances(scale: Floats, weighting: str | None) -> Floats:
    gaps: Floats = np.abs(np.subtract.outer(scale, scale))
    match weighting:
        case None:
            return 1 - np.eye(len(scale))
        case "linear":
            return gaps
        case "quadratic":
            return gaps**2
    raise ValueError(f"unknown weighting {weighting!r}; use None, linear, quadratic or masi")
