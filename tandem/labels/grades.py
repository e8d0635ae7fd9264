"""Judges' grades: labels on a judge's own scale, before its file mapped them to a code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .facts import LabelKey
from .frame import Frame
from .readings import texts_of

KEY = "grade"
"""The key in a label's stored `meta`. Absent if the grade equals the label."""


def grade_of(meta: Any) -> str:
    """Return the grade in a label's `meta`, empty if it has none."""
    found = meta.get(KEY) if isinstance(meta, dict) else None
    return found if isinstance(found, str) else ""


def with_grades(frame: Frame, given: Mapping[LabelKey, str]) -> Frame:
    """Add judges' grades to the variables of a frame."""
    if not given:
        return frame
    made = {name: replace(of, grades=texts_of(of, given)) for name, of in frame.variables.items()}
    return replace(frame, variables=made)
