"""Section: reading steps of a judge's answers, and agreement with and without them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .. import statistics
from ..labels.resampling import Sample
from ..statistics import Bools, Ints
from ..types import JSON


def readings(sample: Sample, column: int, reference: Ints) -> JSON:
    """Return the key `reading` of a judge, or nothing if all its answers were read unchanged.

    `steps` counts the labels by each step that their answers needed. The share of units with
    people's label is given for these labels and for the others.
    """
    steps = sample.frame.readings.get(column)
    codes = sample.frame.codes[:, column]
    if steps is None or sample.is_continuous:
        return {}
    mended = (steps != "") & (codes >= 0)
    if not mended.any():
        return {}
    counts = Counter(step for each in steps[mended] for step in each.split("+"))
    plain = ~mended & (codes >= 0)
    return {
        "reading": {
            "as_is": {"labels": int(plain.sum()), **_agreement(sample, codes, reference, plain)},
            "mended": {"labels": int(mended.sum()), **_agreement(sample, codes, reference, mended)},
            "steps": dict(sorted(counts.items())),
        }
    }


def _agreement(sample: Sample, codes: Ints, reference: Ints, of: Bools) -> JSON:
    found = statistics.alignment_estimates(
        reference,
        np.where(of, codes, -1),
        sample.clusters,
        sample.k,
        **sample.resampling_arguments,
    )
    return {"agreement": found.overall["accuracy"].as_json()}
