"""What the statistics share: array types, unit weights, and division that may be undefined."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
