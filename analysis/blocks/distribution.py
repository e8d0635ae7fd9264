"""How often each rater gave each category, and how many people labelled a unit."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analysis.blocks.resampling import JSON
from analysis.frames import VariableFrame


def distribution(frame: VariableFrame) -> JSON:
    """Counts by rater and category, units by number of human labels, and unanimous units.

    A unit is unanimous where two or more people labelled it and all gave the same category.
    """
    codes, k = frame.of("human"), len(frame.scale.categories)
    labels = (codes >= 0).sum(axis=1)
    lowest = np.where(codes >= 0, codes, k).min(axis=1, initial=k)
    same = lowest == codes.max(axis=1, initial=-1)
    return {
        "counts": {
            frame.raters[n].name: _by_category(frame, n)
            for n in (*frame.columns("human"), *frame.columns("judge"))
        },
        "labels_per_unit": {str(n): units for n, units in sorted(Counter(labels.tolist()).items())},
        "unanimous": int(((labels >= 2) & same).sum()),
    }


def _by_category(frame: VariableFrame, column: int) -> dict[str, int]:
    codes = frame.codes[:, column]
    counts = np.bincount(codes[codes >= 0], minlength=len(frame.scale.categories))
    return dict(zip(frame.scale.categories, counts.tolist(), strict=True))
