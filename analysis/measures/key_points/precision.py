"""KPP: key point precision."""

from __future__ import annotations

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.key_points.points import AnswerPoints
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import share
from analysis.statistics import Floats

UNASKED = (
    "nobody said which points of the answers their context supports: label a campaign of "
    "key-point-verification with points=answers"
)


def key_point_precision(points: AnswerPoints, options: Options) -> Floats:
    """KPP = points of the answer that its retrieved texts support / points of the answer, (N,).

    Qi and others 2024, section 6.4: the share of the key points in the generated response that are
    present in the retrieved documents. NaN where no point has a label, and, unless `unexpressed` is
    zero, where the answer is known to make none.
    """
    values = share(points.supported, points.row, points.rows, options.missing)
    return np.where(points.silent, 0.0, values) if options.unexpressed == ZERO else values


PRECISION = Measure(
    "KPP",
    "answer-points",
    "Share of the key points that the answer itself makes which its retrieved texts support.",
    "Qi and others, Long2RAG, 2024",
    key_point_precision,
    UNASKED,
    ("unexpressed", "missing"),
)
