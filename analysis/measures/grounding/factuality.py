"""Factuality, by all passages or by the relevant ones alone, without and with eligibility."""

from __future__ import annotations

from analysis.measures.base import Measure
from analysis.measures.grounding.eligibility import eligibility
from analysis.measures.grounding.responses import Responses
from analysis.measures.options import Options
from analysis.measures.shares import both, every
from analysis.statistics import Floats


def unadjusted_factuality(of: Responses, options: Options) -> Floats:
    """1 where every sentence is supported or needs no evidence, else 0, (N,).

    After Sorodoc and others 2025. NaN for a response without sentences, and, unless `missing` is
    zero, for one with a sentence that has no label.
    """
    return every(of.borne, of.row, of.rows, options.missing)


def factuality(of: Responses, options: Options) -> Floats:
    """1 where a response is eligible and every sentence is borne out, else 0, (N,)."""
    return both(eligibility(of, options), unadjusted_factuality(of, options))


NO_SENTENCES = "no response has labels for all of its sentences"
NOT_BOTH = "no response has both eligibility and labels for all of its sentences"
NOTHING_RELEVANT = ", and a relevant passage to hold them to"
RELEVANT = "relevant-passages"
CITATION = "Sorodoc and others, GaRAGe, 2025"


def _measure(name: str, family: str, adjusted: bool, passages: str) -> Measure:
    undefined = NOT_BOTH if adjusted else NO_SENTENCES
    words = "eligible responses" if adjusted else "responses"
    return Measure(
        name,
        family,
        f"Share of {words} of which {passages} bear out every sentence.",
        CITATION,
        factuality if adjusted else unadjusted_factuality,
        undefined + NOTHING_RELEVANT if family == RELEVANT else undefined,
        ("missing",),
    )


FACTUALITY = (
    _measure("uFactuality", "all-passages", False, "the passages"),
    _measure("Factuality", "all-passages", True, "the passages"),
    _measure("uRAF", RELEVANT, False, "the relevant passages"),
    _measure("RAF", RELEVANT, True, "the relevant passages"),
)
