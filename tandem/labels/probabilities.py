"""The probabilities that judges gave to all codes, beside the labels that they chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tandem.grouping import grouped

from ..statistics import Floats
from .facts import LabelKey
from .frame import Frame, VariableFrame

KEY = "probabilities"
"""The member of a label's `meta` that has them, by code."""
CodeProbabilities = Mapping[LabelKey, Mapping[str, float]]


def probabilities_of(meta: Any) -> dict[str, float] | None:
    """Return the probabilities in a label's `meta`, or None if there are no usable ones."""
    found = meta.get(KEY) if isinstance(meta, dict) else None
    if not isinstance(found, dict) or not found:
        return None
    numbers = {
        code: float(p)
        for code, p in found.items()
        if isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1
    }
    return numbers if len(numbers) == len(found) and sum(numbers.values()) > 0 else None


def with_probabilities(frame: Frame, given: CodeProbabilities) -> Frame:
    """Add the probabilities of judges' labels to the variables of a frame."""
    if not given:
        return frame
    by_variable = grouped((place.variable, (place, shares)) for place, shares in given.items())
    made = {
        name: replace(of, probabilities=_columns(of, by_variable[name]))
        if name in by_variable
        else of
        for name, of in frame.variables.items()
    }
    return replace(frame, variables=made)


def _columns(
    frame: VariableFrame, given: Iterable[tuple[LabelKey, Mapping[str, float]]]
) -> dict[int, Floats]:
    """Return the shares of the categories (U, K) by column, NaN where a judge gave none.

    Escapes are left out, and the others renormalised. A code that is not listed has no share.
    """
    units = {place: n for n, place in enumerate(frame.units.names)}
    columns = {frame.raters[n].name: n for n in frame.columns("judge")}
    code = {category: n for n, category in enumerate(frame.scale.categories)}
    found: dict[int, Floats] = {}
    for place, shares in given:
        column = columns.get(place.rater)
        unit = units.get((place.item, place.kind, place.unit))
        own = {code[c]: p for c, p in shares.items() if c in code}
        whole = sum(own.values())
        if column is None or unit is None or not whole:
            continue
        if column not in found:
            found[column] = np.full((len(frame.codes), len(code)), np.nan)
        row = found[column][unit]
        row[:] = 0.0
        for n, p in own.items():
            row[n] = p / whole
    return found
