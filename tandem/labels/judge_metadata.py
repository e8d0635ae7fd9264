"""The metadata of judges' labels: probabilities, reading steps, grades, and own sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .facts import LabelKey
from .frame import Frame
from .grades import grade_of, with_grades
from .own_sentences import own_codes_of, with_own_sentences
from .probabilities import probabilities_of, with_probabilities
from .readings import reading_steps_of, with_readings

Metas = Iterable[tuple[LabelKey, Mapping[str, Any]]]
"""The metadata of judges' first labels, as labels store it."""


def with_judge_metadata(
    frame: Frame, metas: Metas, steps: Mapping[LabelKey, str] | None = None
) -> Frame:
    """Add the metadata of labels; `steps` are the reading steps of labels that are not in it."""
    found = list(metas)
    shares = {place: p for place, meta in found if (p := probabilities_of(meta))}
    read = {place: s for place, meta in found if (s := reading_steps_of(meta))} | dict(steps or {})
    frame = with_readings(with_probabilities(frame, shares), read)
    frame = with_grades(frame, {place: g for place, meta in found if (g := grade_of(meta))})
    own = {place: codes for place, meta in found if (codes := own_codes_of(meta))}
    return with_own_sentences(frame, own)
