"""Reading steps of judges' answers (the ladder), from the meta of their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .facts import LabelKey
from .frame import Frame, Texts, VariableFrame

KEY = "reading"
"""The member of a label's `meta`, the steps joined by +. Absent if none was needed."""
ReadingSteps = Mapping[LabelKey, str]


def reading_steps_of(meta: Any) -> str:
    """Return the steps in a label's `meta`, empty if it has none."""
    found = meta.get(KEY) if isinstance(meta, dict) else None
    return found if isinstance(found, str) else ""


def with_readings(frame: Frame, given: ReadingSteps) -> Frame:
    """Add the steps by which judges' labels were read to the variables of a frame."""
    if not given:
        return frame
    made = {name: replace(of, readings=texts_of(of, given)) for name, of in frame.variables.items()}
    return replace(frame, variables=made)


def texts_of(frame: VariableFrame, given: ReadingSteps) -> dict[int, Texts]:
    """Return a text for each unit (U,) by judge's column, empty if there is none."""
    units = {place: n for n, place in enumerate(frame.units.names)}
    columns = {frame.raters[n].name: n for n in frame.columns("judge")}
    found: dict[int, Texts] = {}
    for place, text in given.items():
        column = columns.get(place.rater)
        unit = units.get((place.item, place.kind, place.unit))
        if place.variable == frame.name and column is not None and unit is not None:
            found.setdefault(column, np.full(len(frame.codes), "", dtype=object))[unit] = text
    return found
