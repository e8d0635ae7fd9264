"""Section: calibration of a judge's probabilities against people's labels.

A judge of yes and no is compared by its probability of yes. A judge of other categories is compared
by all its probabilities, and by that of its most probable category.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import statistics
from ..document import UNITS_HEAD, Cell, Number, Table, units_in_bin
from ..labels.resampling import Sample
from ..statistics import Ints
from ..statistics.curves import Bin
from ..types import JSON
from .base import JUDGE, SectionPart, Shown, estimate_rows

ANSWERS = {"yes", "no"}
ITS_SCORES = "Its scores"


def calibration(sample: Sample, column: int, reference: Ints) -> JSON:
    """Return the key `calibration` of a judge, or nothing if it has no probabilities.

    `of` says which probability is meant: that of `yes`, or that of the most probable `label`.
    """
    scale = sample.frame.scale
    own = {c for c in scale.categories if c not in scale.foreign}
    if own == ANSWERS:
        return _of_yes(sample, column, reference)
    return _of_label(sample, column, reference)


def _of_yes(sample: Sample, column: int, reference: Ints) -> JSON:
    scale, p = sample.frame.scale, sample.frame.scores[:, column]
    there = np.isfinite(p) & (reference >= 0)
    if not there.any() or p[there].min() < 0 or p[there].max() > 1:
        return {}
    yes = np.where(reference < 0, -1, reference == scale.categories.index("yes"))
    found = statistics.calibration(
        p, yes.astype(np.int64), sample.clusters, **sample.resampling_arguments
    )
    return {
        "calibration": {
            "of": "yes",
            "brier": found.brier.as_json(),
            "expected_calibration_error": found.expected_calibration_error.as_json(),
            "reliability": _bins(found.reliability),
        }
    }


def _of_label(sample: Sample, column: int, reference: Ints) -> JSON:
    p = sample.frame.probabilities.get(column)
    if p is None or sample.is_continuous or sample.k < 2:
        return {}
    if not (np.isfinite(p).all(axis=1) & (reference >= 0)).any():
        return {}
    found = statistics.category_calibration(
        p, reference, sample.clusters, sample.is_ordered, **sample.resampling_arguments
    )
    ranked = found.ranked_probability_score
    return {
        "calibration": {
            "of": "label",
            "brier": found.brier.as_json(),
            **({} if ranked is None else {"ranked_probability_score": ranked.as_json()}),
            "expected_calibration_error": found.expected_calibration_error.as_json(),
            "reliability": _bins(found.reliability),
        }
    }


def _bins(reliability: Sequence[Bin]) -> list[JSON]:
    return [
        {
            "units": each.units,
            "probability": each.probability,
            "lowest": each.lowest,
            "highest": each.highest,
            "share": each.share.as_json(),
        }
        for each in reliability
    ]


SCORES = {
    "brier": "Brier score",
    "ranked_probability_score": "Ranked probability score",
    "expected_calibration_error": "Expected calibration error",
}


OF = {"yes": "yes", "label": "its label"}


SHARES = {"yes": "People's share of yes", "label": "Share that people label alike"}


def calibration_tables(shown: Shown) -> list[Table]:
    """Return the scores and the reliability by bins; older snapshots are about yes."""
    if not (found := shown.block.get("calibration")):
        return []
    of, probability = found.get("of", "yes"), "the probability of "
    bins: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Number(each["probability"]),
            Number.from_estimate(each["share"]),
            units_in_bin(shown.block, shown.judge, each),
        )
        for each in found["reliability"]
    )
    against = f"against the {shown.block['reference']}"
    return [
        Table(f"Calibration of {probability}{OF[of]}, {against}",
              ("Score", "Value", UNITS_HEAD), estimate_rows(found, SCORES, shown.compared)),
        Table(f"Reliability of {probability}{OF[of]}, in bins",
              ("Mean probability", SHARES[of], UNITS_HEAD), bins),
    ]  # fmt: skip


PART = SectionPart(JUDGE, title=ITS_SCORES, tables=calibration_tables)
