"""Tests of judges' gaps to people: of a difference, adjusted over judges, and of equivalence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..statistics import Estimate, holm, interval_p_value, is_equivalent
from ..types import JSON

TWO_WAY = "not tested with resampled raters"


def equivalence(narrow: Mapping[str, Estimate], margin: float) -> JSON:
    """Return the key `equivalence` of a judge, from the 90 % intervals of its gaps."""
    return {
        "margin": margin,
        **{
            name: {"equivalent": is_equivalent(each, margin), "estimate": each.as_json()}
            for name, each in narrow.items()
        },
    }


def add_gap_tests(judges: JSON, clusters: int) -> None:
    """Add the key `gap_tests` to each judge of a variable: p-values, and adjusted over judges.

    The judges are a family (Holm 1979). Adjusted p-values of several judges are those of the longer
    side of each interval. A gap without an interval has none.
    """
    for block in judges.values():
        block["gap_tests"] = {name: _untested() for name in block["gap"]}
    names = dict.fromkeys(name for block in judges.values() for name in block["gap"])
    for name in names:
        gaps = {judge: block["gap"][name] for judge, block in judges.items()}
        known = {judge: gap for judge, gap in gaps.items() if gap["low"] is not None}
        ends = [(gap["value"], gap["low"], gap["high"]) for gap in known.values()]
        several = len(known) > 1
        found = [interval_p_value(*each, clusters) for each in ends]
        longer = [interval_p_value(*each, clusters, longer=several) for each in ends]
        adjusted = holm(np.array(longer, float)).tolist()
        for judge, p, after in zip(known, found, adjusted, strict=True):
            tests = judges[judge]["gap_tests"][name]
            tests |= {"p_value": p, "adjusted_p_value": after, "judges": len(known)}


def _untested() -> JSON:
    return {"p_value": None, "adjusted_p_value": None, "judges": 0}
