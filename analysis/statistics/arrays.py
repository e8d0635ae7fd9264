"""What all statistics share: array types, division that may be undefined, quantiles.

Quantiles use scipy.special: importing scipy.stats takes as long as everything else that a command
or the site imports, so only the few functions that need its tests import it.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Level = Literal["nominal", "ordinal", "interval"]

#: One number, or one per resample.
Value = float | Floats


def unit_weights(weights: Floats | None, units: int) -> Floats:
    """The weights given, (B, U), or a one for each unit, (U,)."""
    return np.ones(units) if weights is None else weights


def ratio(numerator: Value, denominator: Value) -> Floats:
    """Numerator / denominator, NaN (undefined) wherever the denominator is not positive."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    result = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=result, where=bottom > 0)
    return result


def unbatch(values: Floats) -> Value:
    """A float where there is one number, else the array of resamples as it is."""
    return float(values) if np.ndim(values) == 0 else values


def distinct(numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """The different numbers in order, where each stands first, and which of them each one is.

    As `np.unique` has them, but without sorting where the numbers lie close together.
    """
    low = int(numbers.min(initial=0))
    span = int(numbers.max(initial=0)) - low + 1
    if span > 4 * len(numbers) + 1000:
        values, first, kinds = np.unique(numbers, return_index=True, return_inverse=True)
        return values, first, kinds.astype(np.int64)
    place = np.full(span, -1, np.int64)
    place[numbers[::-1] - low] = np.arange(len(numbers))[::-1]
    values = np.flatnonzero(place >= 0)
    first = place[values]
    place[values] = np.arange(len(values))
    return values + low, first, place[numbers - low]


def pack(labels: Floats) -> tuple[Floats, Ints]:
    """The labels (U, R), NaN for none, pushed together: (U, L) for at most L of them on a unit.

    In a crowd each person labels few units, and most of (U, R) is empty. With them come the places
    of each rater's labels, (U, R), -1 where there is none.
    """
    there = np.isfinite(labels)
    place = np.where(there, there.cumsum(axis=1) - 1, -1)
    packed = np.full((len(labels), max(1, int(place.max(initial=-1)) + 1)), np.nan)
    unit, rater = np.nonzero(there)
    packed[unit, place[unit, rater]] = labels[unit, rater]
    return packed, place


def normal_quantile(p: float | list[float] | Floats) -> Floats:
    """The z below which a standard normal lies with probability p, elementwise."""
    z: Floats = special.ndtri(p)
    return z


def normal_below(z: Floats) -> Floats:
    """The probability that a standard normal lies below z, elementwise."""
    p: Floats = special.ndtr(z)
    return p


def t_quantile(p: float, df: int) -> float:
    """The value below which Student's t with df degrees of freedom lies with probability p."""
    return float(special.stdtrit(df, p))


def t_below(t: float | Floats, df: int | Ints) -> Floats:
    """The probability that Student's t with df degrees of freedom lies below t, elementwise."""
    p: Floats = special.stdtr(df, t)
    return p


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which Beta(a, b) lies with probability p."""
    return float(special.betaincinv(a, b, p))
