"""What hangs on eta: coverage of contexts and of reports at each threshold, and how they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.measures.coverage.contexts import Contexts
from analysis.measures.coverage.cov import coverage
from analysis.measures.coverage.ratings import Ratings, answers
from analysis.measures.coverage.reports import UNKNOWN, cut_ratings
from analysis.measures.options import CONDENSED, ZERO, Options
from analysis.measures.shares import MISSING
from analysis.statistics import (
    SHARE,
    Bools,
    Draws,
    Estimate,
    Floats,
    Ints,
    correlation_estimates,
    undefined,
)
from analysis.statistics.arrays import ratio
from analysis.statistics.bootstrap import mean_by_cluster

NOTHING = "no sub-question counts, or none of them was rated"


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

    Means are over contexts and reports, with a t interval clustered by queries; tau is over the
    pairs of both, queries resampled whole. The number of questions is None where cells that nobody
    rated hide which of them count.
    """

    eta: float
    questions: int | None
    context: Estimate
    report: Estimate
    tau: Estimate


def threshold_table(
    ratings: Ratings,
    contexts: Sequence[Contexts],
    reports: Sequence[RatedReports],
    etas: Sequence[float],
    options: Options,
    draws: Draws = None,
    seed: int = 0,
) -> list[AtThreshold]:
    """Ju and others 2025, table 2: S systems' contexts, and the ratings of their reports.

    The questions are filtered anew at each threshold; the answers in `contexts` are not looked at.
    """
    return [_at(ratings, contexts, reports, replace(options, eta=eta), draws, seed) for eta in etas]


def _at(
    ratings: Ratings,
    contexts: Sequence[Contexts],
    reports: Sequence[RatedReports],
    options: Options,
    draws: Draws,
    seed: int,
) -> AtThreshold:
    found = answers(ratings, options)
    read = [each.read(found, options) for each in contexts]
    rated = [coverage(each, options) for each in read]
    kept, hidden = found.questions, False
    if read:
        whole = read[0].condensed(options) if options.unrated == CONDENSED else read[0]
        kept, hidden = whole.counted, bool(whole.unsettled.any())
    lost = next(filter(None, (each.reason for each in rated)), None)
    unknown = UNKNOWN if hidden else None
    x = np.concatenate([*(each.values for each in rated), np.zeros(0)])
    y = np.concatenate([*(_of_report(each, kept, options) for each in reports), np.zeros(0)])
    queries = np.tile(np.arange(len(kept)), len(contexts))
    about = " of Cov(Z) and Cov(y)"
    context, report = _mean(x, queries, "Cov(Z)", lost), _mean(y, queries, "Cov(y)", unknown)
    if reason := lost or unknown:
        tau = undefined(reason, 0, f"Kendall's tau-b{about}")
    else:
        tau = correlation_estimates(x, y, queries, ("kendall",), about, draws=draws, seed=seed)[
            "kendall"
        ]
    questions = None if unknown else int(kept.sum())
    return AtThreshold(options.eta, questions, context, report, tau)


def _mean(values: Floats, queries: Ints, name: str, unknown: str | None) -> Estimate:
    if unknown:
        return undefined(unknown, 0, f"mean of {name}")
    made = mean_by_cluster(values, queries, f"mean of {name}")
    if made.value is None:
        return undefined(NOTHING, 0, f"mean of {name}")
    return made.within(*SHARE)


def _of_report(of: RatedReports, kept: Bools, options: Options) -> Floats:
    answered = cut_ratings(of.ratings, options.eta)
    counted = kept & of.asked
    if options.missing != ZERO:
        counted &= answered != MISSING
    return ratio(((answered == 1) & counted).sum(axis=1), counted.sum(axis=1))
