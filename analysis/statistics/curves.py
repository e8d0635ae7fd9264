"""A judge's score against a yes or no of people, over all thresholds: ROC and precision-recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch
from analysis.statistics.estimate import SHARE, Estimate
from analysis.statistics.intervals import Bootstrap, Draws, Interval, OfWeights
from analysis.statistics.tally import Tally

#: So many points of a curve are given at most; areas use all scores.
MOST_POINTS = 50
#: So many different scores are told apart in resamples.
MOST_LEVELS = 500


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
    bands: bool = True,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> ThresholdSweep:
    """ROC and precision-recall curves of scores (U,) against people's 1 and 0 (U,), with bands.

    Units without a score (NaN) or a label (-1) are left out. A point for each different score, or
    for 50 of them. The bands hold at each threshold, not for the curve as a whole; without `bands`
    the areas alone have intervals. Beyond 500 different scores neighbours are taken together in
    the resamples of an area, which are then shifted by what that changes in the area itself.
    """
    there = np.isfinite(scores) & (positive >= 0)
    values, place = np.unique(np.where(there, scores, np.inf), return_inverse=True)
    values, label = values[np.isfinite(values)], np.minimum(positive, 1)
    n, chosen = int(there.sum()), _spread(len(values), MOST_POINTS)

    def tallied(lowest: Ints) -> Tally:
        level = np.searchsorted(lowest, place, side="right") - 1
        kinds = np.where(there, 2 * level + label, -1)
        return Tally.of(kinds, 2 * len(lowest), clusters)

    points = Bootstrap(tallied(chosen), draws if bands else 0, seed, interval)
    areas = Bootstrap(tallied(_spread(len(values), MOST_LEVELS)), draws, seed, interval)
    exact = np.bincount(2 * place[there] + label[there], minlength=2 * len(values)).astype(float)

    def curve(name: str, of: int, reason: str) -> list[Estimate]:
        made = points.estimates(lambda w: _rates(w)[of], n, name, reason)
        return [each.within(*SHARE) for each in made]

    def area(function: OfWeights, name: str, reason: str) -> Estimate:
        shift = function(exact) - function(areas.tally.total)
        return areas.estimate(lambda w: function(w) + shift, n, name, reason).within(*SHARE)

    return ThresholdSweep(
        values[chosen],
        curve("recall", 0, "people say yes nowhere"),
        curve("false positive rate", 1, "people say no nowhere"),
        curve("precision", 2, "the judge says yes nowhere"),
        curve("F1", 3, "nobody says yes anywhere"),
        area(roc_auc, "area under the ROC curve", "people say one thing only"),
        area(average_precision, "average precision", "people say yes nowhere"),
    )


def roc_auc(weights: Floats) -> Value:
    """The chance that a unit with yes has a higher score than one with no, ties counting half.

    `weights` (..., 2T): for T scores in rising order, how many units people gave a no and a yes.
    This is the area under the ROC curve (Hanley and McNeil 1982).
    """
    no, yes = _by_label(weights)
    below = np.cumsum(no, axis=-1) - no / 2
    won = np.einsum("...t,...t->...", yes, below)
    return unbatch(ratio(won, yes.sum(axis=-1) * no.sum(axis=-1)))


def average_precision(weights: Floats) -> Value:
    """sum over thresholds of (recall - recall at the next higher) * precision; (..., 2T) as above.

    The precision-recall curve as steps: straight lines between its points would flatter.
    """
    no, yes = _by_label(weights)
    hits = _above(yes)
    all_above = hits + _above(no)
    precise = np.divide(hits, all_above, out=np.zeros(hits.shape), where=all_above > 0)
    return unbatch(ratio(np.einsum("...t,...t->...", yes, precise), hits[..., :1].sum(axis=-1)))


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
    # Each in one piece: sums along what lies scattered take several times as long.
    pairs = weights.reshape(*weights.shape[:-1], -1, 2)
    return np.ascontiguousarray(pairs[..., 0]), np.ascontiguousarray(pairs[..., 1])


def _above(units: Floats) -> Floats:
    """How many units have each score or a higher one."""
    counted: Floats = np.cumsum(units[..., ::-1], axis=-1)[..., ::-1]
    return counted


def _spread(size: int, most: int) -> Ints:
    """At most so many places of 0..size-1, evenly spread, the first and the last among them."""
    places = np.linspace(0, size - 1, min(size, most))
    return np.unique(np.round(places)).astype(np.int64) if size else np.empty(0, np.int64)
