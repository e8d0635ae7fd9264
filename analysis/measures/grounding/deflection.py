"""Deflection: whether a system declines where the passages hold no answer, and only there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.options import Options
from analysis.measures.shares import NO, YES, known
from analysis.statistics import Bools, Floats, Ints


@dataclass(frozen=True)
class Deflections:
    """N responses: `deflected` and `deflecting` (N,) are 1, 0 or -1 = unknown.

    `deflected` is the response's own, `deflecting` whether people deflected the question. `asked`
    (N,) says of which responses it was asked whether they deflect.
    """

    deflected: Ints
    deflecting: Ints
    asked: Bools


def deflection_rate(of: Deflections, options: Options, where: int) -> Floats:
    """1 where a response deflects, (N,), NaN where people did not do as `where` says.

    The mean where people deflected is the true positive rate, elsewhere the false positive rate
    (Sorodoc and others 2025). Under `missing` zero a judgement that failed is an attempt to
    answer, which lowers both rates: of the false positives that is flattery.
    """
    values = known(of.deflected, of.asked, options.missing)
    return np.where(of.deflecting == where, values, np.nan)


CITATION = "Sorodoc and others, GaRAGe, 2025"
DEFLECTION = (
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
