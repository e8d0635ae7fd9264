"""The declaration of a measure, and estimates of systems' values.

Labels (U,) are 1 = yes, 0 = no, -1 = missing, and `row` (U,) assigns each unit to one of N rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from ..messages import percent
from ..statistics import (
    SHARE,
    Bools,
    Bootstrap,
    Bounds,
    Draws,
    Estimate,
    Floats,
    Ints,
    Tally,
    mean_by_cluster,
    undefined,
)
from ..statistics.estimate import ratio
from ..statistics.resampling import OfWeights
from .options import BOUNDS, CHOOSE, CONDENSED, LEAVE_OUT, ZERO, Options

QUALITY = ("low", "medium", "high")
QUALITY_CUTS = (0.33, 0.66)
AMOUNT: Bounds = (0.0, inf)
OF_BOUNDS = "the bounds assume that all of them are no, and that all are yes"
ROUNDING = 1e-12
YES, NO, MISSING = 1, 0, -1


def grounding_quality(relevant: Floats) -> list[str | None]:
    """Bin shares of relevant passages (N,): low is below .33, medium up to .66, high above .66.

    The bins are those of Sorodoc and others 2025, in whose Figure 6 exactly 66 % is in no bin. None
    if the share is unknown (NaN).
    """
    low, high = QUALITY_CUTS
    return [
        None if np.isnan(x) else QUALITY[int(x >= low) + int(x > high)] for x in relevant.tolist()
    ]


@dataclass(frozen=True)
class Pooled:
    """A measure computed from sums over rows, such as a micro average.

    `sums` (N, S) is each row's part, and `of` maps their totals (..., S) to values (...). `sizes`
    (N,) say how much each row counts in the value; None if all count the same.
    """

    sums: Floats
    of: OfWeights
    sizes: Floats | None = None


@dataclass(frozen=True)
class Cells:
    """Numbers of cells in each row, (N,): all, those rated, and those no rater was asked about.

    In the remaining cells, a requested judgement failed.
    """

    total: Floats
    rated: Floats
    open: Floats

    def select(self, kept: Bools) -> Cells:
        return Cells(self.total[kept], self.rated[kept], self.open[kept])

    def share(self, which: Floats) -> float | None:
        """Return the share of these cells among all; None without cells."""
        total = float(self.total.sum())
        return float(which.sum()) / total if total else None


@dataclass(frozen=True)
class JudgedValues:
    """Values (N,), NaN = undefined, that depend on cells with and without ratings.

    `cells` are those within the cut. A row is `refused` (N,) if no rater was asked about one of the
    cells that its value depends on. `why` replaces the usual reason, and `noun` the usual name of
    the cells. If bounds are computed, `no` and `yes` (N,) are the values if all unasked cells were
    no, and if all of them were yes. `least` and `most` (N,) are the smallest and largest values
    among orders of tied passages, if they matter.
    """

    values: Floats
    cells: Cells | None = None
    refused: Bools | None = None
    needs: Cells | None = None
    no: Floats | None = None
    yes: Floats | None = None
    why: str | None = None
    noun: str = "cells within the cut"
    least: Floats | None = None
    most: Floats | None = None

    def select(self, kept: Bools) -> JudgedValues:
        """Return the same for some rows."""
        return JudgedValues(
            self.values[kept],
            None if self.cells is None else self.cells.select(kept),
            None if self.refused is None else self.refused[kept],
            None if self.needs is None else self.needs.select(kept),
            None if self.no is None else self.no[kept],
            None if self.yes is None else self.yes[kept],
            self.why,
            self.noun,
            None if self.least is None else self.least[kept],
            None if self.most is None else self.most[kept],
        )

    @property
    def reason(self) -> str | None:
        """Explain why the mean is unknown. None if it is known.

        Complete rows are not a random sample: they tend to be the easy ones.
        """
        if self.refused is None or not self.refused.any():
            return None
        if self.why or self.cells is None or self.needs is None:
            return self.why
        choose = CHOOSE if self.no is None else OF_BOUNDS
        if self.cells.open.any():
            share = percent(self.cells.share(self.cells.open))
            return f"{share} of the {self.noun} were never rated; {choose}"
        share = percent(self.needs.share(self.needs.open))
        return (
            f"{share} of the cells by which the best order is found, or the questions that count, "
            f"were never rated, none of them within the cut; {choose}"
        )


MeasureValues = Floats | Pooled | JudgedValues
"""A value of each row (N,), NaN = undefined, whose mean is the system's; or sums over rows."""


def values_of(found: MeasureValues) -> Floats:
    """Return the values of the rows (N,), NaN = none. Raises ValueError for sums."""
    if isinstance(found, Pooled):
        raise ValueError("sums over rows have no value of each row")
    return found.values if isinstance(found, JudgedValues) else found


def reason_of(found: MeasureValues) -> str | None:
    """Explain why a mean that depends on unrated cells is unknown; None if it is known."""
    return found.reason if isinstance(found, JudgedValues) else None


def rows_of(found: MeasureValues, kept: Bools) -> MeasureValues:
    """Return the same for some rows (N,)."""
    if isinstance(found, Pooled):
        sizes = None if found.sizes is None else found.sizes[kept]
        return Pooled(found.sums[kept], found.of, sizes)
    return found.select(kept) if isinstance(found, JudgedValues) else found[kept]


def placed(found: MeasureValues, at: Ints, number: int) -> MeasureValues:
    """Return rows (N,) at their places `at` (N,) among this number of rows; others have no value.

    Raises ValueError for sums.
    """
    if not isinstance(found, JudgedValues):
        values: Floats = _filled(values_of(found), at, number, np.nan)
        return values

    def filled(of: Any, fill: float = np.nan) -> Any:
        return None if of is None else _filled(of, at, number, fill)

    def counted(of: Cells | None) -> Cells | None:
        return of and Cells(filled(of.total, 0.0), filled(of.rated, 0.0), filled(of.open, 0.0))

    return replace(
        found,
        values=filled(found.values),
        cells=counted(found.cells),
        needs=counted(found.needs),
        refused=filled(found.refused, False),
        **{name: filled(getattr(found, name)) for name in ("no", "yes", "least", "most")},
    )


def _filled(values: Any, at: Ints, number: int, fill: float) -> Any:
    made = np.full(number, fill, values.dtype)
    made[at] = values
    return made


@dataclass(frozen=True)
class MeasureEstimate(Estimate):
    """An estimate with `judged`, the share of the cells within the cut that were rated.

    `judged` is None without such cells. `bounds` are the values if all cells that no rater was
    asked about were no, and if all of them were yes. `ties` are the smallest and largest values
    among orders of tied passages, if these matter.
    """

    judged: float | None = None
    bounds: tuple[float | None, float | None] | None = None
    ties: tuple[float, float] | None = None

    def as_json(self) -> dict[str, object]:
        bounds = {} if self.bounds is None else {"bounds": list(self.bounds)}
        ties = {} if self.ties is None else {"ties": list(self.ties)}
        return {**super().as_json(), "judged": self.judged, **bounds, **ties}


@dataclass(frozen=True)
class Measure:
    """A measure of a system: its name as the paper writes it, a summary, and its source.

    `of` computes it from the input of its `family` and the options. `options` names the options
    that it reads. `undefined` says when a system has no value. All values and their means lie
    within `bounds`. `by_oracle` marks measures relative to the oracle. The oracle's own value of
    such a measure is not a result to compare systems with. `variables` are those whose labels it is
    made of; none if it needs only texts.
    """

    name: str
    family: str
    summary: str
    citation: str
    of: Callable[[Any, Options], MeasureValues]
    undefined: str
    options: tuple[str, ...] = ()
    bounds: Bounds = SHARE
    by_oracle: bool = False
    variables: tuple[str, ...] = ()


def estimate(
    measure: Measure, found: MeasureValues, queries: Ints, draws: Draws = None, seed: int = 0
) -> Estimate:
    """Estimate a system's value over its rows (N,), which belong to `queries`, at 95 %.

    Values are averaged, with the interval of `mean_by_cluster` for the measure's bounds. Sums are
    resampled by whole queries (BCa). Below ten queries there is no interval.
    """
    if isinstance(found, Pooled):
        return _pooled(measure, found, queries, draws, seed)
    if isinstance(found, JudgedValues):
        return _judged_estimate(measure, found, queries)
    return _mean(measure, found, queries)


def _mean(measure: Measure, found: Floats, queries: Ints) -> Estimate:
    # A mean may be outside: greedy normalisation can raise alpha-nDCG slightly above 1.
    made = mean_by_cluster(found, queries, f"mean of {measure.name}", measure.bounds)
    if made.value is None:
        return undefined(measure.undefined, 0, f"mean of {measure.name}")
    return made


def _judged_estimate(measure: Measure, found: JudgedValues, queries: Ints) -> Estimate:
    made = _mean(measure, found.values, queries)
    if reason := found.reason:
        made = undefined(reason, 0, made.method)
    bounds = None
    if found.no is not None and found.yes is not None:
        ends = [_mean(measure, each, queries).value for each in (found.no, found.yes)]
        bounds = (ends[0], ends[1])
    if found.cells is None:
        return made
    judged = found.cells.share(found.cells.rated)
    return MeasureEstimate(**vars(made), judged=judged, bounds=bounds, ties=_ties(found, made))


def _ties(found: JudgedValues, made: Estimate) -> tuple[float, float] | None:
    """Return the means of the smallest and largest values among orders, if they differ."""
    if made.value is None or found.least is None or found.most is None:
        return None
    least, most = (float(np.nanmean(each)) for each in (found.least, found.most))
    return (least, most) if most - least > ROUNDING else None


def _pooled(measure: Measure, found: Pooled, queries: Ints, draws: Draws, seed: int) -> Estimate:
    rows = found.sums.any(axis=1)
    if not rows.any():
        return undefined(measure.undefined, 0, f"{measure.name} of sums")
    tally = Tally.of_sums(found.sums, queries, found.sizes)
    resampled = Bootstrap(tally, draws, seed)
    n = int(np.count_nonzero(rows))
    return resampled.estimate(found.of, n, f"{measure.name} of sums", measure.undefined)


def share(labels: Ints, row: Ints, rows: int, missing: str = LEAVE_OUT) -> Floats:
    """Return the share of yes among the units of each row, (N,).

    Missing labels are left out of the denominator, or count as a no under `zero`. NaN without
    units.
    """
    counted = np.ones(len(labels), bool) if missing == ZERO else labels != MISSING
    return ratio(count(labels == YES, row, rows), count(counted, row, rows))


def by_unrated(
    labels: Ints,
    unasked: Bools,
    row: Ints,
    rows: int,
    options: Options,
    noun: str,
    value: Callable[[Ints, Bools], Floats],
) -> MeasureValues:
    """Compute a value of each row by the option `unrated`, (N,).

    `unasked` (U,) are the units that no rater was asked about, called `noun` in the reason, and
    their `labels` (U,) are missing. `value` computes the rows' values from the labels and the units
    that count (U,). A row without any asked unit was not sampled and counts none.
    """
    asked = ~unasked
    if asked.all():
        return value(labels, asked)
    sampled = (count(asked, row, rows) > 0)[row]
    parts = (sampled, asked & (labels != MISSING), sampled & unasked)
    cells = Cells(*(count(which, row, rows) for which in parts))
    without = value(labels, asked)
    if options.unrated == CONDENSED:
        return JudgedValues(without, cells, noun=noun)
    no, yes = (value(np.where(unasked, code, labels), sampled) for code in (NO, YES))
    if options.unrated == ZERO:
        return JudgedValues(no, cells, noun=noun)
    refused = cells.open > 0
    values = np.where(refused, np.nan, without)
    found = JudgedValues(values, cells, refused, cells, noun=noun)
    return replace(found, no=no, yes=yes) if options.unrated == BOUNDS else found


def combined(
    one: MeasureValues, other: MeasureValues, of: Callable[[Floats, Floats], Floats]
) -> MeasureValues:
    """Combine the values of two measures in each row, (N,). `of` must not fall with either."""
    judged = [each for each in (one, other) if isinstance(each, JudgedValues)]
    values = of(values_of(one), values_of(other))
    if not judged:
        return values
    cells = Cells(*(sum(parts) for parts in zip(*(_parts(each) for each in judged), strict=True)))
    known = [np.isfinite(values_of(each)) | _refused(each) for each in (one, other)]
    refused = (_refused(one) | _refused(other)) & known[0] & known[1]
    no, yes = (of(_end(one, name), _end(other, name)) for name in ("no", "yes"))
    found = JudgedValues(values, cells, refused, cells, noun=judged[0].noun)
    return found if judged[0].no is None else replace(found, no=no, yes=yes)


def _parts(found: JudgedValues) -> tuple[Floats, Floats, Floats]:
    assert found.cells is not None
    return found.cells.total, found.cells.rated, found.cells.open


def _end(found: MeasureValues, name: str) -> Floats:
    """Return a bound of the values (N,), or the values themselves if they have none."""
    end: Floats | None = getattr(found, name, None)
    return values_of(found) if end is None else end


def _refused(found: MeasureValues) -> Bools:
    refused = found.refused if isinstance(found, JudgedValues) else None
    return np.zeros(len(values_of(found)), bool) if refused is None else refused


def every(labels: Ints, row: Ints, rows: int, missing: str = LEAVE_OUT) -> Floats:
    """Return 1 if all units of a row are yes, else 0, (N,); NaN for a row without units.

    A row with a missing label is left out (NaN), even if another label is a no. Such rows can be
    known to fail, but never to pass, so counting the known failures would lower the share. With
    `zero`, a missing label is a no.
    """
    units = count(np.ones(len(labels), bool), row, rows)
    undecided = units == 0
    if missing != ZERO:
        undecided |= count(labels == MISSING, row, rows) > 0
    return np.where(undecided, np.nan, (count(labels == YES, row, rows) == units).astype(float))


def both(one: Floats, other: Floats) -> Floats:
    """Return 1 if both rows' values are 1, NaN if one is unknown, else 0."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, (one == 1) & (other == 1))


def count(which: Bools, row: Ints, rows: int) -> Floats:
    """Count the units of each row that are among `which`, (N,)."""
    return np.bincount(row[which], minlength=rows).astype(float)


def known_labels(labels: Ints, asked: Bools, missing: str = LEAVE_OUT) -> Floats:
    """Return labels of rows as numbers (N,), NaN if missing.

    With `zero`, a missing label is a no if it was `asked` for (N,). Other missing labels stay NaN,
    since no judgement failed.
    """
    values = np.where(labels == MISSING, np.nan, labels.astype(float))
    return np.where(asked & np.isnan(values), 0.0, values) if missing == ZERO else values
