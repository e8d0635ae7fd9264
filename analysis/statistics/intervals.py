"""BCa intervals from resampled clusters, at a level for few of them, of whatever has a tally."""

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
from analysis.statistics.distributions import normal_below, normal_quantile, t_quantile
from analysis.statistics.estimate import Estimate, defined, is_undefined, undefined
from analysis.statistics.tally import Tally

Interval = Literal["bca", "percentile"]
#: How many resamples, or those made before; None: as many as the clusters ask for.
Draws = int | Resamples | None
#: A statistic of the weights of the kinds: (P,) to one number, (B, P) to one for each row.
OfWeights = Callable[[Floats], Value]

LEVEL = 0.95
RESAMPLES = 2000
#: Below so many clusters the level lies so far out that more resamples are needed to find its ends.
FEW, RESAMPLES_OF_FEW = 30, 10_000
#: So many clusters have to hold other shares of the kinds than the commonest of them.
FEWEST_DIFFERING = 5
#: Weights that are kept for the next statistic of the same tally: 64 MB.
AT_ONCE = 8_000_000
UNDEFINED = "undefined on these labels"
ONE_SIDED = "no interval: undefined or one-sided in many resamples"
NO_WIDTH = "no interval: all resamples agree"
NAMES = {"percentile": "percentile", "bca": "BCa"}


def resamples_of(clusters: int, asked: int | None = None) -> int:
    """How many resamples are made: as asked, else 10,000 below 30 clusters and 2,000 from there."""
    usual = RESAMPLES_OF_FEW if clusters < FEW else RESAMPLES
    return usual if asked is None else asked


def expanded_level(clusters: int, level: float = LEVEL) -> float:
    """2 Phi(root(n/(n-1)) t((1 + level)/2, n - 1)) - 1: where `level` lies for n clusters.

    A bootstrap of n clusters spreads by root((n-1)/n) too little and takes the normal for t. At
    this level the percentiles of a mean are about its t interval (Hesterberg 2015). 1 below two.
    """
    if clusters < 2:
        return 1.0
    t = t_quantile((1 + level) / 2, clusters - 1)
    return float(2 * normal_below(np.sqrt(clusters / (clusters - 1)) * np.asarray(t)) - 1)


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

    `draws` is how many resamples are made, with `seed`, or resamples of the same clusters. The
    interval `bca` is at the `expanded_level` of the clusters that a statistic rests on;
    `percentile` is the plain central 95 %, for comparisons.
    """

    tally: Tally
    draws: Draws = None
    seed: int = 0
    interval: Interval = "bca"

    @cached_property
    def _kept(self) -> list[Floats]:
        return list(self._blocks())

    def _blocks(self) -> Iterator[Floats]:
        if isinstance(self.draws, Resamples):
            return self.tally.drawn(self.draws)
        return self.tally.resampled(self.resamples, self.seed)

    @property
    def resamples(self) -> int:
        """How many there are."""
        if isinstance(self.draws, Resamples):
            return len(self.draws.draws)
        return resamples_of(self.tally.clusters, self.draws)

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
        why = self._why_none(queries)
        ends = [None] * len(values) if why else self._ends(function, values, queries)
        of = f"{queries} queries, {self.resamples} resamples"
        how = f"95 % {NAMES[self.interval]} bootstrap of {of}"
        return [
            undefined(reason, n, method)
            if is_undefined(value)
            else defined(value, *_told(pair, n, method, how, why))
            for value, pair in zip(values, ends, strict=True)
        ]

    def _why_none(self, clusters: int) -> str:
        """Why no statistic of these clusters has an interval, or nothing."""
        if clusters < MINIMUM_CLUSTERS:
            return too_few(clusters)
        if not self.resamples:
            return "no interval: not resampled"
        if self.tally.differing < FEWEST_DIFFERING:
            return too_alike(self.tally.differing, clusters)
        return ""

    def _ends(
        self, function: OfWeights, values: Floats, clusters: int
    ) -> list[tuple[float, float] | None]:
        resampled = self.values(function)
        if self.interval == "percentile":
            return [percentile_interval(column) for column in resampled.T]
        left, times = zip(*((function(w), t) for w, t in self.tally.without_one()), strict=True)
        left_out, often = np.concatenate(left), np.concatenate(times)
        level = expanded_level(clusters)
        return [
            bca_interval(float(value), column, out, often, level)
            for value, column, out in zip(values, resampled.T, left_out.T, strict=True)
        ]


def too_alike(differing: int, clusters: int) -> str:
    """Why there is no interval where nearly all queries hold one and the same."""
    verb = "differs" if differing == 1 else "differ"
    return (
        f"no interval: {differing} of {clusters} queries {verb} from the rest, at least "
        f"{FEWEST_DIFFERING} must"
    )


def _told(
    ends: tuple[float, float] | None, n: int, method: str, how: str, why: str
) -> tuple[tuple[float, float] | None, int, str]:
    """The interval with the method's words; one without width says nothing of what may be."""
    if ends is not None and ends[1] - ends[0] < 1e-12:
        return None, n, f"{method}; {NO_WIDTH}"
    return ends, n, f"{method}; {why or (how if ends else ONE_SIDED)}"
