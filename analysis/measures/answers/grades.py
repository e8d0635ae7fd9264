"""People's grades of answers: faithful, appropriate, and the two in one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.measures.base import Found, Measure, Pooled
from analysis.measures.options import Options
from analysis.statistics import Floats, Value
from analysis.statistics.arrays import ratio, unbatch


@dataclass(frozen=True)
class Grades:
    """Grades 1 to 4 of N answers, (N,) each, NaN = none."""

    faithful: Floats
    appropriate: Floats
    natural: Floats


def grade(of: Grades, options: Options, name: str) -> Floats:
    """The grade of each answer as it is, (N,)."""
    grades: Floats = getattr(of, name)
    return grades


def faithful_and_appropriate(of: Grades, options: Options) -> Found:
    """F+A = 2 F A / (F + A): the mean over answers, (N,), or that of the two means.

    Rosenthal and others 2025 do not say which; their printed 3.0 for the means 3.0 and 3.5 fits
    only the harmonic mean of each answer (that of the means is 3.23), which is the default.
    """
    there = np.isfinite(of.faithful) & np.isfinite(of.appropriate)
    if options.harmonic == "item":
        values = harmonic(of.faithful, of.appropriate)
        return np.where(there, values, np.nan)
    sums = np.column_stack([of.faithful, of.appropriate, np.ones(len(there))])
    return Pooled(np.where(there[:, None], sums, 0.0), _of_means)


def harmonic(one: Floats, other: Floats) -> Floats:
    return ratio(2 * one * other, one + other)


def _of_means(sums: Floats) -> Value:
    faithful, appropriate = (ratio(sums[..., n], sums[..., 2]) for n in (0, 1))
    return unbatch(harmonic(faithful, appropriate))


CITATION = "Rosenthal and others, CLAPnq, 2025"
GRADES = (1.0, 4.0)
WORDS = {
    "faithful": "How far the passages bear the answer out, 1 to 4.",
    "appropriate": "How far the answer meets the question, 1 to 4.",
    "natural": "How naturally the answer reads, 1 to 4.",
}
GRADE_MEASURES = (
    *(
        Measure(name.capitalize(), "grades", words, CITATION, partial(grade, name=name),
                f"no answer was graded {name}", bounds=GRADES)
        for name, words in WORDS.items()
    ),
    Measure("F+A", "grades", "Harmonic mean of faithful and appropriate.", CITATION,
            faithful_and_appropriate, "no answer has both grades", ("harmonic",), GRADES),
)  # fmt: skip
