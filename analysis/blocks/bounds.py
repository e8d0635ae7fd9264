"""A judge's headline as if all of its missing answers were right, and as if they were wrong."""

from __future__ import annotations

import numpy as np

from analysis.blocks.resampling import JSON, Sample
from analysis.people import reference
from analysis.statistics import Ints, accuracy, cohen_kappa, confusion


def bounds(sample: Sample, column: int) -> JSON:
    """The key `bounds` of a judge, or nothing where no answer is missing.

    Only units on which people together say something count. Wrong is, for Cohen's kappa, the
    people's most frequent other category; with more than two there might be a wrong answer that
    leaves kappa lower still.
    """
    frame = sample.frame
    people = reference(frame).codes
    codes, name = frame.codes[:, column], frame.raters[column].name
    lost = np.zeros(len(codes), dtype=bool)
    lost[[a.unit for a in frame.asides if a.is_missing and a.rater == name]] = True
    lost &= people >= 0
    if not lost.any() or sample.is_continuous:
        return {}
    k = max(sample.k, 2)
    tables = [
        confusion(people, np.where(lost, as_if, codes), k) for as_if in (_others(people), people)
    ]
    kappas = [float(cohen_kappa(table)) for table in tables]
    return {
        "bounds": {
            "units": int(tables[0].sum()),
            "missing": int(lost.sum()),
            "percent": [float(accuracy(table)) for table in tables],
            "cohen_kappa": kappas if np.isfinite(kappas).all() else None,
        }
    }


def _others(reference: Ints) -> Ints:
    """The most frequent other category than each unit's own."""
    counts = np.bincount(reference[reference >= 0], minlength=2)
    first, second = np.argsort(-counts, kind="stable")[:2]
    return np.where(reference == first, second, first).astype(np.int64)
