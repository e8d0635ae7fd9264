"""Ratings cut at a threshold: the judge's side of each cut against the people's."""

from __future__ import annotations

import numpy as np

from analysis.blocks.resampling import JSON, Sample
from analysis.statistics import (
    Floats,
    Ints,
    Value,
    cohen_kappa,
    confusion,
    majority,
    precision,
    recall,
)

BELOW, REACHED = 0, 1


def thresholds(sample: Sample, codes: Ints) -> list[JSON]:
    """One row for each category but the lowest; none for nominal ones or too many.

    A rating reaches a threshold if its category ranks at or above it; people reach it by majority,
    ties left out. Precision and recall are of reaching it.
    """
    if sample.frame.scale.level == "nominal" or sample.is_continuous:
        return []
    values = sample.frame.scale.values()
    return [_row(sample, codes, rank, float(values[rank])) for rank in range(1, sample.k)]


def _row(sample: Sample, codes: Ints, rank: int, threshold: float) -> JSON:
    people, _ = majority(_cut(sample.frame.of("human"), rank))
    judge = _cut(codes, rank)
    both = (people >= 0) & (judge >= 0)

    def kappa(weights: Floats | None) -> Value:
        return cohen_kappa(confusion(people, judge, 2, weights))

    def right(weights: Floats | None) -> Value:
        return _reached(precision(confusion(people, judge, 2, weights)))

    def found(weights: Floats | None) -> Value:
        return _reached(recall(confusion(people, judge, 2, weights)))

    return {
        "threshold": int(threshold) if threshold.is_integer() else threshold,
        "cohen_kappa": sample.estimate(
            kappa, both, "Cohen's kappa of reaching it", "all labels are on one side"
        ).as_json(),
        "precision": sample.estimate(
            right, both, "precision of reaching it", "the judge never reaches it"
        ).as_json(),
        "recall": sample.estimate(
            found, both, "recall of reaching it", "people never reach it"
        ).as_json(),
    }


def _cut(codes: Ints, rank: int) -> Ints:
    return np.where(codes < 0, -1, np.where(codes >= rank, REACHED, BELOW)).astype(np.int64)


def _reached(scores: Floats) -> Value:
    return scores[..., REACHED] if scores.ndim > 1 else float(scores[REACHED])
