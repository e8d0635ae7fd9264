"""Orders of systems held against each other: as pairs, and as a matrix of those who gave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.measures.agreeing import Ordering

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
