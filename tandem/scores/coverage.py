"""CRUX's measures: which sub-questions contexts and reports answer, at one eta or at each."""

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
from ..statistics.cluster_means import mean_by_cluster
from ..statistics.estimate import ratio
from .base import AMOUNT, MISSING, NO, YES, JudgedValues, Measure, MeasureValues, share
from .contexts import (
    Contexts,
    Ratings,
    answers,
    in_contexts,
    in_pools,
    of_cells,
    questions_without_failures,
)
from .ir_measures import alpha_ndcg_by_ir_measures, checked
from .options import CONDENSED, IR_MEASURES, ZERO, Options
from .retrieval import discounts, values_at_ranks

ORDERS = 10
"""Orders of passages with equal gains under which the best order is found."""
UNKNOWN = (
    "cells of oracle passages that nobody rated hide which sub-questions count; choose "
    "unrated=condensed or unrated=zero"
)


@dataclass(frozen=True)
class ReportQuestions:
    """The sub-questions of N reports (U,): `answered` is 1, 0, or -1 = missing.

    `row` (U,) is the report of each. `counted` (U,) marks the sub-questions in Q_a, and `unsure`
    (N,) the reports for which Q_a is unknown, since not all oracle passages were rated.
    """

    answered: Ints
    row: Ints
    rows: int
    counted: Bools
    unsure: Bools | None = None


def coverage_of_reports(data: ReportQuestions, options: Options) -> MeasureValues:
    """Return Cov(y) = sub-questions that the report answers / sub-questions that count, (N,).

    After Ju and others 2025, section 3. Null questions do not count. Escapes, missing labels and
    questions that no rater was asked about are left out. NaN without a question. Unknown if unrated
    cells of oracle passages leave open which sub-questions count.
    """
    values = report_coverage(data, options)
    if data.unsure is None or not data.unsure.any():
        return values
    unsure = data.unsure & (np.bincount(data.row, minlength=data.rows) > 0)
    return JudgedValues(np.where(unsure, np.nan, values), refused=unsure, why=UNKNOWN)


def report_coverage(data: ReportQuestions, options: Options) -> Floats:
    """Return the coverage of reports whose counted sub-questions are known, (N,)."""
    counted = data.counted
    return share(data.answered[counted], data.row[counted], data.rows, options.missing)


def cut_ratings(ratings: Floats, eta: float) -> Ints:
    """Cut ratings (U,) of reports to answers: 1 from eta on, else 0, -1 without a rating (NaN)."""
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
    variables=("answerable",),
)


def ranked_coverage(contexts: Contexts, options: Options) -> JudgedValues:
    """Return α-DCG of the context / α-DCG of the best order of all rated passages, to the depth.

    After Clarke and others 2008,

        α-DCG = sum over ranks r of [sum over questions q of a(r, q) (1 - α)^n(r, q)] / log2(r + 1),

    where a(r, q) is 1 if the passage at rank r answers q, and n(r, q) counts the passages above
    rank r that answer q.

    The best order is approximated greedily, passage by passage, since the exact one is too costly
    to compute. Among passages with equal gains the one with the last identifier comes first, which
    affects later gains. Both rules are those of ndeval. If another order of such passages changes
    the value, the smallest and the largest value among ten orders are given beside it. The greedy
    order never gains more than the exact one, so that a value may exceed 1. Questions with a failed
    judgement of any passage are left out of both sums. An empty context has 0. NaN if no passage
    answers a counted question. The best order makes the measure depend on the cells of all
    passages. If the option selects ir_measures, its values are returned, and must agree with
    Tandem's.
    """
    found = of_cells(contexts, options, lambda data: alpha_ndcg(data, options), in_pools)
    if contexts.answers.is_open:
        return found
    least, most = _among_orders(contexts, found.values, options.alpha)
    return replace(found, least=least, most=most)


def _among_orders(contexts: Contexts, values: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return the smallest and largest value (Q,) among orders of passages with equal gains."""
    contexts = replace(contexts, counted=questions_without_failures(contexts))
    depth = np.maximum(contexts.depth, 1)
    ideals = np.stack([_sum(_ideal(contexts, alpha, order), depth) for order in range(ORDERS)])
    changed = ratio(ideals[0] * values, ideals)
    lowest, highest = changed.min(axis=0), changed.max(axis=0)
    return np.where(values == 0, 0.0, lowest), np.where(values == 0, 0.0, highest)


def alpha_ndcg(contexts: Contexts, options: Options) -> Floats:
    """Return the α-nDCG of contexts without open cells, (Q,)."""
    contexts = replace(contexts, counted=questions_without_failures(contexts))
    ours = _by_us(contexts, options)
    if options.alpha_ndcg != IR_MEASURES:
        return ours
    theirs = alpha_ndcg_by_ir_measures(contexts, options.alpha)
    return checked(ours, np.where(contexts.present, theirs, np.nan))


def _by_us(contexts: Contexts, options: Options) -> Floats:
    counted = contexts.counted[:, None, :]
    gains = _gains(contexts.answered & counted, options.alpha)
    # An empty context has depth 0, but the best order is never empty.
    depth = np.maximum(contexts.depth, 1)
    values = ratio(_sum(gains, depth), _sum(_ideal(contexts, options.alpha), depth))
    return np.where(contexts.present, values, np.nan)


def _ideal(contexts: Contexts, alpha: float, order: int = 0) -> Floats:
    """Return the gains of the best orders of all passages, equal for all systems and cuts.

    Among passages with equal gains, that with the last identifier comes first in `order` 0, that
    with the first in order 1, and a random one in others.
    """
    found, counted = contexts.answers, contexts.counted
    key = "gains", alpha, counted.tobytes(), order
    if key not in found.bests:
        whole = found.yes & counted[:, None, :]
        if order:
            passages = np.arange(whole.shape[1])[::-1]
            whole = whole[:, passages if order == 1 else _shuffled(passages, order)]
        found.bests[key] = ideal_gains(whole, alpha, whole.shape[1])
    return found.bests[key]


def _shuffled(passages: Ints, seed: int) -> Ints:
    return np.random.Generator(np.random.PCG64(seed)).permutation(passages)


def _gains(yes: Bools, alpha: float) -> Floats:
    """Return the gain at each rank, (Q, K), of the answers there, (Q, K, M)."""
    above: Ints = np.cumsum(yes, axis=1) - yes
    # Computing the powers once per count is four times as fast as computing them for each cell.
    worth = (1 - alpha) ** np.arange(yes.shape[1] + 1)
    gains: Floats = (yes * worth[above]).sum(axis=2)
    return gains


def _sum(gains: Floats, depth: Ints) -> Floats:
    within = np.arange(gains.shape[1]) < depth[:, None]
    total: Floats = (gains * within * discounts(gains.shape[1])).sum(axis=1)
    return total


def ideal_gains(yes: Bools, alpha: float, depth: int) -> Floats:
    """Return the gains of the greedily best order of all passages (Q, P, M), (Q, min(depth, P))."""
    queries, passages, _ = yes.shape
    # Reversed, since argmax finds the first of equal maxima, and ndeval takes the last identifier.
    yes = yes[:, ::-1]
    weights = yes.astype(float)
    left = np.ones((queries, passages), bool)
    worth = np.ones((queries, yes.shape[2]))
    gains = np.zeros((queries, min(depth, passages)))
    every = np.arange(queries)
    for rank in range(gains.shape[1]):
        gain = np.where(left, np.einsum("qpm,qm->qp", weights, worth), -1.0)
        best = gain.argmax(axis=1)
        gains[:, rank] = gain[every, best]
        left[every, best] = False
        worth = np.where(yes[every, best], worth * (1 - alpha), worth)
    return gains


ALPHA_NDCG = Measure(
    "alpha_nDCG",
    "contexts",
    "Gain of newly answered sub-questions by rank, over that of the best order.",
    "Clarke and others, SIGIR, 2008; Ju and others, CRUX, 2025",
    ranked_coverage,
    "no passage answers a sub-question that counts",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle", "alpha", "alpha_ndcg", "cuts"),
    by_oracle=True,
    variables=("rating",),
)


def coverage(contexts: Contexts, options: Options) -> JudgedValues:
    """Return Cov(Z) = questions of Q_a with G(p, q) >= eta for a p in Z / questions of Q_a, (Q,).

    After Ju and others 2025, section 3. An empty context has 0. A question is left out if a
    requested rating of a passage of Z is missing, even if another passage answers the question:
    counting only these questions would raise the share. NaN without a question, and if the system
    has no context. The measure depends on the cells of Z and on those that decide which questions
    are in Q_a.
    """
    return of_cells(contexts, options, cov, in_contexts)


def cov(contexts: Contexts) -> Floats:
    """Return the coverage of contexts without open cells, (Q,)."""
    settled = contexts.counted
    if contexts.answers.gaps:
        settled = settled & ~contexts.at_its_ranks(contexts.answers.failed).any(axis=1)
    covered = contexts.answered.any(axis=1) & settled
    values = ratio(covered.sum(axis=1), settled.sum(axis=1))
    return np.where(contexts.present, values, np.nan)


COV = Measure(
    "Cov",
    "contexts",
    "Share of the answerable sub-questions that the context answers.",
    "Ju and others, CRUX, 2025",
    coverage,
    "no context has a sub-question that an oracle passage answers and that is rated throughout",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle"),
    variables=("rating",),
)


def density(contexts: Contexts, options: Options) -> JudgedValues:
    """Return Den(Z) = ((Cov(Z) / tokens(Z)) / (Cov(Z*) / tokens(Z*)))^w, (Q,).

    After Ju and others 2025, with Z* the oracle context and w = 0.5. Density can exceed 1, and the
    paper prints it times 100. 0 if Cov(Z) is 0, as for an empty context. NaN if Cov(Z*) is 0 or
    unknown, or if either context contains a passage of unknown length. The measure depends on the
    cells of both contexts.
    """

    def needs(data: Contexts) -> Bools:
        return in_contexts(data) | in_contexts(data.as_oracle())

    return of_cells(contexts, options, lambda data: den(data, options), needs)


def den(contexts: Contexts, options: Options) -> Floats:
    """Return the density of contexts without open cells, (Q,)."""
    oracle = contexts.as_oracle()
    own, best = cov(contexts), _best(oracle)
    relative = ratio(own * _tokens(oracle), best * _tokens(contexts))
    values = np.where(own == 0, 0.0, relative) ** options.weight
    return np.where(np.isnan(own) | ~(best > 0), np.nan, values)


def _best(oracle: Contexts) -> Floats:
    """Return the coverage of the oracle context, (Q,), equal for all systems and cuts."""
    known = oracle.answers.bests
    key = "Cov", oracle.counted.tobytes(), oracle.ranked.tobytes()
    if key not in known:
        known[key] = cov(oracle)
    return known[key]


def _tokens(contexts: Contexts) -> Floats:
    total: Floats = values_at_ranks(contexts.tokens, contexts.ranked).sum(axis=1)
    return total


def tokens(contexts: Contexts, options: Options) -> Floats:
    """Return the length of each context in tokens, (Q,), for density.

    NaN if the length of one of the context's passages is unknown.
    """
    return np.where(contexts.present, _tokens(contexts), np.nan)


@dataclass(frozen=True)
class ReportDensities:
    """Coverage and length in tokens of N reports and of their queries' oracle contexts, (N,)."""

    coverage: Floats
    tokens: Floats
    best: Floats
    best_tokens: Floats


def density_of_reports(data: ReportDensities, options: Options) -> Floats:
    """Return Den(y) = ((Cov(y) / tokens(y)) / (Cov(Z*) / tokens(Z*)))^w, (N,), with w = 0.5.

    After Ju and others 2025, section 3, with the report in place of the context. Z* is the oracle
    context, as in the density of contexts, since the paper names no other reference. 0 if Cov(y) is
    0. NaN if Cov(Z*) is 0, or if Cov(y) or Cov(Z*) is unknown.
    """
    relative = ratio(data.coverage * data.best_tokens, data.best * data.tokens)
    values = np.where(data.coverage == 0, 0.0, relative) ** options.weight
    return np.where(np.isnan(data.coverage) | ~(data.best > 0), np.nan, values)


REPORT_DENSITY = Measure(
    "Den(y)",
    "report-densities",
    "Coverage of the report for its length, relative to the oracle context's.",
    "Ju and others, CRUX, 2025",
    density_of_reports,
    "the oracle context answers no sub-question, or the report's coverage is unknown",
    ("eta", "missing", "unrated", "scope", "filtered", "oracle", "weight", "tokenizer"),
    AMOUNT,
    by_oracle=True,
    variables=("answerable", "rating"),
)

DENSITIES = (
    Measure(
        "Den",
        "contexts",
        "Coverage for its length, relative to the oracle context's.",
        "Ju and others, CRUX, 2025",
        density,
        "the oracle context answers no sub-question, or a passage's text is not in the batch",
        ("eta", "missing", "unrated", "scope", "filtered", "oracle", "weight", "tokenizer"),
        AMOUNT,
        by_oracle=True,
        variables=("rating",),
    ),
    Measure(
        "Tokens",
        "contexts",
        "Length of the context, which density divides by.",
        "Ju and others, CRUX, 2025",
        tokens,
        "the system has no context, or a passage's text is not in the batch",
        ("tokenizer",),
        AMOUNT,
    ),
)


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
