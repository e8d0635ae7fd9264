"""What every block needs: the labels of some units, and how their queries are resampled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

import numpy as np

from analysis.frames import VariableFrame
from analysis.statistics import Bools, Interval, Ints, Resamples, resamples_of

JSON = dict[str, Any]

MANY = 60
TOO_MANY = f"over {MANY} different values: a coefficient of categories says nothing"

AT_ONCE = 8_000_000
"""Draws that are kept rather than made anew for each statistic: 64 MB."""


class Drawing(TypedDict):
    """How the library's functions are to resample: their own arguments, by name."""

    draws: int | Resamples
    seed: int
    interval: Interval


def drawing(clusters: Ints, asked: int | None, seed: int) -> Drawing:
    """Draws of whole queries for several statistics, as many as were asked for.

    None: as many as so many queries get. Where each unit is a query of its own, or the draws would
    fill the memory, the statistics make them: from the same seed, so that they are the same.
    """
    queries = len(np.unique(clusters))
    resamples = resamples_of(queries, asked)
    alone, large = queries == len(clusters), resamples * queries > AT_ONCE
    draws = resamples if alone or large else Resamples.draw(clusters, resamples, seed)
    return {"draws": draws, "seed": seed, "interval": "bca"}


@dataclass(frozen=True)
class Sample:
    """The units of a variable that a block is about, and how often their queries are resampled."""

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
        return self.frame.scale.level != "nominal"

    @property
    def is_continuous(self) -> bool:
        """Whether there are so many values that tables of them would be large and mean nothing."""
        return self.k > MANY

    @property
    def span(self) -> float:
        """How far two ratings can lie apart; infinite where the ends of the scale are not known."""
        if self.frame.scale.level != "ordinal":
            return math.inf
        return float(np.ptp(self.frame.scale.values())) if self.frame.scale.categories else math.inf

    @cached_property
    def drawing(self) -> Drawing:
        return drawing(self.clusters, self.resamples, self.seed)

    def only(self, units: Bools) -> Sample:
        """The same for some of the units; their queries alone are then resampled."""
        return Sample(self.frame.only(np.flatnonzero(units)), self.resamples, self.seed)
