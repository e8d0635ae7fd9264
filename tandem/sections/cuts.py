"""Section: a judge at every cut: its ratings at each threshold, and its scores at any value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..document import UNITS_HEAD, Cell, Table
from ..labels.reference import mean_rating
from ..labels.resampling import Sample
from ..statistics import (
    KAPPA,
    Estimate,
    Floats,
    Ints,
    ThresholdSweep,
    Value,
    cohen_kappa,
    majority,
    precision,
    recall,
    table_estimates,
    threshold_sweep,
)
from ..statistics.coefficients import Measure
from ..types import JSON
from .base import JUDGE, OF_JUDGES, SectionPart, Shown, blocks_of_judges, estimate_cells, joined
from .calibration import ANSWERS, ITS_SCORES
from .citations import cited_statistics

BELOW, REACHED = 0, 1


def _precision_of_side(table: Floats, side: int) -> Value:
    return precision(table)[..., side]


def _recall_of_side(table: Floats, side: int) -> Value:
    return recall(table)[..., side]


MEASURES: dict[str, Measure] = {
    "cohen_kappa": (cohen_kappa, "Cohen's kappa of reaching it", "all labels are on one side"),
    "precision": (
        partial(_precision_of_side, side=REACHED),
        "precision of reaching it",
        "the judge never reaches it",
    ),
    "recall": (
        partial(_recall_of_side, side=REACHED),
        "recall of reaching it",
        "people never reach it",
    ),
    "precision_below": (
        partial(_precision_of_side, side=BELOW),
        "precision of staying below it",
        "the judge never stays below it",
    ),
    "recall_below": (
        partial(_recall_of_side, side=BELOW),
        "recall of staying below it",
        "people never stay below it",
    ),
}


def thresholds(sample: Sample, codes: Ints) -> list[JSON]:
    """Return one row for each category but the lowest; none for nominal or too many categories.

    A rating reaches a threshold if its category ranks at or above it. People reach it by majority,
    without ties, or by their mean at the interval level. Each row has precision and recall for
    reaching the threshold and for remaining below it. CRUX prints both, as answerable and
    unanswerable (Ju and others 2025).
    """
    return [_row(sample, codes, rank) for rank in cuts(sample)]


def cuts(sample: Sample) -> range:
    """Return the ranks at which a scale is cut."""
    return range(1, sample.k) if sample.is_ordered and not sample.is_continuous else range(0)


def threshold_at(sample: Sample, rank: int) -> float:
    """Return the number of the category of a rank, as an integer if it is whole."""
    value = float(sample.frame.scale.values()[rank])
    return int(value) if value.is_integer() else value


def people_reach_rank(sample: Sample, rank: int) -> Ints:
    """Return whether people together put a unit at or above a rank: 1, 0, or -1 if undecided."""
    if sample.frame.scale.level != "interval":
        return majority(_cut(sample.frame.codes_of("human"), rank))[0]
    means, cut = mean_rating(sample.frame), sample.frame.scale.values()[rank]
    return np.where(np.isnan(means), -1, means >= cut).astype(np.int64)


def _row(sample: Sample, codes: Ints, rank: int) -> JSON:
    people, judge = people_reach_rank(sample, rank), _cut(codes, rank)
    made = table_estimates(
        people, judge, sample.clusters, 2, MEASURES, **sample.resampling_arguments
    )
    of_cut = {name: estimate.as_json() for name, estimate in made.items()}
    return {"threshold": threshold_at(sample, rank), **of_cut}


def _cut(codes: Ints, rank: int) -> Ints:
    return np.where(codes < 0, -1, np.where(codes >= rank, REACHED, BELOW)).astype(np.int64)


def curves(sample: Sample, column: int, reference: Ints) -> list[JSON]:
    """Return a curve for yes, or for reaching each threshold of a rating, if there are scores.

    A score at or above its own threshold counts as yes, or as reaching the rating.
    """
    return curves_of(sample, sample.frame.scores[:, column], reference)


def curves_of(sample: Sample, scores: Floats, reference: Ints) -> list[JSON]:
    """Return the curves of any scores (U,), NaN for a unit without one."""
    if not np.isfinite(scores).any():
        return []
    return [
        {**of, **_curve(sample, scores, people)} for of, people in _curve_targets(sample, reference)
    ]


def _curve_targets(sample: Sample, reference: Ints) -> Iterator[tuple[JSON, Ints]]:
    """Yield the subject of each curve, and whether people affirm it: 1, 0, or -1 if undecided."""
    scale = sample.frame.scale
    if {c for c in scale.categories if c not in scale.foreign} == ANSWERS:
        says = reference == scale.categories.index("yes")
        yield {"category": "yes"}, np.where(reference < 0, -1, says).astype(np.int64)
    for rank in cuts(sample):
        yield {"threshold": threshold_at(sample, rank)}, people_reach_rank(sample, rank)


def _curve(sample: Sample, scores: Floats, people: Ints) -> JSON:
    found = threshold_sweep(
        scores, people, sample.clusters, bands=False, **sample.resampling_arguments
    )
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


AREAS = {"roc_auc": "Area under ROC", "average_precision": "Average precision"}


_CUTS = {
    KAPPA.key: KAPPA.name,
    "precision": "Precision",
    "recall": "Recall",
    "precision_below": "Precision <",
    "recall_below": "Recall <",
}
"""Precision and recall of reaching a threshold; those with < are of staying below it."""


def _thresholds_table(cuts: list[JSON]) -> Table:
    """Return the table of thresholds; snapshots of older reports have one side."""
    shown = {key: words for key, words in _CUTS.items() if all(key in cut for cut in cuts)}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"≥ {cut['threshold']}", *estimate_cells(cut, shown)) for cut in cuts
    )
    return Table("Cut at a threshold", ("Threshold", *shown.values()), rows)


def curves_table(caption: str, curves: list[JSON], areas: dict[str, str], shown: Shown) -> Table:
    """Return the areas under a judge's curves, of its scores or of its grades."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"≥ {of['threshold']}" if "threshold" in of else of["category"],
            *estimate_cells(of, areas),
            shown.compared(of["roc_auc"]["n"]),
        )
        for of in curves
    )
    return Table(caption, ("Finding", *areas.values(), UNITS_HEAD), rows)


def scored_tables(shown: Shown) -> Iterator[Table]:
    """Yield the tables of a judge's scores: at each threshold, and over all of them."""
    if shown.block["thresholds"]:
        yield _thresholds_table(shown.block["thresholds"])
    if curves := shown.block.get("curves"):
        caption = f"Scores over all thresholds, against the {shown.block['reference']}"
        yield curves_table(caption, curves, AREAS, shown)


def cut_methods(report: JSON) -> list[str]:
    blocks, parts = blocks_of_judges(report), list[str]()
    if any(b["thresholds"] for b in blocks):
        parts.append(
            "Ratings were also cut at each threshold, with precision and recall "
            "of reaching it and of staying below it."
        )
    if areas := cited_statistics(b.get("curves") for b in blocks):
        parts.append(f"Scores were compared with people over all thresholds: {joined(areas)}.")
    return parts


PART = SectionPart(JUDGE, title=ITS_SCORES, tables=scored_tables)
METHODS = SectionPart(head=OF_JUDGES, methods=cut_methods)
