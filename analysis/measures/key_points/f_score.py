"""KPF: key point precision and recall in one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.key_points.points import Both
from analysis.measures.key_points.precision import key_point_precision
from analysis.measures.key_points.recall import key_point_recall
from analysis.measures.options import ZERO, Options
from analysis.statistics import Floats
from analysis.statistics.arrays import ratio


def key_point_f(points: Both, options: Options) -> Floats:
    """KPF = 2 KPP KPR / (KPP + KPR) of each answer, (N,); 0 where both are 0.

    The printed figures of Qi and others 2024 are not the harmonic mean of the printed averages, so
    it is taken answer by answer (our inference). An answer that makes no point has 0. NaN where
    either is unknown.
    """
    recall = key_point_recall(points.of_queries, options)
    precision = key_point_precision(points.of_answers, replace(options, unexpressed=ZERO))
    total = precision + recall
    return np.where(total == 0, 0.0, ratio(2 * precision * recall, total))


F_SCORE = Measure(
    "KPF",
    "both-points",
    "Harmonic mean of key point precision and recall of each answer.",
    "Qi and others, Long2RAG, 2024",
    key_point_f,
    "no answer has both KPR and KPP from the same evaluator: give the campaign in which points of "
    "answers are held against their context",
    ("missing",),
)
