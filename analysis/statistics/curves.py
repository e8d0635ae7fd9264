"""A judge's score against a yes or no of people, over all thresholds: ROC and precision-recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch
from analysis.statistics.bootstrap import Resamples
from analysis.statistics.estimate import Estimate
from analysis.statistics.intervals import RESAMPLES, Bootstrap, Interval
from analysis.statistics.tally import Tally

#: So many points of a curve are given at most; areas use all scores.
MOST_POINTS = 50


@dataclass(frozen=True)
class ThresholdSweep:
    """What a judge does where a score at or above a threshold counts as yes.

    The lists have an estimate for each of `thresholds` (T,), in rising order; `recall` is the true
    positive rate. `roc_auc` and `average_precision` are the areas under the two curves.
    """

    thresholds: Floats
    recall: list[Estimate]
    false_positive_rate: list[Estimate]
    precision: list[Estimate]
    f1: list[Estimate]
    roc_auc: Estimate
    average_precision: Estimate


def threshold_sweep(
    scores: Floats,
    positive: Ints,
    clusters: Ints,
    *,
    draws: int | Resamples = RESAMPLES,
    seed: int = 0,
    interval: Interval = "percentile",
) -> ThresholdSweep:
    """ROC and precision-recall curves of scores (U,) against people's 1 and 0 (U,), with bands.

    Units without a score (NaN) or a label (-1) are left out. A point for each different score, or
    for 50 of them. The bands hold at each threshold, not for the curve as a whole.
    """
    there = np.isfinite(scores) & (positive >= 0)
    values, place = np.unique(np.where(there, scores, np.inf), return_inverse=True)
    values = values[np.isfinite(values)]
    kinds = np.where(there, 2 * place + np.minimum(positive, 1), -1)
    bootstrap = Bootstrap(Tally.of(kinds, 2 * len(values), clusters), draws, seed, interval)
    chosen = _points(len(values))
    n = int(there.sum())

    def curve(name: str, of: int, reason: str) -> list[Estimate]:
        return bootstrap.estimates(lambda w: _rates(w)[of][..., chosen], n, name, reason)

    return ThresholdSweep(
        values[chosen],
        curve("recall", 0, "people say yes nowhere"),
        curve("false positive rate", 1, "people say no nowhere"),
        curve("precision", 2, "the judge says yes nowhere"),
        curve("F1", 3, "nobody says yes anywhere"),
        bootstrap.estimate(roc_auc, n, "area under the ROC curve", "people say one thing only"),
        bootstrap.estimate(average_precision, n, "average precision", "people say yes nowhere"),
    )


def roc_auc(weights: Floats) -> Value:
    """The chance that a unit with yes has a higher score than one with no, ties counting half.

    `weights` (..., 2T): for T scores in rising order, how many units people gave a no and a yes.
    This is the area under the ROC curve (Hanley and McNeil 1982).
    """
    no, yes = _by_label(weights)
    below = np.cumsum(no, axis=-1) - no / 2
    return unbatch(ratio((yes * below).sum(axis=-1), yes.sum(axis=-1) * no.sum(axis=-1)))


def average_precision(weights: Floats) -> Value:
    """sum over thresholds of (recall - recall at the next higher) * precision; (..., 2T) as above.

    The precision-recall curve as steps: straight lines between its points would flatter.
    """
    no, yes = _by_label(weights)
    hits, all_above = _above(yes), _above(yes + no)
    precise = np.where(yes > 0, ratio(hits, all_above), 0.0)
    return unbatch(ratio((yes * precise).sum(axis=-1), yes.sum(axis=-1)))


def _rates(weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    no, yes = _by_label(weights)
    hits, false = _above(yes), _above(no)
    people, others = yes.sum(axis=-1, keepdims=True), no.sum(axis=-1, keepdims=True)
    return (
        ratio(hits, people),
        ratio(false, others),
        ratio(hits, hits + false),
        ratio(2 * hits, hits + false + people),
    )


def _by_label(weights: Floats) -> tuple[Floats, Floats]:
    pairs = weights.reshape(*weights.shape[:-1], -1, 2)
    return pairs[..., 0], pairs[..., 1]


def _above(units: Floats) -> Floats:
    """How many units have each score or a higher one."""
    counted: Floats = np.cumsum(units[..., ::-1], axis=-1)[..., ::-1]
    return counted


def _points(size: int) -> Ints:
    places = np.linspace(0, size - 1, min(size, MOST_POINTS))
    return np.unique(np.round(places)).astype(np.int64) if size else np.empty(0, np.int64)
