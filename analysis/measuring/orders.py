"""Systems tested in pairs, and their orders held against each other: as pairs and as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.measures.agreeing import Ordering, Setting
from analysis.measures.base import Bounds

JSON = dict[str, Any]


def orders_as_json(found: Sequence[Ordering]) -> list[JSON]:
    """Each pair with its tau."""
    return [{"a": each.a, "b": each.b, "kendall": each.kendall.as_json()} for each in found]


def matrix_of(pairs: Sequence[JSON]) -> JSON | None:
    """The taus of pairs as a square of all who stand in them, null where two were not compared.

    None without pairs.
    """
    if not pairs:
        return None
    names = list(dict.fromkeys(pair[side] for side in ("a", "b") for pair in pairs))
    taus = {(pair["a"], pair["b"]): pair["kendall"]["value"] for pair in pairs}
    square = [[1.0 if a == b else taus.get((a, b), taus.get((b, a))) for b in names] for a in names]
    return {"evaluators": names, "kendall": square}


def pairs_as_json(found: Sequence[Setting], bounds: Bounds) -> list[JSON]:
    """Pairs of systems; a difference is no larger than the measure's bounds let it be."""
    most = bounds[1] - bounds[0]
    return [
        {
            "a": each.a,
            "b": each.b,
            "difference": each.test.difference.within(-most, most).as_json(),
            **p_values(each),
            "method": each.test.method,
        }
        for each in found
    ]


def p_values(of: Setting) -> JSON:
    """The p-value of a pair, before and after the adjustment, or why there is none."""
    found = {"p_value": of.test.p_value, "adjusted_p_value": of.adjusted_p_value}
    return found if of.test.reason is None else {**found, "reason": of.test.reason}
