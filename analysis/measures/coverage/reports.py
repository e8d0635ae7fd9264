"""Coverage of reports: the share of the sub-questions that the report as the only text answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.measures.base import Found, Judged, Measure
from analysis.measures.options import Options
from analysis.measures.shares import MISSING, NO, YES, share
from analysis.statistics import Bools, Floats, Ints

UNKNOWN = (
    "cells of oracle passages that nobody rated hide which sub-questions count; choose "
    "unrated=condensed or unrated=zero"
)


@dataclass(frozen=True)
class ReportQuestions:
    """The sub-questions of N reports (U,): `answered` is 1, 0, or -1 = missing.

    `row` (U,) is the report of each; `counted` (U,) says which sub-questions are in Q_a, and
    `unsure` (N,) of which reports that is not known, since nobody rated all oracle passages.
    """

    answered: Ints
    row: Ints
    rows: int
    counted: Bools
    unsure: Bools | None = None


def coverage_of_reports(of: ReportQuestions, options: Options) -> Found:
    """Cov(y) = sub-questions that the report answers / sub-questions that count, (N,).

    After Ju and others 2025, section 3. Null questions are none; escapes stay out as missing ones
    do, and so do those that nobody was asked about. NaN where no question is left. It is not known
    where cells of oracle passages that nobody rated hide which sub-questions count.
    """
    values = report_coverage(of, options)
    if of.unsure is None or not of.unsure.any():
        return values
    unsure = of.unsure & (np.bincount(of.row, minlength=of.rows) > 0)
    return Judged(np.where(unsure, np.nan, values), refused=unsure, why=UNKNOWN)


def report_coverage(of: ReportQuestions, options: Options) -> Floats:
    """The coverage of reports of which it is known which sub-questions count, (N,)."""
    counted = of.counted
    return share(of.answered[counted], of.row[counted], of.rows, options.missing)


def cut_ratings(ratings: Floats, eta: float) -> Ints:
    """Ratings (U,) of reports as answers: 1 from eta on, else 0, -1 where there is none (NaN)."""
    with np.errstate(invalid="ignore"):
        answered = np.where(ratings >= eta, YES, NO)
    return np.where(np.isnan(ratings), MISSING, answered).astype(np.int64)


REPORT_COVERAGE = Measure(
    "Cov(y)",
    "reports",
    "Share of the sub-questions that the report answers.",
    "Ju and others, CRUX, 2025",
    coverage_of_reports,
    "no sub-question of the reports was labelled",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle"),
)
