"""Ratings cut at a threshold: the judge's side of each cut against the people's."""

from __future__ import annotations

from functools import partial

import numpy as np

from analysis.blocks.resampling import JSON, Sample
from analysis.people import mean_rating
from analysis.statistics import (
    Floats,
    Ints,
    Value,
    cohen_kappa,
    majority,
    precision,
    recall,
    table_estimates,
)
from analysis.statistics.coefficients import Measure

BELOW, REACHED = 0, 1


def _right(table: Floats, side: int) -> Value:
    return precision(table)[..., side]


def _found(table: Floats, side: int) -> Value:
    return recall(table)[..., side]


MEASURES: dict[str, Measure] = {
    "cohen_kappa": (cohen_kappa, "Cohen's kappa of reaching it", "all labels are on one side"),
    "precision": (
        partial(_right, side=REACHED),
        "precision of reaching it",
        "the judge never reaches it",
    ),
    "recall": (partial(_found, side=REACHED), "recall of reaching it", "people never reach it"),
    "precision_below": (
        partial(_right, side=BELOW),
        "precision of staying below it",
        "the judge never stays below it",
    ),
    "recall_below": (
        partial(_found, side=BELOW),
        "recall of staying below it",
        "people never stay below it",
    ),
}


def thresholds(sample: Sample, codes: Ints) -> list[JSON]:
    """One row for each category but the lowest; none for nominal ones or too many.

    A rating reaches a threshold if its category ranks at or above it; people reach it by majority,
    ties left out, or by their mean where the level is interval. Precision and recall are of both
    sides, as CRUX prints them for answerable and unanswerable (Ju and others 2025): of reaching it,
    and of staying below it.
    """
    return [_row(sample, codes, rank) for rank in cuts(sample)]


def cuts(sample: Sample) -> range:
    """The ranks at which a scale is cut."""
    return range(1, sample.k) if sample.is_ordered and not sample.is_continuous else range(0)


def threshold_at(sample: Sample, rank: int) -> float:
    """The number of the category of a rank, whole where it is."""
    value = float(sample.frame.scale.values()[rank])
    return int(value) if value.is_integer() else value


def people_reach(sample: Sample, rank: int) -> Ints:
    """Whether people together put a unit at or above a rank: 1, 0, or -1 for a tie or no label."""
    if sample.frame.scale.level != "interval":
        return majority(_cut(sample.frame.of("human"), rank))[0]
    means, cut = mean_rating(sample.frame), sample.frame.scale.values()[rank]
    return np.where(np.isnan(means), -1, means >= cut).astype(np.int64)


def _row(sample: Sample, codes: Ints, rank: int) -> JSON:
    people, judge = people_reach(sample, rank), _cut(codes, rank)
    made = table_estimates(people, judge, sample.clusters, 2, MEASURES, **sample.drawing)
    of_cut = {name: estimate.as_json() for name, estimate in made.items()}
    return {"threshold": threshold_at(sample, rank), **of_cut}


def _cut(codes: Ints, rank: int) -> Ints:
    return np.where(codes < 0, -1, np.where(codes >= rank, REACHED, BELOW)).astype(np.int64)
