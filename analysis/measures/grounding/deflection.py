"""Deflection: whether a system declines where the passages hold no answer, and only there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import NO, YES, known
from analysis.statistics import Floats, Ints


@dataclass(frozen=True)
class Deflections:
    """N responses: `deflected` and `deflecting` (N,) are 1, 0 or -1 = unknown.

    `deflected` is the response's own, `deflecting` whether people deflected the question.
    """

    deflected: Ints
    deflecting: Ints


def deflection_rate(of: Deflections, options: Options, where: int) -> Floats:
    """1 where a response deflects, (N,), NaN where people did not do as `where` says.

    The mean where people deflected is the true positive rate, elsewhere the false positive rate
    (Sorodoc and others 2025).
    """
    values = known(of.deflected)
    if options.missing == ZERO:
        values = np.nan_to_num(values, nan=0.0)
    return np.where(of.deflecting == where, values, np.nan)


CITATION = "Sorodoc and others, GaRAGe, 2025"
MEASURES = (
    Measure(
        "Deflection:TP",
        "deflections",
        "Share of responses that decline where people found too little to answer.",
        CITATION,
        partial(deflection_rate, where=YES),
        "people deflected none of these questions",
        ("missing", "refusals"),
    ),
    Measure(
        "Deflection:FP",
        "deflections",
        "Share of responses that decline where people answered.",
        CITATION,
        partial(deflection_rate, where=NO),
        "people answered none of these questions",
        ("missing", "refusals"),
    ),
)
