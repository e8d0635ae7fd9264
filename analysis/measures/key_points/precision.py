"""KPP: key point precision."""

from __future__ import annotations

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.key_points.points import Points
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import MISSING, YES, count
from analysis.statistics import Bools, Floats
from analysis.statistics.arrays import ratio


def key_point_precision(points: Points, options: Options) -> Floats:
    """KPP = expressed key points that stand in the retrieved texts / expressed key points, (N,).

    After Qi and others 2024. A point stands in the retrieved texts where a passage that it was
    taken from is in the answer's context (one of several, where points were merged): the batch says
    so, nobody is asked. NaN where the context is unknown, and, unless `unexpressed` is zero, where
    the answer expresses no point. Without a label nobody knows whether it does; under
    `missing = zero` it then expresses none.
    """
    expressed = points.expressed == YES
    known = expressed & (points.retrieved != MISSING)
    held = known & (points.retrieved == YES)
    values = ratio(count(held, points.row, points.rows), count(known, points.row, points.rows))
    if options.unexpressed == ZERO:
        silent = _known(points, options) & (count(expressed, points.row, points.rows) == 0)
        values = np.where(silent, 0.0, values)
    return values


def _known(points: Points, options: Options) -> Bools:
    """Which answers are known to express their points or not, (N,)."""
    told = np.full(len(points.row), options.missing == ZERO) | (points.expressed != MISSING)
    return count(told, points.row, points.rows) > 0


MEASURE = Measure(
    "KPP",
    "points",
    "Share of the key points that the answer makes which its retrieved texts hold.",
    "Qi and others, Long2RAG, 2024",
    key_point_precision,
    "no answer expresses a key point with a known context",
    ("unexpressed", "missing"),
)
