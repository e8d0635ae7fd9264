"""What every block needs: the labels of some units, with their resampled weights at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.frames import VariableFrame
from analysis.statistics import (
    Bools,
    Estimate,
    Floats,
    Ints,
    Resamples,
    Value,
    counts_of,
    estimate,
    reason_undefined,
)

JSON = dict[str, Any]

MANY = 60
TOO_MANY = f"over {MANY} different values: a coefficient of categories says nothing"

AT_ONCE = 8_000_000
"""Weights that are kept rather than made anew for each statistic: 64 MB."""


@dataclass(frozen=True)
class Sample:
    """The units of a variable that a block is about, and the draws of their queries."""

    frame: VariableFrame
    resamples: Resamples

    @property
    def clusters(self) -> Ints:
        return self.frame.units.query

    @property
    def k(self) -> int:
        return max(1, len(self.frame.scale.categories))

    @property
    def is_continuous(self) -> bool:
        """Whether there are so many values that tables of them would be large and mean nothing."""
        return self.k > MANY

    @cached_property
    def weights(self) -> Floats | Resamples:
        small = len(self.resamples.draws) * len(self.resamples.index) <= AT_ONCE
        return self.resamples.weights() if small else self.resamples

    def only(self, units: Bools) -> Sample:
        chosen = np.flatnonzero(units)
        return Sample(self.frame.only(chosen), self.resamples.only(chosen))

    def estimate(
        self,
        function: Callable[[Floats | None], Value],
        enter: Bools,
        method: str,
        reason: str = "undefined on these labels",
    ) -> Estimate:
        """The estimate of `function`, its interval over the queries of the units that enter."""
        n = int(enter.sum())
        return estimate(function, self.weights, self.clusters[enter], n, method, reason)

    def of_counts(
        self,
        function: Callable[[Ints, Floats | None], Value],
        codes: Ints,
        method: str,
        own_only: bool = False,
    ) -> Estimate:
        """The estimate of a coefficient of the counts of labels (U, R).

        `own_only` leaves the categories out that judges alone used, for coefficients of people.
        """
        counts = counts_of(codes, self.k)
        if own_only and self.frame.scale.foreign:
            counts = counts[:, self.frame.scale.own()]
        enter = counts.sum(axis=1) >= 2
        return self.estimate(lambda w: function(counts, w), enter, method, reason_undefined(counts))
