"""The key-point score, and what people say of the points that a cut of it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics import Bootstrap, Draws, Estimate, Floats, Ints, Tally
from analysis.statistics.arrays import ratio, unbatch
from analysis.statistics.intervals import OfWeights

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
        rate(2), int(wrong.sum()), "share of the points that are not key which are kept",
        "people call no point not key",
    )  # fmt: skip
    share = float(kept.mean()) if len(kept) else 0.0
    return Cut(threshold, int(kept.sum()), share, discovery, positive)
