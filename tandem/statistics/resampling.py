"""Intervals over whole queries: percentile bootstrap and BCa, from tallies of units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from .estimate import (
    Estimate,
    Floats,
    Ints,
    Value,
    defined,
    is_undefined,
    normal_below,
    normal_quantile,
    quantiles,
    t_quantile,
    undefined,
)
from .tally import Resamples, Tally

#: Below this number of queries there is no interval.
MINIMUM_CLUSTERS = 10
#: Above this share of undefined resamples there is no interval.
MAXIMUM_UNDEFINED = 0.05
Interval = Literal["bca", "percentile"]
#: Maps weights of the kinds to a statistic: (P,) to one number, (B, P) to one for each row.
OfWeights = Callable[[Floats], Value]
#: A number of resamples, or existing resamples. None chooses a number by the number of clusters.
Draws = int | Resamples | None
LEVEL = 0.95
RESAMPLES = 2000
#: Below this number of clusters, more resamples are needed, since the level is close to 1.
FEW, RESAMPLES_OF_FEW = 30, 10_000
#: The number of clusters that must differ from the commonest shares of the kinds.
FEWEST_DIFFERING = 5
#: The number of clusters that must hold enough of the rarer labels (`count_informative`).
FEWEST_INFORMATIVE = 5
#: How many queries of unequal size may count as one, at most, in an interval.
MOST_UNEQUAL = 3
#: The most weights that are kept for the next statistic of the same tally, which take 64 MB.
AT_ONCE = 8_000_000
UNDEFINED = "undefined on these labels"
ONE_SIDED = "no interval: undefined or one-sided in many resamples"
NO_WIDTH = "no interval: all resamples agree"
NAMES = {"percentile": "percentile", "bca": "BCa"}


def percentile_interval(values: Floats, level: float = 0.95) -> tuple[float, float] | None:
    """Return the central `level` of the resampled values (B,), or None.

    Undefined resamples (NaN) are left out. There is no interval without values, or if more than 5 %
    are undefined, since the defined resamples are then not representative.
    """
    kept = values[np.isfinite(values)]
    if len(kept) == 0 or len(kept) < (1 - MAXIMUM_UNDEFINED) * len(values):
        return None
    low, high = quantiles(kept, np.array([(1 - level) / 2, (1 + level) / 2]))
    return float(low), float(high)


def estimate(
    function: Callable[[Floats | None], Value],
    weights: Floats | Resamples | None,
    clusters: Ints,
    n: int,
    method: str,
    reason: str = "undefined on these labels",
) -> Estimate:
    """Return the value of `function(None)` with the percentile interval of `function(weights)`.

    `clusters` holds the queries of the units that count. Below ten different queries the interval
    is null and the method says so. `reason` is used if the value is undefined.
    """
    value = float(function(None))
    queries = len(np.unique(clusters))
    if is_undefined(value) or weights is None or queries < MINIMUM_CLUSTERS:
        return estimate_from(value, None, queries, n, method, reason)
    blocks = weights.blocks() if isinstance(weights, Resamples) else [weights]
    resampled = np.concatenate([np.atleast_1d(function(block)) for block in blocks])
    return estimate_from(value, resampled, queries, n, method, reason)


def estimate_from(
    value: float, resampled: Floats | None, queries: int, n: int, method: str, reason: str
) -> Estimate:
    """Return the same estimate from a value and its resamples (B,)."""
    if is_undefined(value):
        return undefined(reason, n, method)
    if queries < MINIMUM_CLUSTERS:
        return defined(value, None, n, f"{method}; {too_few(queries)}")
    if resampled is None:
        return defined(value, None, n, f"{method}; no interval: not resampled")
    interval = percentile_interval(resampled)
    if interval is None:
        return defined(value, None, n, f"{method}; no interval: undefined in many resamples")
    how = f"95 % percentile bootstrap of {queries} queries, {len(resampled)} resamples"
    return defined(value, interval, n, f"{method}; {how}")


def too_unequal(queries: int, effective: float) -> str:
    """Explain that there is no interval, since few queries hold most of the items; or empty.

    `effective` is the `effective_number` of the queries.
    """
    least = max(FEWEST_INFORMATIVE, queries / MOST_UNEQUAL)
    if effective >= least:
        return ""
    return (
        f"no interval: {queries} queries of very unequal sizes count as {effective:.1f}, at least "
        f"{least:.1f} are needed"
    )


def count_queries(queries: int, effective: float) -> str:
    """Return the number of queries for a method, with their `effective_number` if it is smaller."""
    counted = f"{queries} queries"
    return counted if effective > queries - 0.05 else f"{counted}, {effective:.1f} by their sizes"


def too_few(queries: int) -> str:
    """Explain that there are too few queries for an interval."""
    noun = "query" if queries == 1 else "queries"
    return f"no interval: {queries} {noun}, at least {MINIMUM_CLUSTERS} are needed"


def resamples_of(clusters: int, asked: int | None = None) -> int:
    """Return the number of resamples: `asked`, or 2,000, or 10,000 below 30 clusters."""
    usual = RESAMPLES_OF_FEW if clusters < FEW else RESAMPLES
    return usual if asked is None else asked


def expanded_level(clusters: float, level: float = LEVEL) -> float:
    """Return the level 2 Phi(root(n/(n-1)) t((1 + level)/2, n - 1)) - 1 for n clusters.

    The spread of a bootstrap of n clusters is too small by the factor root((n-1)/n), and its
    percentiles are those of a normal instead of a t distribution. At this level, the percentile
    interval of a mean is about its t interval (Hesterberg 2015). n need not be whole. The level is
    1 below two clusters.
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
    """Return the bias-corrected and accelerated interval (Efron 1987), or None.

    `resampled` (B,) are the values on resamples, and `left_out` (C,) the values without one
    cluster, each occurring `times` (C,) times. At 95 %, the ends are the quantiles of the resamples
    at

        Phi(z0 + (z0 + z) / (1 - a (z0 + z))), for z = -1.96 and z = 1.96,

    where z0 is Phi^-1 of the share of resamples below the value (ties count half),
    a = sum d^3 / (6 (sum d^2)^1.5), and d is the mean of `left_out` minus each of its values. None
    if `percentile_interval` is None, if leaving out a cluster makes the value undefined, or if all
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
    low, high = quantiles(kept, normal_below(normal_quantile(below) + shift / scale))
    return float(low), float(high)


def acceleration(left_out: Floats, times: Ints | None = None) -> float:
    """Return a of `bca_interval` from the values without one cluster; 0 if all are equal."""
    weight = np.ones(len(left_out)) if times is None else times.astype(float)
    d = (weight * left_out).sum() / weight.sum() - left_out
    squares = float((weight * d**2).sum())
    return float((weight * d**3).sum() / (6 * squares**1.5)) if squares > 1e-300 else 0.0


@dataclass(frozen=True)
class Bootstrap:
    """Resampled clusters of a tally, and the kind of interval computed from them.

    `draws` is the number of resamples, drawn with `seed`, or existing resamples of the same
    clusters. The interval `bca` is at the `expanded_level` for the number of clusters that the
    statistic depends on, of `informative` clusters, or of the `effective_number` of clusters that
    differ in size, whichever is smallest. `percentile` is the plain
    central 95 %, for comparisons. `left_out` passes values of a single statistic without one
    cluster, in the order of the tally, if they have already been computed.
    """

    tally: Tally
    draws: Draws = None
    seed: int = 0
    interval: Interval = "bca"
    informative: int | None = None
    left_out: Floats | None = None

    @cached_property
    def _kept(self) -> list[Floats]:
        return list(self._blocks())

    def _blocks(self) -> Iterator[Floats]:
        if isinstance(self.draws, Resamples):
            return self.tally.weigh(self.draws)
        return self.tally.resampled(self.resamples, self.seed)

    @property
    def resamples(self) -> int:
        """The number of resamples."""
        if isinstance(self.draws, Resamples):
            return len(self.draws.draws)
        return resamples_of(self.tally.clusters, self.draws)

    def values(self, function: OfWeights) -> Floats:
        """Return the statistic on each resample, (B, ...)."""
        few = self.resamples * self.tally.cells.shape[1] <= AT_ONCE
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
        informative: int | None = None,
        effective: float | None = None,
    ) -> Estimate:
        """Return the value of `function` on the n units, and its interval over the clusters.

        `clusters` is the number of clusters that the statistic depends on (default: all that hold a
        unit). Below ten, or without resamples, there is no interval, and the method says so.
        `informative` is the number of informative clusters if it differs from the bootstrap's, and
        `effective` their `effective_number` if it differs from that of the tally.
        """
        held = None if informative is None else [informative]
        made = self.estimates(
            lambda w: np.asarray(function(w))[..., None],
            n, method, reason, clusters, held, effective,
        )  # fmt: skip
        return made[0]

    def estimates(
        self,
        function: OfWeights,
        n: int,
        method: str,
        reason: str = UNDEFINED,
        clusters: int | None = None,
        informative: Sequence[int] | None = None,
        effective: float | None = None,
        levels: Sequence[float] | None = None,
    ) -> list[Estimate]:
        """Return an estimate for each of the S numbers of a statistic, (..., S).

        `informative` holds the number of informative clusters of each, if they differ, and `levels`
        the levels of their intervals, if these are not 95 %.
        """
        values = np.asarray(function(self.tally.total), float)
        queries = self.tally.clusters if clusters is None else clusters
        # Without their own, the clusters are taken to vary in size like all of the tally.
        number = self._number(queries) if effective is None else effective
        held = [self.informative] * len(values) if informative is None else informative
        rests = [queries if each is None else min(each, queries) for each in held]
        whys = [self._why_none(queries, each, number) for each in rests]
        none: list[tuple[float, float] | None] = [None] * len(values)
        at = [LEVEL] * len(values) if levels is None else levels
        least = [min(each, number) for each in rests]
        ends = none if all(whys) else self._ends(function, values, least, whys, at)
        hows = [self._how(queries, on, number, level) for on, level in zip(rests, at, strict=True)]
        return [
            undefined(reason, n, method)
            if is_undefined(value)
            else defined(value, *_with_method(pair, n, method, how, why))
            for value, pair, how, why in zip(values, ends, hows, whys, strict=True)
        ]

    def around(
        self, value: float, distance: OfWeights, n: int, method: str, informative: int
    ) -> Estimate:
        """Return the estimate of a norm, with the interval value +- reach.

        `value` is the norm of a vector, such as a mean of absolute errors, which noise makes too
        large. `distance` maps weights to the same norm of the vector's change in a resample. The
        reach is the distance that 95 % of resamples do not exceed. By the triangle inequality, the
        interval contains the norm of the true vector if that vector is within reach.
        """
        queries = self.tally.clusters
        on, number = min(informative, queries), self._number(queries)
        if why := self._why_none(queries, on, number):
            return defined(value, None, n, f"{method}; {why}")
        percentile = self.interval == "percentile"
        level = LEVEL if percentile else expanded_level(min(on, number))
        reach = float(np.quantile(self.values(distance), level))
        how = f"within reach of 95 % of resamples: {self._of(queries, on, number)}"
        return defined(value, (value - reach, value + reach), n, f"{method}; {how}")

    def _number(self, queries: int) -> float:
        """Return the `effective_number` of some of the clusters, as if they varied like all."""
        return queries * self.tally.effective / max(self.tally.clusters, 1)

    def _how(self, queries: int, informative: int, effective: float, level: float) -> str:
        of = self._of(queries, informative, effective)
        return f"{100 * level:g} % {NAMES[self.interval]} bootstrap of {of}"

    def _of(self, queries: int, informative: int, effective: float) -> str:
        # The smaller of the two numbers determines the level.
        counted = count_queries(queries, effective if effective < informative else queries)
        fewer = f", {informative} of them informative" if informative < queries else ""
        return f"{counted}{fewer}, {self.resamples} resamples"

    def _why_none(self, clusters: int, informative: int, effective: float) -> str:
        """Explain why no statistic of these clusters has an interval; empty if it may have one."""
        if clusters < MINIMUM_CLUSTERS:
            return too_few(clusters)
        if not self.resamples:
            return "no interval: not resampled"
        if self.tally.differing < FEWEST_DIFFERING:
            return too_alike(self.tally.differing, clusters)
        if informative < FEWEST_INFORMATIVE:
            return too_few_informative(informative, clusters)
        return too_unequal(clusters, effective)

    def _ends(
        self,
        function: OfWeights,
        values: Floats,
        clusters: Sequence[float],
        whys: Sequence[str],
        levels: Sequence[float],
    ) -> list[tuple[float, float] | None]:
        resampled = self.values(function)
        if self.interval == "percentile":
            pairs = zip(resampled.T, levels, strict=True)
            return [percentile_interval(column, level) for column, level in pairs]
        left_out, often = self._without_one(function)
        at = map(expanded_level, clusters, levels)
        return [
            None if why else bca_interval(float(value), column, out, often, level)
            for value, column, out, level, why in zip(
                values, resampled.T, left_out.T, at, whys, strict=True
            )
        ]

    def _without_one(self, function: OfWeights) -> tuple[Floats, Ints]:
        """Return the statistic without each cluster, (C, ...), and how often each occurs."""
        if self.left_out is not None:
            return self.left_out[:, None], self.tally.times
        left, times = zip(*((function(w), t) for w, t in self.tally.without_one()), strict=True)
        return np.concatenate(left), np.concatenate(times)


def too_few_informative(informative: int, clusters: int) -> str:
    """Explain that too few queries are informative for an interval."""
    return (
        f"no interval: {informative} of {clusters} queries hold enough of the rarer labels, "
        f"at least {FEWEST_INFORMATIVE} are needed"
    )


def too_alike(differing: int, clusters: int) -> str:
    """Explain that there is no interval, since nearly all queries have the same labels."""
    verb = "differs" if differing == 1 else "differ"
    return (
        f"no interval: {differing} of {clusters} queries {verb} from the rest, at least "
        f"{FEWEST_DIFFERING} must"
    )


def _with_method(
    ends: tuple[float, float] | None, n: int, method: str, how: str, why: str
) -> tuple[tuple[float, float] | None, int, str]:
    """Add to the method how the interval was computed, or why there is none.

    An interval without width is dropped, since it would suggest certainty.
    """
    if why:
        return None, n, f"{method}; {why}"
    if ends is not None and ends[1] - ends[0] < 1e-12:
        return None, n, f"{method}; {NO_WIDTH}"
    return ends, n, f"{method}; {how if ends else ONE_SIDED}"
