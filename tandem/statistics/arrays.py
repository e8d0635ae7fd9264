"""Array types, division with undefined results, and quantiles, for all statistics.

Quantiles use scipy.special. Importing scipy.stats takes as long as all other imports of a command
or the site together, so only the few functions that need its tests import it.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: At level `set`, a label is a set of codes.
Level = Literal["nominal", "ordinal", "interval", "set"]
#: The levels at which categories have an order.
ORDERED: tuple[Level, ...] = ("ordinal", "interval")

LEVELS: tuple[Level, ...] = get_args(Level)

#: One number, or one per resample.
Value = float | Floats


def unit_weights(weights: Floats | None, units: int) -> Floats:
    """Return the weights (B, U), or weights of one (U,) if there are none."""
    return np.ones(units) if weights is None else weights


def ratio(numerator: Value, denominator: Value) -> Floats:
    """Return numerator / denominator, NaN (undefined) if the denominator is not positive."""
    top, bottom = np.asarray(numerator, float), np.asarray(denominator, float)
    result = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=result, where=bottom > 0)
    return result


def check_level(level: str) -> None:
    """Raise ValueError for an unknown level, so that code cannot treat it as the default."""
    if level not in LEVELS:
        raise ValueError(f"the level is {level!r}; give one of {', '.join(LEVELS)}")


def unbatch(values: Floats) -> Value:
    """Return a single number as a float, and an array of resamples unchanged."""
    return float(values) if np.ndim(values) == 0 else values


def unique_integers(numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct numbers in order, their first indices, and the inverse.

    The result is that of `np.unique`, without sorting if the numbers lie close together.
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
    """Pack the labels (U, R), NaN = none, into (U, L), where no unit has more than L labels.

    In a crowd each person labels few units, so most of (U, R) is empty. Also returns the column of
    each rater's label in the result, (U, R), -1 = none.
    """
    there = np.isfinite(labels)
    place = np.where(there, there.cumsum(axis=1) - 1, -1)
    packed = np.full((len(labels), max(1, int(place.max(initial=-1)) + 1)), np.nan)
    unit, rater = np.nonzero(there)
    packed[unit, place[unit, rater]] = labels[unit, rater]
    return packed, place


def quantiles(values: Floats, shares: Floats) -> Floats:
    """Return the quantiles of finite values (n,), like `np.quantile`, with less overhead."""
    ordered, places = np.sort(values), (len(values) - 1) * shares
    lower = np.floor(places)
    before = lower.astype(np.int64)
    low, high = ordered[before], ordered[np.minimum(before + 1, len(values) - 1)]
    part, gap = places - lower, high - low
    return np.where(part < 0.5, low + gap * part, high - gap * (1 - part))


def normal_quantile(p: float | list[float] | Floats) -> Floats:
    """Return the p-quantile of the standard normal distribution, elementwise."""
    z: Floats = special.ndtri(p)
    return z


def normal_below(z: Floats) -> Floats:
    """Return the probability that a standard normal variable lies below z, elementwise."""
    p: Floats = special.ndtr(z)
    return p


def t_quantile(p: float, df: float) -> float:
    """Return the p-quantile of Student's t with df degrees of freedom, not necessarily whole."""
    return float(special.stdtrit(df, p))


def t_below(t: float | Floats, df: int | Ints) -> Floats:
    """Return the probability that Student's t with df degrees of freedom is < t, elementwise."""
    p: Floats = special.stdtr(df, t)
    return p


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the p-quantile of Beta(a, b)."""
    return float(special.betaincinv(a, b, p))
