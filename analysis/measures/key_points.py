"""Long2RAG's measures: which key points of the documents an answer makes (Qi and others 2024).

`from_context` is not the paper's precision, which asks about the answer's own points
(`precision`): points that were drawn from the documents that an answer was given are in them
whatever it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..statistics import Bools, Bootstrap, Draws, Estimate, Floats, Ints, Tally, Value
from ..statistics.arrays import ratio, unbatch
from ..statistics.resampling import OfWeights
from .base import MISSING, NO, YES, ZERO, Measure, Options, Pooled, count, share

KINDS = ("incomplete", "general", "missing")


@dataclass(frozen=True)
class Failures:
    """The key points (U,) that N answers do not make: `kind` is a place in KINDS, or -1."""

    kind: Ints
    row: Ints
    rows: int


def failure_share(of: Failures, options: Options, kind: int) -> Pooled:
    """Failures of a kind / failures with a kind, over all answers (Qi and others 2024)."""
    counts = [count(of.kind == n, of.row, of.rows) for n in range(len(KINDS))]
    return Pooled(np.column_stack(counts), partial(_share, kind))


def _share(kind: int, totals: Floats) -> Value:
    return unbatch(ratio(totals[..., kind], totals.sum(axis=-1)))


WORDS = ("said in part only", "said too generally", "not said at all")
FAILURES = tuple(
    Measure(
        f"Failure:{name}",
        "failures",
        f"Of the key points that answers fail to make, the share {words}.",
        "Qi and others, Long2RAG, 2024",
        partial(failure_share, kind=number),
        "no failure has a kind",
    )
    for number, (name, words) in enumerate(zip(KINDS, WORDS, strict=True))
)


@dataclass(frozen=True)
class Points:
    """The key points of N answers (U,), one for each answer and point of its query.

    `expressed` is 1 where the answer entails the point, 0 where it does not or leaves it open,
    -1 = missing; `retrieved` is 1 where a passage that the point comes from stands in the
    answer's context, 0 where not, -1 where the context is unknown; `row` is the answer.
    """

    expressed: Ints
    retrieved: Ints
    row: Ints
    rows: int


@dataclass(frozen=True)
class AnswerPoints:
    """The points (U,) that N answers make themselves, held against the context of each.

    `supported` is 1 where the context supports the point, 0 where not, -1 = missing; `row` is the
    answer. `silent` (N,) are the answers that were taken apart and make no point.
    """

    supported: Ints
    row: Ints
    rows: int
    silent: Bools


@dataclass(frozen=True)
class Both:
    """The points of their queries and those that they make, of the same N answers."""

    of_queries: Points
    of_answers: AnswerPoints


AGREE, NEUTRAL, DISAGREE = 0, 1, 2


@dataclass(frozen=True)
class Verified:
    """The key points (U,) of N queries as people verified them.

    `grounded` is 1, 0 or -1 = missing; `key` is agree, neutral or disagree (0, 1, 2), -1 where it
    was not asked or is missing; `row` is the query. `asked` (U,) says of which points it was asked
    whether they are key; None for all that are grounded.
    """

    grounded: Ints
    key: Ints
    row: Ints
    rows: int
    asked: Bools | None = None

    @property
    def counted(self) -> Bools:
        """The points (U,) that count: not those that are grounded where nothing more was asked."""
        if self.asked is None:
            return np.ones(len(self.grounded), bool)
        counted: Bools = self.asked | (self.grounded != YES)
        return counted


def kept(of: Verified, options: Options) -> Ints:
    """Which points are kept (U,): grounded, and judged key. 1, 0, or -1 where that is unknown.

    Whether a neutral point is kept, Qi and others 2024 leave open: `keep_neutral`.
    """
    wanted = of.key <= NEUTRAL if options.keep_neutral else of.key == AGREE
    judged = np.where(of.key == MISSING, MISSING, np.where(wanted, YES, NO))
    known = np.where(of.grounded == YES, judged, of.grounded)
    return known.astype(np.int64)


def retention(of: Verified, options: Options) -> Floats:
    """Key points kept / key points of each query, (N,)."""
    counted = of.counted
    return share(kept(of, options)[counted], of.row[counted], of.rows, options.missing)


def retention_of_all(of: Verified, options: Options) -> Pooled:
    """Key points kept / key points, of all queries together.

    The 56.3 % of Qi and others 2024 are 2,055 of 3,651 points, whatever their questions.
    """
    verdicts = kept(of, options)
    counted = of.counted & ((options.missing == ZERO) | (verdicts != MISSING))
    sums = [count(which, of.row, of.rows) for which in (verdicts == YES, counted)]
    return Pooled(np.column_stack(sums), _retained_share)


def _retained_share(sums: Floats) -> Value:
    return unbatch(ratio(sums[..., 0], sums[..., 1]))


RETENTION = tuple(
    Measure(
        name,
        "verified",
        f"Share of the proposed key points that are in the text and key, {how}.",
        "Qi and others, Long2RAG, 2024",
        function,
        "no key point was verified",
        ("keep_neutral", "missing"),
    )
    for name, function, how in (
        ("Retention", retention, "averaged over queries"),
        ("Retention-micro", retention_of_all, "of all points together"),
    )
)


KEY, NOT_KEY, UNKNOWN = 1, 0, -1
METHOD = "share of the points kept that people call not key (1 - precision)"


def key_point_score(yes: Floats, no: Floats) -> Floats:
    """exp(yes) / (exp(yes) + exp(no)) of the logits of YES and NO (n,) (Qi and others 2024)."""
    scores: Floats = np.exp(-np.logaddexp(0.0, no - yes))
    return scores


@dataclass(frozen=True)
class Cut:
    """Points with a score from `threshold` on: how many are kept, and how many wrongly.

    `false_discovery` is what Long2RAG prints as FPR; the usual false positive rate, the share of
    points that are not key which are kept, is `false_positive`.
    """

    threshold: float
    kept: int
    share: float
    false_discovery: Estimate
    false_positive: Estimate


def cuts(
    scores: Floats,
    verdicts: Ints,
    queries: Ints,
    thresholds: Sequence[float],
    draws: Draws = None,
    seed: int = 0,
) -> list[Cut]:
    """Each cut of the scores (n,) against people's verdicts (n,): 1 key, 0 not, -1 unknown.

    `share` is of all scored points, the rates are of those with a verdict; intervals resample
    queries whole (BCa).
    """
    scored = np.isfinite(scores)
    return [
        _cut(scores[scored], verdicts[scored], queries[scored], threshold, draws, seed)
        for threshold in thresholds
    ]


def _cut(
    scores: Floats,
    verdicts: Ints,
    queries: Ints,
    threshold: float,
    draws: Draws,
    seed: int,
) -> Cut:
    kept = scores >= threshold
    wrong, judged = verdicts == NOT_KEY, verdicts != UNKNOWN
    tally = Tally.of_sums(
        np.column_stack([kept & wrong, kept & judged, wrong]).astype(float), queries
    )
    bootstrap = Bootstrap(tally, draws, seed)

    def rate(bottom: int) -> OfWeights:
        return lambda sums: unbatch(ratio(sums[..., 0], sums[..., bottom]))

    discovery = bootstrap.estimate(
        rate(1), int((kept & judged).sum()), METHOD, "no point that is kept has a verdict"
    )
    positive = bootstrap.estimate(
        rate(2),
        int(wrong.sum()),
        "share of the points that are not key which are kept",
        "people call no point not key",
    )
    share = float(kept.mean()) if len(kept) else 0.0
    return Cut(threshold, int(kept.sum()), share, discovery, positive)


UNASKED = (
    "nobody said which points of the answers their context supports: label a campaign of "
    "key-point-verification with points=answers"
)


def key_point_precision(points: AnswerPoints, options: Options) -> Floats:
    """KPP = points of the answer that its retrieved texts support / points of the answer, (N,).

    Qi and others 2024, section 6.4: the share of the key points in the generated response that are
    present in the retrieved documents. NaN where no point has a label, and, unless `unexpressed` is
    zero, where the answer is known to make none.
    """
    values = share(points.supported, points.row, points.rows, options.missing)
    return np.where(points.silent, 0.0, values) if options.unexpressed == ZERO else values


PRECISION = Measure(
    "KPP",
    "answer-points",
    "Share of the key points that the answer itself makes which its retrieved texts support.",
    "Qi and others, Long2RAG, 2024",
    key_point_precision,
    UNASKED,
    ("unexpressed", "missing"),
)


def key_point_recall(points: Points, options: Options) -> Floats:
    """KPR = key points that the answer entails / key points of its query, (N,).

    After Qi and others 2024, section 4; only a yes counts, neutral does not. The system's value is
    the mean over its answers. NaN for a query without key points.
    """
    return share(points.expressed, points.row, points.rows, options.missing)


RECALL = Measure(
    "KPR",
    "points",
    "Share of the query's key points that the answer makes.",
    "Qi and others, Long2RAG, 2024",
    key_point_recall,
    "no key point was labelled",
    ("missing",),
)


def points_from_context(points: Points, options: Options) -> Floats:
    """Expressed key points of the query that come from the context / expressed ones, (N,).

    Our own. A point comes from the context where a passage that it was taken from is in it (one of
    several, where points were merged): the batch says so, nobody is asked. NaN where the context
    is unknown, and, unless `unexpressed` is zero, where the answer expresses no point. Without a
    label nobody knows whether it does; under `missing = zero` it then expresses none.
    """
    expressed = points.expressed == YES
    known = expressed & (points.retrieved != MISSING)
    held = known & (points.retrieved == YES)
    values = ratio(count(held, points.row, points.rows), count(known, points.row, points.rows))
    if options.unexpressed == ZERO:
        silent = _known(points, options) & (count(expressed, points.row, points.rows) == 0)
        values = np.where(silent, 0.0, values)
    return values


def _known(points: Points, options: Options) -> Bools:
    """Which answers are known to express their points or not, (N,)."""
    told = np.full(len(points.row), options.missing == ZERO) | (points.expressed != MISSING)
    return count(told, points.row, points.rows) > 0


POINTS_FROM_CONTEXT = Measure(
    "Points-from-context",
    "points",
    "Of the query's key points that the answer makes, the share drawn from its context.",
    "Tandem's own",
    points_from_context,
    "no answer expresses a key point with a known context",
    ("unexpressed", "missing"),
)


def key_point_f(points: Both, options: Options) -> Floats:
    """KPF = 2 KPP KPR / (KPP + KPR) of each answer, (N,); 0 where both are 0.

    The printed figures of Qi and others 2024 are not the harmonic mean of the printed averages, so
    it is taken answer by answer (our inference). An answer that makes no point has 0. NaN where
    either is unknown.
    """
    recall = key_point_recall(points.of_queries, options)
    precision = key_point_precision(points.of_answers, replace(options, unexpressed=ZERO))
    total = precision + recall
    return np.where(total == 0, 0.0, ratio(2 * precision * recall, total))


F_SCORE = Measure(
    "KPF",
    "both-points",
    "Harmonic mean of key point precision and recall of each answer.",
    "Qi and others, Long2RAG, 2024",
    key_point_f,
    "no answer has both KPR and KPP from the same evaluator: give the campaign in which points of "
    "answers are held against their context",
    ("missing",),
)
