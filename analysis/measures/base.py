"""What a measure is: a declaration, and a function that gives each row of a system a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from analysis.measures.options import Options
from analysis.statistics import (
    Bools,
    Bootstrap,
    Draws,
    Estimate,
    Floats,
    Ints,
    Tally,
    undefined,
)
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


@dataclass(frozen=True)
class Cells:
    """How many cells there are in each row (N,), how many have a rating, and of how many nobody was
    ever asked; a cell in none of the two was asked about in vain."""

    there: Floats
    rated: Floats
    open: Floats

    def of(self, kept: Bools) -> Cells:
        return Cells(self.there[kept], self.rated[kept], self.open[kept])

    def share(self, which: Floats) -> float | None:
        """The share of all cells that some of them are; None where there are none."""
        total = float(self.there.sum())
        return float(which.sum()) / total if total else None


@dataclass(frozen=True)
class Judged:
    """Values (N,), NaN = undefined, that hang on cells which somebody may or may not have rated.

    `cells` are those within the cut. A row is `refused` (N,) where nobody was asked about a cell
    among those that it `needs`, which `why` says in words of its own. `no` and `yes` (N,) are the
    values with all such cells no and with all of them yes, where both are wanted.
    """

    values: Floats
    cells: Cells | None = None
    refused: Bools | None = None
    needs: Cells | None = None
    no: Floats | None = None
    yes: Floats | None = None
    why: str | None = None

    def of(self, kept: Bools) -> Judged:
        """The same of some rows."""
        return Judged(
            self.values[kept],
            None if self.cells is None else self.cells.of(kept),
            None if self.refused is None else self.refused[kept],
            None if self.needs is None else self.needs.of(kept),
            None if self.no is None else self.no[kept],
            None if self.yes is None else self.yes[kept],
            self.why,
        )

    @property
    def reason(self) -> str | None:
        """Why the mean is not known; None where it is.

        The rows that are complete by chance are no sample of all: they tend to be the easy ones.
        """
        if self.refused is None or not self.refused.any():
            return None
        if self.why or self.cells is None or self.needs is None:
            return self.why
        choose = CHOOSE if self.no is None else OF_BOUNDS
        if self.cells.open.any():
            share = percent(self.cells.share(self.cells.open))
            return f"{share} of the cells within the cut were never rated; {choose}"
        share = percent(self.needs.share(self.needs.open))
        return (
            f"{share} of the cells by which the best order is found, or the questions that count, "
            f"were never rated, none of them within the cut; {choose}"
        )


CHOOSE = "choose unrated=bounds, unrated=condensed or unrated=zero"
OF_BOUNDS = "the bounds are with all of them no, and with all of them yes"


def percent(share: float | None) -> str:
    """A share in words, neither 0 nor 100 % unless it is exactly that."""
    whole = 100 * (share or 0.0)
    if 0 < whole < 1:
        return "less than 1 %"
    return "more than 99 %" if 99 < whole < 100 else f"{whole:.0f} %"


Found = Floats | Pooled | Judged
"""A value of each row (N,), NaN = undefined, whose mean is the system's; or sums of them."""


def values_of(found: Found) -> Floats:
    """The values of the rows (N,), NaN = none. Sums have none."""
    if isinstance(found, Pooled):
        raise ValueError("sums over rows have no value of each row")
    return found.values if isinstance(found, Judged) else found


def reason_of(found: Found) -> str | None:
    """Why a mean is not known that hangs on cells which nobody rated; None where it is known."""
    return found.reason if isinstance(found, Judged) else None


def rows_of(found: Found, kept: Bools) -> Found:
    """The same of some rows (N,)."""
    if isinstance(found, Pooled):
        return Pooled(found.sums[kept], found.of)
    return found.of(kept) if isinstance(found, Judged) else found[kept]


@dataclass(frozen=True)
class Measured(Estimate):
    """An estimate with `judged`, the share of the cells within the cut that were rated.

    It is None where there are no such cells. `bounds` are the figure with all cells that nobody
    was asked about no, and with all of them yes.
    """

    judged: float | None = None
    bounds: tuple[float | None, float | None] | None = None

    def as_json(self) -> dict[str, object]:
        told = {} if self.bounds is None else {"bounds": list(self.bounds)}
        return {**super().as_json(), "judged": self.judged, **told}


@dataclass(frozen=True)
class Measure:
    """A measure of a system: its name as the paper writes it, a line on it, and its source.

    `family` names the module of what it is computed from (`of` takes that, and the options);
    `options` are those that it reads. `undefined` says when a system has no value. All values lie
    within `bounds`, and so do their means. `by_oracle` are those whose yardstick is the oracle, so
    that its own value is no result that another could differ from.
    """

    name: str
    family: str
    summary: str
    citation: str
    of: Callable[[Any, Options], Found]
    undefined: str
    options: tuple[str, ...] = ()
    bounds: Bounds = SHARE
    by_oracle: bool = False


def estimate(
    measure: Measure, found: Found, queries: Ints, draws: Draws = None, seed: int = 0
) -> Estimate:
    """A system's value over its rows (N,), which belong to `queries`, with a 95 % interval.

    Values are averaged, with a t interval clustered by queries. It is cut at the measure's bounds,
    of which t knows nothing: what is cut off cannot be true, so that no coverage is lost. Sums are
    resampled by whole queries (BCa). Below ten queries there is no interval.
    """
    if isinstance(found, Pooled):
        return _pooled(measure, found, queries, draws, seed)
    if isinstance(found, Judged):
        return _judged(measure, found, queries)
    return _mean(measure, found, queries)


def _mean(measure: Measure, found: Floats, queries: Ints) -> Estimate:
    made = mean_by_cluster(found, queries, f"mean of {measure.name}")
    if made.value is None:
        return undefined(measure.undefined, 0, f"mean of {measure.name}")
    return _cut(made, made.value, measure.bounds)


def _judged(measure: Measure, found: Judged, queries: Ints) -> Estimate:
    made = _mean(measure, found.values, queries)
    if reason := found.reason:
        made = undefined(reason, 0, made.method)
    bounds = None
    if found.no is not None and found.yes is not None:
        ends = [_mean(measure, each, queries).value for each in (found.no, found.yes)]
        bounds = (ends[0], ends[1])
    if found.cells is None:
        return made
    return Measured(**vars(made), judged=found.cells.share(found.cells.rated), bounds=bounds)


def _cut(made: Estimate, value: float, bounds: Bounds) -> Estimate:
    """An estimate's interval within bounds; the mean of what was observed stays as it is.

    Greedy normalisation can lift alpha-nDCG a hair above 1.
    """
    least, most = bounds
    return made.within(min(least, value), max(most, value))


def _pooled(measure: Measure, found: Pooled, queries: Ints, draws: Draws, seed: int) -> Estimate:
    rows = found.sums.any(axis=1)
    if not rows.any():
        return undefined(measure.undefined, 0, f"{measure.name} of sums")
    tally = Tally.of_sums(found.sums, queries)
    resampled = Bootstrap(tally, draws, seed)
    n = int(np.count_nonzero(rows))
    return resampled.estimate(found.of, n, f"{measure.name} of sums", measure.undefined)
