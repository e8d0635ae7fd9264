"""KPR: key point recall."""

from __future__ import annotations

from analysis.measures.base import Measure
from analysis.measures.key_points.points import Points
from analysis.measures.options import Options
from analysis.measures.shares import share
from analysis.statistics import Floats


def key_point_recall(points: Points, options: Options) -> Floats:
    """KPR = key points that the answer entails / key points of its query, (N,).

    After Qi and others 2024, section 4; only a yes counts, neutral does not. The system's value is
    the mean over its answers. NaN for a query without key points.
    """
    return share(points.expressed, points.row, points.rows, options.missing)


RECALL = Measure(
    "KPR",
    "points",
    "Share of the query's key points that the answer makes.",
    "Qi and others, Long2RAG, 2024",
    key_point_recall,
    "no key point was labelled",
    ("missing",),
)
