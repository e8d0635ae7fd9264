"""Samples of units with their queries resampled, and scores by item, for every section."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

import numpy as np

from tandem.grouping import grouped

from ..statistics import (
    MOST_SETS,
    SHARE,
    UNBOUNDED,
    Bools,
    Bounds,
    Estimate,
    Floats,
    Interval,
    Ints,
    Resamples,
    resamples_of,
)
from .facts import Scale
from .frame import Frame, VariableFrame

MAX_CATEGORIES = 60
TOO_MANY = f"over {MAX_CATEGORIES} different values: a coefficient of categories says nothing"

AT_ONCE = 8_000_000
"""The maximum size of draws that statistics share instead of drawing again: 64 MB."""
MEAN = "mean"


class ResamplingArguments(TypedDict):
    """Arguments of the statistics' functions that say how to resample."""

    draws: int | Resamples
    seed: int
    interval: Interval


def resampling_arguments(clusters: Ints, asked: int | None, seed: int) -> ResamplingArguments:
    """Return shared draws of whole queries for several statistics.

    Without a number of resamples, it depends on the number of queries. If each unit is a query of
    its own, or the draws would fill the memory, each statistic draws itself: equal seeds give equal
    draws.
    """
    queries = len(np.unique(clusters))
    resamples = resamples_of(queries, asked)
    alone, large = queries == len(clusters), resamples * queries > AT_ONCE
    draws = resamples if alone or large else Resamples.draw(clusters, resamples, seed)
    return {"draws": draws, "seed": seed, "interval": "bca"}


@dataclass(frozen=True)
class Sample:
    """The units of a variable in a block, and how their queries are resampled."""

    frame: VariableFrame
    resamples: int | None
    seed: int

    @property
    def clusters(self) -> Ints:
        return self.frame.units.query

    @property
    def k(self) -> int:
        return max(1, len(self.frame.scale.categories))

    @property
    def is_ordered(self) -> bool:
        return self.frame.scale.is_ordered

    @property
    def is_of_sets(self) -> bool:
        """Whether a label is a set of codes."""
        return self.frame.scale.level == "set"

    @property
    def has_too_many_sets(self) -> bool:
        """Whether there are more different sets than a table of their distances can hold."""
        return self.is_of_sets and self.k > MOST_SETS

    @property
    def is_continuous(self) -> bool:
        """Whether there are so many values that tables of them would be large and meaningless."""
        return self.k > MAX_CATEGORIES

    @property
    def bounds(self) -> Bounds:
        """The ends of the scale, infinite if they are unknown."""
        return bounds_of(self.frame.scale)

    @property
    def span(self) -> float:
        """The largest distance of two ratings, or infinity if the ends of the scale are unknown."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def resampling_arguments(self) -> ResamplingArguments:
        return resampling_arguments(self.clusters, self.resamples, self.seed)

    @cached_property
    def pair_means(self) -> dict[tuple[bytes, tuple[str, ...]], Mapping[str, Estimate]]:
        """Means over pairs of people that were computed: judges mostly share one of them."""
        return {}

    def only(self, units: Bools) -> Sample:
        """Return the sample of some of the units; only their queries are resampled."""
        return Sample(self.frame.only(np.flatnonzero(units)), self.resamples, self.seed)


@dataclass(frozen=True)
class Scores:
    """A score of each item by each rater, (I, R), NaN without one; `people` is their mean.

    `majority` (I,) are the scores of people together, from their joint labels. All lie within
    `bounds`, which are infinite if the ends of a scale are unknown. `about` are the variable and
    code that a score summarises, empty for a measure of its own.
    """

    frame: Frame
    labels: VariableFrame
    values: Floats
    queries: Ints
    majority: Floats
    bounds: Bounds = SHARE
    about: tuple[str, ...] = ()

    @property
    def span(self) -> float:
        """The largest difference of two scores, infinite if the ends of the scale are unknown."""
        return self.bounds[1] - self.bounds[0]

    @property
    def people(self) -> Floats:
        columns = self.labels.columns("human")
        return mean_of(self.values[:, columns])

    def only(self, items: Collection[str]) -> Scores:
        """Return the scores of only these items, given by key."""
        kept = np.array([item.key in items for item in self.frame.items], dtype=bool)
        values = np.where(kept[:, None], self.values, np.nan)
        return replace(self, values=values, majority=np.where(kept, self.majority, np.nan))

    def columns(self) -> dict[str, Floats]:
        """Return the scores by name of rater, and the people's mean under `mean`."""
        counted = self.labels.columns("human") + self.labels.columns("judge")
        named = {self.labels.raters[n].name: self.values[:, n] for n in counted}
        return named | {MEAN: self.people}

    def by_query(self, values: Floats) -> tuple[list[str], Floats]:
        """Return the systems, and the mean over items (I,) of each query and system, (Q, S)."""
        queries = int(self.queries.max(initial=-1)) + 1
        scored = [items[np.isfinite(values[items])] for items in self._systems.values()]
        sums, sizes = (
            np.stack([np.bincount(self.queries[items], of[items], queries) for items in scored], 1)
            for of in (values, np.ones(len(values)))
        )
        none = np.full(sums.shape, np.nan)
        return list(self._systems), np.divide(sums, sizes, out=none, where=sizes > 0)

    @cached_property
    def _systems(self) -> dict[str, Ints]:
        return systems_of(self.frame)


def bounds_of(scale: Scale) -> Bounds:
    """Return the ends of a scale, infinite if they are unknown."""
    known = scale.level == "ordinal" or (scale.level == "interval" and scale.declared)
    if not known or not scale.categories:
        return UNBOUNDED
    return float(scale.values().min()), float(scale.values().max())


def mean_of(values: Floats) -> Floats:
    """Return the mean of the defined values along the second axis; NaN without any."""
    there = np.isfinite(values)
    total = np.where(there, values, 0.0).sum(axis=1)
    means: Floats = np.divide(
        total, there.sum(axis=1), out=np.full(len(values), np.nan), where=there.any(axis=1)
    )
    return means


def systems_of(frame: Frame) -> dict[str, Ints]:
    """Return the numbers of the items of each system, in order of first appearance."""
    found = grouped((item.system or "", n) for n, item in enumerate(frame.items))
    return {system: np.array(items, dtype=np.int64) for system, items in found.items()}
