"""What hangs on eta: coverage of contexts and of reports at each threshold, and how they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.measures.coverage.contexts import Contexts, members
from analysis.measures.coverage.cov import cov
from analysis.measures.coverage.ratings import Ratings, answerable, answers
from analysis.measures.coverage.reports import cut_ratings
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import MISSING
from analysis.statistics import Bools, Floats, kendall
from analysis.statistics.arrays import ratio


@dataclass(frozen=True)
class RatedReports:
    """One system's reports as rated: `ratings` (Q, M), NaN = none; `asked` (Q, M) those asked for.

    A query without a report was not asked for, which is no missing judgement.
    """

    ratings: Floats
    asked: Bools


@dataclass(frozen=True)
class AtThreshold:
    """Of one eta: the questions kept, mean Cov(Z) and Cov(y), and Kendall's tau-b between the two.

    A mean is NaN where nothing is defined, tau where fewer than two pairs are or one is constant.
    """

    eta: float
    questions: int
    context: float
    report: float
    tau: float


def threshold_table(
    ratings: Ratings,
    contexts: Sequence[Contexts],
    reports: Sequence[RatedReports],
    etas: Sequence[float],
    options: Options,
) -> list[AtThreshold]:
    """Ju and others 2025, table 2: S systems' contexts, and the ratings of their reports.

    The questions are filtered anew at each threshold; the answers in `contexts` are not looked at.
    """
    return [_at(ratings, contexts, reports, replace(options, eta=eta)) for eta in etas]


def _at(
    ratings: Ratings,
    contexts: Sequence[Contexts],
    reports: Sequence[RatedReports],
    options: Options,
) -> AtThreshold:
    found = answers(ratings, options)
    kept = found.questions
    if contexts:
        oracle = members(contexts[0].oracle, ratings.passages.shape[1])
        kept = answerable(found, oracle, options)
    rated = [cov(replace(each, answers=found, counted=kept), options) for each in contexts]
    x = np.concatenate([*rated, np.zeros(0)])
    y = np.concatenate([*(_of_report(each, kept, options) for each in reports), np.zeros(0)])
    both = np.isfinite(x) & np.isfinite(y) if len(x) == len(y) else np.zeros(0, bool)
    tau = kendall(x[both], y[both]) if both.sum() > 1 else np.nan
    return AtThreshold(options.eta, int(kept.sum()), _mean(x), _mean(y), float(tau))


def _of_report(of: RatedReports, kept: Bools, options: Options) -> Floats:
    answered = cut_ratings(of.ratings, options.eta)
    counted = kept & of.asked
    if options.missing != ZERO:
        counted &= answered != MISSING
    return ratio(((answered == 1) & counted).sum(axis=1), counted.sum(axis=1))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
