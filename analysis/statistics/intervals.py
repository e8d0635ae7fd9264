"""Intervals from resampled clusters: percentile and BCa, for whatever rests on a tally."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value
from analysis.statistics.bootstrap import (
    MAXIMUM_UNDEFINED,
    MINIMUM_CLUSTERS,
    Resamples,
    percentile_interval,
    too_few,
)
from analysis.statistics.distributions import normal_below, normal_quantile
from analysis.statistics.estimate import Estimate, defined, is_undefined, undefined
from analysis.statistics.tally import Tally

Interval = Literal["percentile", "bca"]
#: A statistic of the weights of the kinds: (P,) to one number, (B, P) to one for each row.
OfWeights = Callable[[Floats], Value]

RESAMPLES = 2000
#: Weights that are kept for the next statistic of the same tally: 64 MB.
AT_ONCE = 8_000_000
UNDEFINED = "undefined on these labels"
NAMES = {"percentile": "percentile", "bca": "BCa"}


def bca_interval(
    value: float,
    resampled: Floats,
    left_out: Floats,
    times: Ints | None = None,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """The bias-corrected and accelerated interval (Efron 1987), or None.

    `resampled` (B,) are the values on resamples, `left_out` (C,) those with one cluster left out,
    each standing `times` (C,) often. The quantiles are taken at Phi(z0 + (z0 + z)/(1 - a (z0 + z)))
    with z = -+1.96, z0 = Phi^-1 of the share of resamples below the value (ties count half) and
    a = sum d^3 / (6 (sum d^2)^1.5), d being the mean of `left_out` less each of them. None where
    `percentile_interval` is, where leaving a cluster out makes the value undefined, and where all
    resamples lie on one side of the value.
    """
    kept = resampled[np.isfinite(resampled)]
    if len(kept) == 0 or len(kept) < (1 - MAXIMUM_UNDEFINED) * len(resampled):
        return None
    if np.ptp(kept) < 1e-12:
        return float(kept.min()), float(kept.max())
    below = ((kept < value - 1e-12).mean() + (kept <= value + 1e-12).mean()) / 2
    if not np.isfinite(left_out).all() or not 0 < below < 1:
        return None
    shift = normal_quantile(below) + normal_quantile([(1 - level) / 2, (1 + level) / 2])
    scale = 1 - acceleration(left_out, times) * shift
    if (scale <= 0).any():
        return None
    low, high = np.quantile(kept, normal_below(normal_quantile(below) + shift / scale))
    return float(low), float(high)


def acceleration(left_out: Floats, times: Ints | None = None) -> float:
    """sum d^3 / (6 (sum d^2)^1.5) of the values with one cluster left out; 0 where all are one."""
    weight = np.ones(len(left_out)) if times is None else times.astype(float)
    d = np.average(left_out, weights=weight) - left_out
    squares = float((weight * d**2).sum())
    return float((weight * d**3).sum() / (6 * squares**1.5)) if squares > 1e-300 else 0.0


@dataclass(frozen=True)
class Bootstrap:
    """Resampled clusters of a tally, and the kind of interval that is made from them.

    `draws` is how many resamples are made, with `seed`, or resamples of the same clusters.
    """

    tally: Tally
    draws: int | Resamples = RESAMPLES
    seed: int = 0
    interval: Interval = "percentile"

    @cached_property
    def _kept(self) -> list[Floats]:
        return list(self._blocks())

    def _blocks(self) -> Iterator[Floats]:
        if isinstance(self.draws, Resamples):
            return self.tally.drawn(self.draws)
        return self.tally.resampled(self.draws, self.seed)

    @property
    def resamples(self) -> int:
        """How many there are."""
        return len(self.draws.draws) if isinstance(self.draws, Resamples) else self.draws

    def values(self, function: OfWeights) -> Floats:
        """The statistic on each resample, (B, ...)."""
        few = self.resamples * self.tally.table.shape[1] <= AT_ONCE
        return np.concatenate(
            [function(block) for block in (self._kept if few else self._blocks())]
        )

    def estimate(
        self,
        function: OfWeights,
        n: int,
        method: str,
        reason: str = UNDEFINED,
        clusters: int | None = None,
    ) -> Estimate:
        """The value of `function` on the n units, and its interval over the clusters.

        `clusters` is how many of them the statistic rests on (default: all that hold a unit); below
        ten, or without resamples, there is no interval, and the method says so.
        """
        made = self.estimates(
            lambda w: np.asarray(function(w))[..., None], n, method, reason, clusters
        )
        return made[0]

    def estimates(
        self,
        function: OfWeights,
        n: int,
        method: str,
        reason: str = UNDEFINED,
        clusters: int | None = None,
    ) -> list[Estimate]:
        """The same for a statistic of several numbers, (..., S): an estimate for each."""
        values = np.asarray(function(self.tally.total), float)
        queries = self.tally.clusters if clusters is None else clusters
        why = too_few(queries) if queries < MINIMUM_CLUSTERS else ""
        why = why or ("" if self.resamples else "no interval: not resampled")
        ends = [None] * len(values) if why else self._ends(function, values)
        name = NAMES[self.interval]
        how = f"95 % {name} bootstrap of {queries} queries, {self.resamples} resamples"
        none = "no interval: undefined or one-sided in many resamples"
        return [
            undefined(reason, n, method)
            if is_undefined(value)
            else defined(value, pair, n, f"{method}; {why or (how if pair else none)}")
            for value, pair in zip(values, ends, strict=True)
        ]

    def _ends(self, function: OfWeights, values: Floats) -> list[tuple[float, float] | None]:
        resampled = self.values(function)
        if self.interval == "percentile":
            return [percentile_interval(column) for column in resampled.T]
        left, times = zip(*((function(w), t) for w, t in self.tally.without_one()), strict=True)
        left_out, often = np.concatenate(left), np.concatenate(times)
        return [
            bca_interval(float(value), column, out, often)
            for value, column, out in zip(values, resampled.T, left_out.T, strict=True)
        ]
