"""Whether a judge's probabilities of yes mean what they say, against the majority of people."""

from __future__ import annotations

import numpy as np

from analysis import statistics
from analysis.blocks.resampling import JSON, Sample
from analysis.statistics import Ints

ANSWERS = {"yes", "no"}


def calibration(sample: Sample, column: int, reference: Ints) -> JSON:
    """The key `calibration` of a judge, or nothing where it has no probabilities of yes."""
    scale, p = sample.frame.scale, sample.frame.scores[:, column]
    there = np.isfinite(p) & (reference >= 0)
    own = {c for c in scale.categories if c not in scale.foreign}
    if own != ANSWERS or not there.any() or p[there].min() < 0 or p[there].max() > 1:
        return {}
    yes = np.where(reference < 0, -1, reference == scale.categories.index("yes"))
    found = statistics.calibration(p, yes.astype(np.int64), sample.clusters, **sample.drawing)
    return {
        "calibration": {
            "brier": found.brier.as_json(),
            "expected_calibration_error": found.expected_calibration_error.as_json(),
            "reliability": [
                {
                    "units": each.units,
                    "probability": each.probability,
                    "share": each.share.as_json(),
                }
                for each in found.reliability
            ],
        }
    }
