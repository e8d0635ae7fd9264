"""Scores of items by rater, and the systems that the items belong to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from analysis.frames import Frame, VariableFrame
from analysis.statistics import Floats, Ints

MEAN = "mean"


@dataclass(frozen=True)
class Scores:
    """A score of each item by each rater, (I, R), NaN where there is none; `people` their mean.

    `majority` (I,) are the scores of people together: those that their most frequent labels give.
    """

    frame: Frame
    labels: VariableFrame
    values: Floats
    queries: Ints
    majority: Floats

    @property
    def people(self) -> Floats:
        columns = self.labels.columns("human")
        return mean_of(self.values[:, columns])

    def only(self, items: Collection[str]) -> Scores:
        """The same with no scores but those of some items, by their keys."""
        kept = np.array([item.key in items for item in self.frame.items], dtype=bool)
        values = np.where(kept[:, None], self.values, np.nan)
        return replace(self, values=values, majority=np.where(kept, self.majority, np.nan))

    def columns(self) -> dict[str, Floats]:
        """The scores by name of rater, and the people's mean under `mean`."""
        counted = self.labels.columns("human") + self.labels.columns("judge")
        named = {self.labels.raters[n].name: self.values[:, n] for n in counted}
        return named | {MEAN: self.people}

    def by_query(self, values: Floats) -> tuple[list[str], Floats]:
        """The systems, and the mean over items (I,) of each query and system, (Q, S)."""
        systems = systems_of(self.frame)
        queries = int(self.queries.max(initial=-1)) + 1
        scored = [items[np.isfinite(values[items])] for items in systems.values()]
        sums, sizes = (
            np.stack([np.bincount(self.queries[items], of[items], queries) for items in scored], 1)
            for of in (values, np.ones(len(values)))
        )
        none = np.full(sums.shape, np.nan)
        return list(systems), np.divide(sums, sizes, out=none, where=sizes > 0)


def mean_of(values: Floats) -> Floats:
    """The mean along the second axis of what is there; NaN where nothing is."""
    there = np.isfinite(values)
    total = np.where(there, values, 0.0).sum(axis=1)
    return np.divide(
        total, there.sum(axis=1), out=np.full(len(values), np.nan), where=there.any(axis=1)
    )


def systems_of(frame: Frame) -> dict[str, Ints]:
    """The numbers of the items of each system, in order of first appearance."""
    found: dict[str, list[int]] = {}
    for n, item in enumerate(frame.items):
        found.setdefault(item.system or "", []).append(n)
    return {system: np.array(items, dtype=np.int64) for system, items in found.items()}
