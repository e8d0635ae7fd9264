"""Section 4.3 of CRUX: precision and recall of each judge's ratings at η, on both sides.

People's labels are the truth: their ratings cut at the same η, or their yes and no, which hold at
the paper's own η alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.papers.base import Cell, Column, Grid, as_cell, empty, missing
from analysis.papers.coverage import YES_NO_ETA, DataSet, data_sets
from analysis.papers.material import Material, judges, labels_by
from analysis.papers.sources import CampaignFacts
from tandem.labels.frame import Frame, VariableFrame
from tandem.statistics import Bools, Bootstrap, Floats, Ints, Tally, Value
from tandem.statistics.estimate import ratio, unbatch

ETAS = (YES_NO_ETA, 5.0)
RATING, YES_NO, YES = "rating", "answerable", "yes"
HEADS = ("Precision", "Recall")
COLUMNS = tuple(Column(f"{side}: {head}") for side in ("answerable", "not") for head in HEADS)
# Hits over all the judge's labels, and over all people's labels, on either side.
OVER = ((0, (0, 2)), (0, (0, 1)), (3, (1, 3)), (3, (2, 3)))
Truth = tuple[Ints, Bools]
"""The units that a person labelled, as rows of the judge's variable, and the sides (N,) of them."""


def threshold_grids(material: Material) -> Iterator[Grid]:
    """Yield a grid for passages and one for reports, of each data set at each η."""
    for data in data_sets(material):
        for eta in ETAS:
            caption = f"{data.name}: passages cut at η = {eta:g}"
            if data.passages is None:
                yield empty(caption, COLUMNS, data.no_ratings("a judge"), "Judge")
            else:
                yield _grid(data, data.passages, caption, eta)
        for eta in ETAS if data.reports is not None else ():
            assert data.reports is not None
            yield _grid(data, data.reports, f"{data.name}: reports cut at η = {eta:g}", eta)


def _grid(data: DataSet, campaign: CampaignFacts, caption: str, eta: float) -> Grid:
    frame, where = data.material.frame(campaign), data.material.named(campaign)
    rating = frame.variables.get(RATING)
    found = [] if rating is None else [(by, labels_by(rating, by)) for by in judges(frame)]
    rows = tuple(
        (by, _cells(data, _Compared(frame, rating, by, labels.values, where), eta))
        for by, labels in found
        if labels is not None and rating is not None
    )
    if not rows:
        return empty(caption, COLUMNS, f"no judge rated in {where}", "Judge")
    return Grid(caption, COLUMNS, rows, stub="Judge")


@dataclass(frozen=True)
class _Compared:
    """A judge's ratings (U,) of the units of a variable, NaN = none, beside people's labels."""

    frame: Frame
    rating: VariableFrame
    judge: str
    values: Floats
    where: str

    def truths(self, eta: float) -> tuple[list[Truth], bool]:
        """Return people's labels, and whether yes and no were left out, which have another η."""
        found: list[Truth] = []
        ratings, answers = self.rating, self.frame.variables.get(YES_NO)
        place = {name: n for n, name in enumerate(ratings.units.names)}
        refused = False
        for column in ratings.columns("human"):
            if rated := _sides_of(ratings, column, place, ratings.scale.values() >= eta):
                found.append(rated)
                continue
            said = answers and _sides_of(answers, column, place, _is_yes(answers))
            if said and eta == YES_NO_ETA:
                found.append(said)
            refused |= bool(said) and eta != YES_NO_ETA
        return found, refused


def _is_yes(answers: VariableFrame) -> Bools:
    return np.array([code == YES for code in answers.scale.categories], bool)


def _sides_of(
    labels: VariableFrame, column: int, place: Mapping[tuple[str, str, str], int], upper: Bools
) -> Truth | None:
    """Return a person's labels of rated units, and which are on the upper side; None if none."""
    known = [
        (place[name], upper[code])
        for name, code in zip(labels.units.names, labels.codes[:, column].tolist(), strict=True)
        if code >= 0 and name in place
    ]
    if not known:
        return None
    units, sides = zip(*known, strict=True)
    return np.array(units, np.int64), np.array(sides, bool)


def _cells(data: DataSet, compared: _Compared, eta: float) -> tuple[Cell, ...]:
    """Return precision and recall against each person's labels, on both sides of η."""
    truths, refused = compared.truths(eta)
    counts, queries = [np.zeros((0, 4), bool)], [np.zeros(0, np.int64)]
    for units, human in truths:
        known = np.isfinite(compared.values[units])
        other: Bools = compared.values[units] >= eta
        sides = np.column_stack([h & o for h in (human, ~human) for o in (other, ~other)])
        counts.append(sides[known])
        queries.append(compared.rating.units.query[units][known])
    sums = np.concatenate(counts).astype(float)
    if not len(sums):
        why = f"no person and {compared.judge} labelled the same unit in {compared.where}"
        if refused:
            why = (
                f"people said yes or no in {compared.where}, which holds at η = {YES_NO_ETA:g} "
                f"and cannot be cut at {eta:g}; people who rate can"
            )
        return tuple(missing(why) for _ in OVER)
    options = data.material.options
    tally = Tally.of_sums(sums, np.concatenate(queries))
    bootstrap = Bootstrap(tally, options.resamples, options.seed)
    truth = f"people's labels in {compared.where} as truth"
    return tuple(
        as_cell(bootstrap.estimate(partial(_rate, *over), len(sums), truth, "no such label"))
        for over in OVER
    )


def _rate(hit: int, under: tuple[int, int], sums: Floats) -> Value:
    return unbatch(ratio(sums[..., hit], sums[..., under[0]] + sums[..., under[1]]))
