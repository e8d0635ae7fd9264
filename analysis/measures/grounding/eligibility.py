"""Eligibility: whether a response serves who asked."""

from __future__ import annotations

from analysis.measures.base import Measure
from analysis.measures.grounding.responses import Responses
from analysis.measures.options import Options
from analysis.measures.shares import known
from analysis.statistics import Floats


def eligibility(of: Responses, options: Options) -> Floats:
    """1 where a response has no or minor issues, 0 where major, (N,) (Sorodoc and others 2025).

    NaN where nobody was asked, and, unless `missing` is zero, where the judgement failed: the paper
    says nothing of such, and `zero` takes them for major issues.
    """
    return known(of.eligible, of.asked, options.missing)


ELIGIBILITY = Measure(
    "Eligibility",
    "responses",
    "Share of responses without major issues.",
    "Sorodoc and others, GaRAGe, 2025",
    eligibility,
    "no response was rated for eligibility",
    ("missing",),
)
