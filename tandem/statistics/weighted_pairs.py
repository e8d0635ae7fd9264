"""Cohen's kappa with quadratic weights of pairs of raters, from sums over the units they share.

With categories as numbers x and y, the kappa of two raters on n units is

    2 (n Sxy - Sx Sy) / (n (Sxx + Syy) - 2 Sx Sy),

where S are sums over these units. So no table of categories is needed, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from .arrays import Bools, Floats, Ints, ratio

#: The share of a difference that may be due to the rounding of its terms.
ROUNDING = 1e-12


def terms(x: Floats, y: Floats) -> Floats:
    """Return what is summed over units with the numbers x and y (U,): (U, 6)."""
    return np.column_stack([np.ones(len(x)), x, y, x**2, y**2, x * y])


def weighted_kappa(sums: Sequence[Floats] | Floats) -> Floats:
    """Return kappa from the six sums of `terms`, NaN if undefined."""
    n, x, y, xx, yy, xy = sums
    return ratio(2 * (n * xy - x * y), _expected(n, x, y, xx, yy))


def _expected(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats) -> Floats:
    expected = n * (xx + yy) - 2 * x * y
    # Two raters with a single category expect no disagreement, apart from rounding.
    kept: Floats = np.where(expected > ROUNDING * n * (xx + yy), expected, 0.0)
    return kept


def weighted_slopes(
    codes: Ints, scale: Floats, one: Ints, other: Ints
) -> tuple[float, Floats, Bools] | None:
    """Return the mean kappa of pairs of raters weighted by shared units, and its slopes.

    The slopes (U,) are the derivatives with respect to the weight of each unit, and the last part
    says which units entered, (U,). `one` and `other` (P,) are the columns of `codes` (U, R), and
    `scale` (K,) the categories' numbers. None if no kappa is defined.
    """
    if not len(one):
        return None
    labelled = codes >= 0
    value_of = np.where(labelled, scale[np.maximum(codes, 0)], 0.0)
    there, x, xx = (sparse.csr_array(each) for each in (labelled * 1.0, value_of, value_of**2))

    def at(table: sparse.csr_array, rows: Ints, columns: Ints) -> Floats:
        return np.asarray(table.tocsr()[rows, columns], dtype=float).ravel()

    ones, squares = x.T @ there, xx.T @ there
    sums = (
        at(there.T @ there, one, other),
        at(ones, one, other), at(ones, other, one),
        at(squares, one, other), at(squares, other, one),
        at(x.T @ x, one, other),
    )  # fmt: skip
    kappa = weighted_kappa(sums)
    varied = np.isfinite(kappa)
    if not varied.any():
        return None
    one, other, kappa = one[varied], other[varied], kappa[varied]
    n, sx, sy, sxx, syy, sxy = (each[varied] for each in sums)
    whole, value = n.sum(), float((n * kappa).sum() / n.sum())
    expected = n * (sxx + syy) - 2 * sx * sy

    def over(left: sparse.csr_array, right: sparse.csr_array, weights: Floats) -> Floats:
        """Sum the weights of a unit's pairs, times both raters' entries there, (U,)."""
        size = codes.shape[1]
        table = sparse.csr_array((weights, (one, other)), shape=(size, size))
        return np.asarray(((left @ table) * right).sum(axis=1), dtype=float).ravel()

    # Kappa is A / B. A unit with x and y adds dA = 2 (Sxy + n xy - x Sy - y Sx) to A, and to B
    # dB = Sxx + Syy + n (x^2 + y^2) - 2 (x Sy + y Sx). The sum of n kappa grows by
    # kappa + n (dA - kappa dB) / B.
    share = n / expected
    slopes = (
        over(there, there, kappa - value + share * (2 * sxy - kappa * (sxx + syy)))
        + over(x, x, 2 * share * n)
        - over(x, there, 2 * share * (1 - kappa) * sy)
        - over(there, x, 2 * share * (1 - kappa) * sx)
        - over(xx, there, share * kappa * n)
        - over(there, xx, share * kappa * n)
    )
    entered = over(there, there, np.ones(len(n))) > 0
    return value, slopes / whole, entered
