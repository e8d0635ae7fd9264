"""What a measure is: a declaration, and a function that gives each row of a system a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from analysis.measures.options import Options
from analysis.statistics import Bootstrap, Estimate, Floats, Ints, Resamples, Tally, undefined
from analysis.statistics.bootstrap import mean_by_cluster
from analysis.statistics.intervals import OfWeights


@dataclass(frozen=True)
class Pooled:
    """A measure that is made of sums over rows, such as a micro average.

    `sums` (N, S) are what each row gives, `of` goes from their totals (..., S) to values (...).
    """

    sums: Floats
    of: OfWeights


Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
AMOUNT: Bounds = (0.0, inf)

Found = Floats | Pooled
"""A value of each row (N,), NaN = undefined, whose mean is the system's; or sums of them."""


@dataclass(frozen=True)
class Measure:
    """A measure of a system: its name as the paper writes it, a line on it, and its source.

    `family` names the module of what it is computed from (`of` takes that, and the options);
    `options` are those that it reads. `undefined` says when a system has no value. All values lie
    within `bounds`, and so do their means.
    """

    name: str
    family: str
    summary: str
    citation: str
    of: Callable[[Any, Options], Found]
    undefined: str
    options: tuple[str, ...] = ()
    bounds: Bounds = SHARE


def estimate(
    measure: Measure, found: Found, queries: Ints, draws: int | Resamples = 2000, seed: int = 0
) -> Estimate:
    """A system's value over its rows (N,), which belong to `queries`, with a 95 % interval.

    Values are averaged, with a t interval clustered by queries. It is cut at the measure's bounds,
    of which t knows nothing: what is cut off cannot be true, so that no coverage is lost. Sums are
    resampled by whole queries, BCa below thirty of them. Below ten queries there is no interval.
    """
    if isinstance(found, Pooled):
        return _pooled(measure, found, queries, draws, seed)
    made = mean_by_cluster(found, queries, f"mean of {measure.name}")
    if made.value is None:
        return undefined(measure.undefined, 0, f"mean of {measure.name}")
    return _cut(made, made.value, measure.bounds)


def _cut(made: Estimate, value: float, bounds: Bounds) -> Estimate:
    """An estimate's interval within bounds; the mean of what was observed stays as it is.

    Greedy normalisation can lift alpha-nDCG a hair above 1.
    """
    least, most = bounds
    return made.within(min(least, value), max(most, value))


def _pooled(
    measure: Measure, found: Pooled, queries: Ints, draws: int | Resamples, seed: int
) -> Estimate:
    rows = found.sums.any(axis=1)
    if not rows.any():
        return undefined(measure.undefined, 0, f"{measure.name} of sums")
    tally = Tally.of_sums(found.sums, queries)
    resampled = Bootstrap(tally, draws, seed, "auto")
    n = int(np.count_nonzero(rows))
    return resampled.estimate(found.of, n, f"{measure.name} of sums", measure.undefined)
