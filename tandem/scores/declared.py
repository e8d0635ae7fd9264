"""Measures that a protocol declares: points of the labels of a report's units, weighed and divided.

TREC's scores of nuggets and of citations are examples. For nuggets with the points s of a label,
the score of all is sum of s / n, that of vital ones the same over these, and the weighted one
(sum of s over vital nuggets + sum of s / 2 over okay ones) / (number of vital ones + half of that
of okay ones) (Pradeep and others 2025). For citations with the points s of their support, weighted
precision is sum of s / number of citations judged, and weighted recall is sum of s / number of the
answer's sentences (Thakur and others 2025).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..statistics import Bools, Bounds, Floats, Ints, majority
from ..statistics.estimate import ratio
from .base import Cells, JudgedValues, count
from .options import BOUNDS, CONDENSED, ZERO, Options

FAILED, NOT_ASKED, NOT_APPLICABLE = -1, -2, -3
"""Codes of units without an answer: it was unreadable, nobody was asked, or a condition not met."""
OPTIONS = ("missing", "unrated", "missing_topics")
UNITS = "units"
SENTENCES = "sentences"
FIRST, BEST, MEAN = "first-per-sentence", "best-per-sentence", "mean-per-sentence"
NO_REPORT = "the system has no report for the query"
NOT_SAMPLED = "nobody was asked about the report"
NO_UNIT = "the report has no unit that counts"
NO_SENTENCE = "the report has no sentence"
NO_WEIGHT = "the weights of its units do not sum to a positive number"
STATES = {
    "failed": "without a readable label",
    "escaped": "with an escape",
    "tied": "with a tie of people",
    "absent": "about a text that the batch lacks",
    "not_asked": "never asked about",
}
"""Why a unit of a report has no points, in words; the last one follows the option `unrated`."""


class Declaration(Protocol):
    """What a protocol says of a measure; see `tandem.protocols.base.DeclaredMeasure`."""

    @property
    def name(self) -> str: ...
    @property
    def scores(self) -> Mapping[str, float]: ...
    @property
    def where(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def weight(self) -> Mapping[str, Mapping[str, float]]: ...
    @property
    def over(self) -> str: ...
    @property
    def denominator(self) -> str: ...
    @property
    def escape(self) -> str: ...
    @property
    def empty(self) -> str: ...


@dataclass(frozen=True)
class ReportUnits:
    """The units (U,) of N reports, those of each report in their order.

    `row` is the report of a unit, and `sentence` its sentence from 1, or 0 if it belongs to none.
    `absent` marks the units that nobody can judge, such as a citation of a passage that the batch
    lacks. `attributes` has the values (U,) of each attribute, empty if a unit has none. `sentences`
    (N,) are the numbers of sentences of the reports, and `queries` (N,) those of their queries.
    Reports that a system `lacks` (N,) stand for a query that it has no report for.
    """

    row: Ints
    sentence: Ints
    absent: Bools
    attributes: Mapping[str, NDArray[np.str_]]
    sentences: Ints
    queries: Ints
    lacks: Bools

    @property
    def rows(self) -> int:
        return len(self.sentences)

    def select(self, kept: Bools) -> ReportUnits:
        """Return the same reports with some of the units (U,)."""
        attributes = {name: values[kept] for name, values in self.attributes.items()}
        return replace(
            self,
            row=self.row[kept],
            sentence=self.sentence[kept],
            absent=self.absent[kept],
            attributes=attributes,
        )


@dataclass(frozen=True)
class UnitLabels:
    """The labels (U, R) of R raters who are one evaluator: people together, or a single rater.

    `codes` are places in `answers`, or FAILED, NOT_ASKED or NOT_APPLICABLE. An answer has one code,
    or a set of codes; `escapes` (A,) are legitimate answers without a category. Labels of several
    people are their most frequent points, without ties, or the mean if they are `numbers`.
    """

    answers: tuple[tuple[str, ...], ...]
    escapes: Bools
    codes: Ints
    numbers: bool = False

    @property
    def asked(self) -> Bools:
        """The units (U,) about which a rater was asked, even if a condition was then not met."""
        return np.asarray((self.codes != NOT_ASKED).any(axis=1))

    @property
    def apply(self) -> Bools:
        """The units (U,) except those whose condition is not met for anybody who was asked."""
        return np.asarray(~self.asked | (self.codes >= FAILED).any(axis=1))

    def select(self, kept: Bools) -> UnitLabels:
        return replace(self, codes=self.codes[kept])


@dataclass(frozen=True)
class Labelled:
    """The units of reports with one evaluator's labels."""

    units: ReportUnits
    labels: UnitLabels


@dataclass(frozen=True)
class ReportValues(JudgedValues):
    """Values of reports (N,) with the `reasons` of those without one, in their order.

    `states` counts the units in reports that were sampled: those with points, and those without by
    STATES.
    """

    reasons: tuple[str | None, ...] = ()
    states: Mapping[str, int] = field(default_factory=dict)


def points_of(measure: Declaration, answers: Sequence[Sequence[str]], escapes: Bools) -> Floats:
    """Return the points of each answer (A,), NaN for an escape that is missing.

    A code without points has none, and a set has the sum of its codes' points. Without any points
    in the declaration, the codes are numbers, and each is its own points.
    """
    own: Mapping[str, float] = measure.scores
    found = [
        (0.0 if measure.escape == ZERO else np.nan)
        if escape
        else sum(own.get(code, 0.0) if own else float(code) for code in codes)
        for codes, escape in zip(answers, escapes.tolist(), strict=True)
    ]
    return np.array(found, float)


def bounds_of(measure: Declaration, codes: Sequence[str], several: bool, unit: str) -> Bounds:
    """Return the least and greatest value of a report: that of 0 and of all points.

    It has no upper bound if several units of a sentence count, but are divided by sentences. With
    weights below 0, or above 1 if sentences divide, it has no bounds.
    """
    points = [measure.scores.get(code, 0.0) if measure.scores else float(code) for code in codes]
    least, most = min(0.0, *points), max(0.0, *points)
    if several:
        least, most = (sum(f(0.0, each) for each in points) for f in (min, max))
    weights = [w for values in measure.weight.values() for w in values.values()]
    by_sentences = measure.denominator == SENTENCES
    if any(w < 0 or (w > 1 and by_sentences) for w in weights):
        return -inf, inf
    if by_sentences and measure.over == UNITS and unit != "sentence":
        return (-inf if least < 0 else 0.0), inf
    return least, most


def declared_values(measure: Declaration, data: Labelled, options: Options) -> ReportValues:
    """Return sum of w s / sum of w over the units of each report, or / the number of its sentences.

    s are the points of a unit's label and w its weight, 1 unless an attribute weighs it. Only units
    whose attributes have one of the values in `where` count, and a unit whose attribute has no
    weight does not. `over` takes one s and w a sentence: those of its first unit, of its best one,
    or the mean of all.

    A unit without points is left out of both sums, with its sentence if no other unit decides what
    that one has. The option `missing` says whether an unreadable label has 0 points, and `unrated`
    the same of a unit that nobody was asked about; a unit about an absent text never has points.
    Under `missing_topics=zero` a system without a report has 0 where another system has a value.
    """
    judged = _Judged.of(measure, data)
    sums = judged.values(options)
    values, reasons = sums.values.copy(), judged.reasons(sums.values)
    if options.missing_topics == ZERO:
        known = np.isin(data.units.queries, data.units.queries[np.isfinite(values)])
        values[data.units.lacks & known] = 0.0
        reasons = [None if np.isfinite(v) else r for v, r in zip(values, reasons, strict=True)]
    return ReportValues(
        **{**vars(sums), "values": values}, reasons=tuple(reasons), states=judged.counts()
    )


@dataclass(frozen=True)
class _Judged:
    """The units that count, with their `points` and `weights`, and the mask (U,) of each state.

    `sampled` (N,) are the reports about which the evaluator was asked, or would have been if they
    had any unit: another report of the query was. `known` are the points that exist.
    """

    measure: Declaration
    units: ReportUnits
    points: Floats
    weights: Floats
    states: Mapping[str, Bools]
    sampled: Bools
    extremes: tuple[float, float]

    @classmethod
    def of(cls, measure: Declaration, data: Labelled) -> _Judged:
        units, labels = data.units, data.labels
        points = points_of(measure, labels.answers, labels.escapes)
        weights = _weights(measure, units)
        kept = _kept(measure, units) & labels.apply & (weights != 0)
        own, chosen = units.select(kept), labels.select(kept)
        joint, states = _joint(points, chosen, own.absent)
        finite = np.append(points[np.isfinite(points)], 0.0)
        extremes = float(finite.min()), float(finite.max())
        sampled = _sampled(units, labels)
        return cls(measure, own, joint, weights[kept], states, sampled, extremes)

    def values(self, options: Options) -> JudgedValues:
        """Return the reports' values by the options `missing` and `unrated`."""
        points, open_ = self.points.copy(), self.states["not_asked"]
        if options.missing == ZERO:
            points[self.states["failed"]] = 0.0
        if options.unrated == ZERO:
            points[open_] = 0.0
        within = self.sampled[self.units.row]
        masks = (within, within & np.isfinite(self.points), within & open_)
        cells = Cells(*(count(each, self.units.row, self.units.rows) for each in masks))
        found = self._divided(points)
        if options.unrated in (ZERO, CONDENSED) or not cells.open.any():
            return JudgedValues(found, cells, noun=UNITS)
        refused = cells.open > 0
        made = JudgedValues(np.where(refused, np.nan, found), cells, refused, cells, noun=UNITS)
        if options.unrated != BOUNDS:
            return made
        no, yes = (self._divided(np.where(open_, end, points)) for end in self.extremes)
        return replace(made, no=no, yes=yes)

    def _divided(self, points: Floats) -> Floats:
        """Return the value of each report (N,) from points (U,), NaN = unknown."""
        units, rows = self.units, self.units.rows
        points, weights, row, sentence = self._per_sentence(points)
        known = np.isfinite(points)
        sums = _sum(np.where(known, weights * points, 0.0), row, rows)
        if self.measure.denominator == SENTENCES:
            below = (units.sentences - _undecided(row, sentence, known, rows)).astype(float)
            nothing = units.sentences == 0
        else:
            below = _sum(np.where(known, weights, 0.0), row, rows)
            nothing = count(np.ones(len(units.row), bool), units.row, rows) == 0
        found = ratio(sums, below)
        if self.measure.empty == ZERO:
            found[nothing] = 0.0
        return np.where(self.sampled, found, np.nan)

    def _per_sentence(self, points: Floats) -> tuple[Floats, Floats, Ints, Ints]:
        """Return points, weights, rows and sentences of what counts once: units, or sentences."""
        units, over = self.units, self.measure.over
        if over == UNITS or not len(points):
            return points, self.weights, units.row, units.sentence
        places = units.row * (int(units.sentence.max()) + 1) + units.sentence
        _, first, group = np.unique(places, return_index=True, return_inverse=True)
        known = np.isfinite(points)
        if over == FIRST:
            chosen, weights = points[first], self.weights[first]
        elif over == BEST:
            chosen, weights = self._best(points, group, len(first))
        else:
            share = _sum(np.where(known, self.weights, 0.0), group, len(first))
            sums = _sum(np.where(known, self.weights * points, 0.0), group, len(first))
            size = count(np.ones(len(group), bool), group, len(first))
            chosen = ratio(sums, share)
            weights = _sum(self.weights, group, len(first)) / size
        return chosen, weights, units.row[first], units.sentence[first]

    def _best(self, points: Floats, group: Ints, groups: int) -> tuple[Floats, Floats]:
        """Return the most points of each group with their weight; NaN if an unknown may be more."""
        known = np.isfinite(points)
        order = np.lexsort((np.where(known, points, -inf), group))
        last = order[np.append(np.diff(group[order]) > 0, True)]
        unknown = count(~known, group, groups) > 0
        best = points[last]
        return np.where(unknown & (best < self.extremes[1]), np.nan, best), self.weights[last]

    def reasons(self, values: Floats) -> list[str | None]:
        """Say of each report (N,) without a value why it has none."""
        units = self.units
        of_rows = {
            name: count(mask, units.row, units.rows).astype(int)
            for name, mask in self.states.items()
        }
        numbers = count(np.ones(len(units.row), bool), units.row, units.rows)
        reasons: list[str | None] = [None] * len(values)
        for n in np.flatnonzero(np.isnan(values)).tolist():
            if units.lacks[n]:
                reasons[n] = NO_REPORT
            elif not self.sampled[n]:
                reasons[n] = NOT_SAMPLED
            elif self.measure.denominator == SENTENCES and not units.sentences[n]:
                reasons[n] = NO_SENTENCE
            elif not numbers[n]:
                reasons[n] = NO_UNIT
            else:
                lost = [f"{c[n]} {STATES[name]}" for name, c in of_rows.items() if c[n]]
                reasons[n] = f"units, of {numbers[n]:.0f}: {', '.join(lost)}" if lost else NO_WEIGHT
        return reasons

    def counts(self) -> dict[str, int]:
        """Count the units of sampled reports: those with points, and the others by state."""
        within = self.sampled[self.units.row]
        found = {"counted": int((within & np.isfinite(self.points)).sum())}
        return found | {name: int((within & mask).sum()) for name, mask in self.states.items()}


def _kept(measure: Declaration, units: ReportUnits) -> Bools:
    kept = np.ones(len(units.row), bool)
    for name, values in measure.where.items():
        kept &= np.isin(_attribute(units, name), list(values))
    return kept


def _weights(measure: Declaration, units: ReportUnits) -> Floats:
    weights = np.ones(len(units.row))
    for name, of in measure.weight.items():
        values, index = np.unique(_attribute(units, name), return_inverse=True)
        weights *= np.array([of.get(value, 0.0) for value in values.tolist()], float)[index]
    return weights


def _attribute(units: ReportUnits, name: str) -> NDArray[np.str_]:
    return units.attributes.get(name, np.full(len(units.row), "", np.str_))


def _joint(points: Floats, labels: UnitLabels, absent: Bools) -> tuple[Floats, dict[str, Bools]]:
    """Return the evaluator's points of each unit (U,), NaN = none, and the mask of each state."""
    codes = labels.codes
    own = np.append(points, np.nan)[np.where(codes >= 0, codes, len(points))]
    voted = np.isfinite(own)
    votes = voted.any(axis=1)
    if labels.numbers:
        joint = ratio(np.where(voted, own, 0.0).sum(axis=1), voted.sum(axis=1))
    else:
        levels = np.unique(own[voted])
        places = np.where(voted, np.searchsorted(levels, np.where(voted, own, 0.0)), -1)
        together, _ = majority(places)
        joint = np.append(levels, np.nan)[np.where(together >= 0, together, len(levels))]
    joint = np.where(absent, np.nan, joint)
    escaped = ~votes & (codes >= 0).any(axis=1)
    failed = ~votes & ~escaped & (codes == FAILED).any(axis=1)
    left = ~absent & np.isnan(joint)
    return joint, {
        "failed": left & failed,
        "escaped": left & escaped,
        "tied": left & votes,
        "absent": absent,
        "not_asked": left & ~votes & ~escaped & ~failed,
    }


def _sampled(units: ReportUnits, labels: UnitLabels) -> Bools:
    """Return the reports (N,) about which the evaluator was asked.

    A report without a unit to ask about counts if another one of its query was asked about.
    """
    own = count(labels.asked, units.row, units.rows) > 0
    bare = count(~units.absent, units.row, units.rows) == 0
    of_query = np.isin(units.queries, units.queries[own])
    sampled: Bools = ~units.lacks & (own | (bare & of_query))
    return sampled


def _undecided(row: Ints, sentence: Ints, known: Bools, rows: int) -> Ints:
    """Count the sentences of each report (N,) that have units, but none with points."""
    numbered = sentence > 0
    if not numbered.any():
        return np.zeros(rows, np.int64)
    places = row[numbered] * (int(sentence.max()) + 1) + sentence[numbered]
    _, first, group = np.unique(places, return_index=True, return_inverse=True)
    lost = count(known[numbered], group, len(first)) == 0
    return np.bincount(row[numbered][first][lost], minlength=rows)


def _sum(values: Floats, row: Ints, rows: int) -> Floats:
    found: Floats = np.bincount(row, values, minlength=rows).astype(float)
    return found
