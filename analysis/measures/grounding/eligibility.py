"""Eligibility: whether a response serves who asked."""

from __future__ import annotations

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.grounding.responses import Responses
from analysis.measures.options import ZERO, Options
from analysis.measures.shares import known
from analysis.statistics import Floats


def eligibility(of: Responses, options: Options) -> Floats:
    """1 where a response has no or minor issues, 0 where major, (N,) (Sorodoc and others 2025)."""
    values = known(of.eligible)
    return np.nan_to_num(values, nan=0.0) if options.missing == ZERO else values


MEASURE = Measure(
    "Eligibility",
    "responses",
    "Share of responses without major issues.",
    "Sorodoc and others, GaRAGe, 2025",
    eligibility,
    "no response was rated for eligibility",
    ("missing",),
)
