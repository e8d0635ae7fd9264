"""A judge's score over all its thresholds, against the majority of people: ROC and precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.blocks.calibration import ANSWERS
from analysis.blocks.resampling import JSON, Sample
from analysis.blocks.thresholds import cuts, people_reach, threshold_at
from analysis.statistics import Estimate, Floats, Ints, ThresholdSweep, threshold_sweep


def curves(sample: Sample, column: int, reference: Ints) -> list[JSON]:
    """A curve for yes, or for reaching each threshold of a rating; none where there are no scores.

    A score at or above a threshold of its own counts as yes, or as reaching the rating.
    """
    scores = sample.frame.scores[:, column]
    if not np.isfinite(scores).any():
        return []
    return [{**of, **_curve(sample, scores, people)} for of, people in _asked(sample, reference)]


def _asked(sample: Sample, reference: Ints) -> Iterator[tuple[JSON, Ints]]:
    """What a curve is of, and whether people say so: 1, 0 or -1."""
    scale = sample.frame.scale
    if {c for c in scale.categories if c not in scale.foreign} == ANSWERS:
        says = reference == scale.categories.index("yes")
        yield {"category": "yes"}, np.where(reference < 0, -1, says).astype(np.int64)
    for rank in cuts(sample):
        yield {"threshold": threshold_at(sample, rank)}, people_reach(sample, rank)


def _curve(sample: Sample, scores: Floats, people: Ints) -> JSON:
    found = threshold_sweep(scores, people, sample.clusters, bands=False, **sample.drawing)
    return {
        "roc_auc": found.roc_auc.as_json(),
        "average_precision": found.average_precision.as_json(),
        "points": list(_points(found)),
    }


def _points(found: ThresholdSweep) -> Iterator[JSON]:
    for n, score in enumerate(found.thresholds):
        lists: dict[str, list[Estimate]] = {
            "recall": found.recall,
            "false_positive_rate": found.false_positive_rate,
            "precision": found.precision,
        }
        yield {"score": float(score), **{name: of[n].value for name, of in lists.items()}}
