"""Long2RAG's measures: which key points of the documents an answer makes (Qi and others 2024).

`from_context` is not the paper's precision. That measure, `precision`, is about the points that the
answer itself makes. The points here were taken from the documents, so they are in the documents
whatever the answer says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..statistics import Bools, Bootstrap, Draws, Estimate, Floats, Ints, Tally, Value
from ..statistics.estimate import ratio, unbatch
from ..statistics.resampling import OfWeights
from .base import (
    MISSING,
    NO,
    YES,
    Measure,
    MeasureValues,
    Pooled,
    by_unrated,
    combined,
    count,
    share,
)
from .options import ZERO, Options

KINDS = ("incomplete", "general", "missing")
WORDS = ("said in part only", "said too generally", "not said at all")
AGREE, NEUTRAL, DISAGREE = 0, 1, 2
KEY, NOT_KEY, UNKNOWN = 1, 0, -1
METHOD = "share of the points kept that people call not key (1 - precision)"
UNASKED = (
    "no label says which points of the answers their context supports: label a campaign of "
    "key-point-verification with points=answers"
)


@dataclass(frozen=True)
class Failures:
    """The key points (U,) that N answers do not make: `kind` is an index into KINDS, or -1."""

    kind: Ints
    row: Ints
    rows: int


def failure_share(data: Failures, options: Options, kind: int) -> Pooled:
    """Return failures of a kind / failures with a kind, over all answers (Qi and others 2024)."""
    counts = [count(data.kind == n, data.row, data.rows) for n in range(len(KINDS))]
    return Pooled(np.column_stack(counts), partial(_share, kind), np.sum(counts, axis=0))


def _share(kind: int, totals: Floats) -> Value:
    return unbatch(ratio(totals[..., kind], totals.sum(axis=-1)))


FAILURES = tuple(
    Measure(
        f"Failure:{name}",
        "failures",
        f"Of the key points that answers fail to make, the share {words}.",
        "Qi and others, Long2RAG, 2024",
        partial(failure_share, kind=number),
        "no failure has a kind",
        variables=("failure",),
    )
    for number, (name, words) in enumerate(zip(KINDS, WORDS, strict=True))
)


@dataclass(frozen=True)
class Points:
    """The key points of N answers (U,), one for each answer and point of its query.

    `expressed` is 1 if the answer entails the point, 0 if it does not or leaves it open, -1 =
    missing. `retrieved` is 1 if a passage that the point comes from is in the answer's context, 0
    if not, and -1 if the context is unknown. `row` is the answer. `unasked` (U,) are the points
    that no rater was asked about, by default none.
    """

    expressed: Ints
    retrieved: Ints
    row: Ints
    rows: int
    unasked: Bools | None = None


@dataclass(frozen=True)
class AnswerPoints:
    """The points (U,) that N answers make themselves, compared with the context of each.

    `supported` is 1 if the context supports the point, 0 if not, -1 = missing. `row` is the answer.
    `silent` (N,) are the answers that were analysed and make no point. `unasked` (U,) are the
    points that no rater was asked about, by default none.
    """

    supported: Ints
    row: Ints
    rows: int
    silent: Bools
    unasked: Bools | None = None


@dataclass(frozen=True)
class Both:
    """The points of the queries and those of the answers, for the same N answers."""

    of_queries: Points
    of_answers: AnswerPoints


@dataclass(frozen=True)
class Verified:
    """The key points (U,) of N queries as people verified them.

    `grounded` is 1, 0 or -1 = missing. `key` is agree, neutral or disagree (0, 1, 2), or -1 if it
    was not asked or is missing. `row` is the query. `applicable` (U,) marks the points about which
    raters were asked whether they are key; None stands for all grounded ones.
    """

    grounded: Ints
    key: Ints
    row: Ints
    rows: int
    applicable: Bools | None = None

    @property
    def counted(self) -> Bools:
        """The points (U,) that count. A grounded one counts only if `key` was asked about it."""
        if self.applicable is None:
            return np.ones(len(self.grounded), bool)
        counted: Bools = self.applicable | (self.grounded != YES)
        return counted


def retained_points(data: Verified, options: Options) -> Ints:
    """Return which points are kept (U,), being grounded and key: 1, 0, or -1 if unknown.

    Qi and others 2024 leave open whether a neutral point is kept: `keep_neutral`.
    """
    key = data.key <= NEUTRAL if options.keep_neutral else data.key == AGREE
    judged = np.where(data.key == MISSING, MISSING, np.where(key, YES, NO))
    known_labels = np.where(data.grounded == YES, judged, data.grounded)
    return known_labels.astype(np.int64)


def retention(data: Verified, options: Options) -> Floats:
    """Return key points kept / key points of each query, (N,)."""
    counted = data.counted
    return share(
        retained_points(data, options)[counted], data.row[counted], data.rows, options.missing
    )


def retention_of_all(data: Verified, options: Options) -> Pooled:
    """Return key points kept / key points, of all queries together.

    Qi and others 2024 pool the points in the same way: their 56.3 % are 2,055 of 3,651 points.
    """
    verdicts = retained_points(data, options)
    counted = data.counted & ((options.missing == ZERO) | (verdicts != MISSING))
    sums = [count(which, data.row, data.rows) for which in (verdicts == YES, counted)]
    return Pooled(np.column_stack(sums), _retained_share, sums[1])


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
        variables=("grounded", "key"),
    )
    for name, function, how in (
        ("Retention", retention, "averaged over queries"),
        ("Retention-micro", retention_of_all, "of all points together"),
    )
)


@dataclass(frozen=True)
class Cut:
    """The points with a score of at least `threshold`: how many are kept, and how many wrongly.

    `false_discovery` is the rate that Long2RAG prints as FPR. `false_positive` is the usual false
    positive rate: the share of the points that are not key, but kept, among all that are not key.
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
    """Cut the scores (n,) at each threshold; people's verdicts (n,): 1 key, 0 not, -1 unknown.

    `share` is computed from all scored points, and the rates from points with a verdict. Intervals
    resample whole queries (BCa).
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
        "share of non-key points that are kept",
        "people call no point not key",
    )
    share = float(kept.mean()) if len(kept) else 0.0
    return Cut(threshold, int(kept.sum()), share, discovery, positive)


def _by_unrated(
    points: Points | AnswerPoints, options: Options, value: Callable[[Ints, Bools], Floats]
) -> MeasureValues:
    labels = points.expressed if isinstance(points, Points) else points.supported
    unasked = np.zeros(len(labels), bool) if points.unasked is None else points.unasked
    return by_unrated(labels, unasked, points.row, points.rows, options, "key points", value)


def key_point_precision(points: AnswerPoints, options: Options) -> MeasureValues:
    """Return KPP = points of the answer that its retrieved texts support / its points, (N,).

    Qi and others 2024, section 6.4: the share of the key points in the generated response that are
    present in the retrieved documents. NaN if no point has a label. For an answer known to make no
    point, the result is 0 with `unexpressed` zero, and otherwise NaN.
    """

    def value(supported: Ints, counted: Bools) -> Floats:
        row = points.row[counted]
        values = share(supported[counted], row, points.rows, options.missing)
        return np.where(points.silent, 0.0, values) if options.unexpressed == ZERO else values

    return _by_unrated(points, options, value)


PRECISION = Measure(
    "KPP",
    "answer-points",
    "Share of the key points that the answer itself makes which its retrieved texts support.",
    "Qi and others, Long2RAG, 2024",
    key_point_precision,
    UNASKED,
    ("unexpressed", "missing", "unrated"),
    variables=("grounded",),
)


def key_point_recall(points: Points, options: Options) -> MeasureValues:
    """Return KPR = key points that the answer entails / key points of its query, (N,).

    After Qi and others 2024, section 4. A neutral label counts as a no. The system's value is the
    mean over its answers. NaN for a query without key points.
    """

    def value(expressed: Ints, counted: Bools) -> Floats:
        return share(expressed[counted], points.row[counted], points.rows, options.missing)

    return _by_unrated(points, options, value)


RECALL = Measure(
    "KPR",
    "points",
    "Share of the query's key points that the answer makes.",
    "Qi and others, Long2RAG, 2024",
    key_point_recall,
    "no key point was labelled",
    ("missing", "unrated"),
    variables=("entailed",),
)


def points_from_context(points: Points, options: Options) -> MeasureValues:
    """Return expressed key points of the query that come from the context / expressed ones, (N,).

    This measure is Tandem's own. A point comes from the context if the context contains one of its
    source passages (merged points have several). This is read from the batch; no rater is asked.
    NaN if the context is unknown. If the answer expresses no point, the result is 0 with
    `unexpressed` zero, and otherwise NaN. An answer without any label is NaN, unless
    `missing = zero`: then it counts as expressing no point.
    """

    def value(labels: Ints, counted: Bools) -> Floats:
        expressed = counted & (labels == YES)
        known_labels = expressed & (points.retrieved != MISSING)
        held = known_labels & (points.retrieved == YES)
        values = ratio(
            count(held, points.row, points.rows), count(known_labels, points.row, points.rows)
        )
        if options.unexpressed == ZERO:
            known = counted & ((labels != MISSING) | (options.missing == ZERO))
            silent = (count(known, points.row, points.rows) > 0) & (
                count(expressed, points.row, points.rows) == 0
            )
            values = np.where(silent, 0.0, values)
        return values

    return _by_unrated(points, options, value)


POINTS_FROM_CONTEXT = Measure(
    "Points-from-context",
    "points",
    "Of the query's key points that the answer makes, the share that comes from its context.",
    "Tandem's own",
    points_from_context,
    "no answer expresses a key point with a known context",
    ("unexpressed", "missing", "unrated"),
    variables=("entailed",),
)


def key_point_f(points: Both, options: Options) -> MeasureValues:
    """Return KPF = 2 KPP KPR / (KPP + KPR) of each answer, (N,); 0 if both are 0.

    The values that Qi and others 2024 print are not the harmonic means of their printed averages.
    We infer that they compute KPF answer by answer. An answer that makes no point has 0. NaN if KPP
    or KPR is unknown.
    """
    recall = key_point_recall(points.of_queries, options)
    precision = key_point_precision(points.of_answers, replace(options, unexpressed=ZERO))
    return combined(recall, precision, _harmonic)


def _harmonic(one: Floats, other: Floats) -> Floats:
    total = one + other
    return np.where(total == 0, 0.0, ratio(2 * one * other, total))


F_SCORE = Measure(
    "KPF",
    "both-points",
    "Harmonic mean of key point precision and recall of each answer.",
    "Qi and others, Long2RAG, 2024",
    key_point_f,
    "no answer has both KPR and KPP from the same evaluator: give the campaign in which points of "
    "answers are compared with their context",
    ("missing", "unrated"),
    variables=("entailed", "grounded"),
)
