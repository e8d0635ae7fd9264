"""CRUX's table of thresholds: coverage of contexts and of reports at each eta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..statistics import (
    SHARE,
    Bools,
    Draws,
    Estimate,
    Floats,
    Ints,
    correlation_estimates,
    undefined,
)
from ..statistics.arrays import ratio
from ..statistics.cluster_means import mean_by_cluster
from .base import MISSING
from .contexts import Contexts
from .coverage import UNKNOWN, coverage, cut_ratings
from .options import CONDENSED, ZERO, Options
from .ratings import Ratings, answers

NOTHING = "no sub-question counts, or none of them was rated"


@dataclass(frozen=True)
class RatedReports:
    """One system's report ratings (Q, M), NaN = none; `expected` (Q, M) marks those asked for.

    For a query without a report no rating is expected, so none is missing.
    """

    ratings: Floats
    expected: Bools


@dataclass(frozen=True)
class AtThreshold:
    """Results at one eta: the questions kept, mean Cov(Z) and Cov(y), and tau-b between the two.

    Means are over contexts and reports, with intervals clustered by query. tau is computed over
    the pairs of a context and its report, with whole queries resampled. The number of questions is
    None if unrated cells leave open which of them count.
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
    """Compute table 2 of Ju and others 2025 from S systems' contexts and their reports' ratings.

    The questions are filtered again at each threshold; the answers in `contexts` are not used.
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
    read = [each.with_answers(found, options) for each in contexts]
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
    made = mean_by_cluster(values, queries, f"mean of {name}", SHARE)
    return undefined(NOTHING, 0, f"mean of {name}") if made.value is None else made


def _of_report(data: RatedReports, kept: Bools, options: Options) -> Floats:
    answered = cut_ratings(data.ratings, options.eta)
    counted = kept & data.expected
    if options.missing != ZERO:
        counted &= answered != MISSING
    return ratio(((answered == 1) & counted).sum(axis=1), counted.sum(axis=1))
