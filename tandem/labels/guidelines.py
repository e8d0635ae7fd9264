"""The guideline version that people and judges followed, for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..statistics import Ints
from .facts import LabelKey
from .frame import Frame, Guideline, VariableFrame

UNKNOWN = -1
GuidelineVersions = Mapping[LabelKey, int]
"""The index of each label's guideline version."""


def with_guidelines(frame: Frame, versions: Sequence[Guideline], given: GuidelineVersions) -> Frame:
    """Add the versions of the guideline to a frame, if people followed more than one."""
    if len(versions) < 2:
        return frame
    made = {
        name: replace(of, guidelines=_versions_of(of, given))
        for name, of in frame.variables.items()
    }
    return replace(frame, variables=made, guidelines=tuple(versions))


def _versions_of(frame: VariableFrame, given: GuidelineVersions) -> dict[int, Ints]:
    units = {place: n for n, place in enumerate(frame.units.names)}
    both = (*frame.columns("human"), *frame.columns("judge"))
    columns = {frame.raters[n].name: n for n in both}
    found = {n: np.full(len(frame.codes), UNKNOWN, dtype=np.int64) for n in columns.values()}
    for place, version in given.items():
        unit = units.get((place.item, place.kind, place.unit))
        if place.variable == frame.name and place.rater in columns and unit is not None:
            found[columns[place.rater]][unit] = version
    return found


def people_codes_under(frame: VariableFrame, version: int) -> Ints:
    """Return the codes of people (U, R) that were given under a version, -1 for all others."""
    columns = frame.columns("human")
    if not columns:
        return frame.codes[:, columns]
    under = np.stack([frame.guidelines[n] for n in columns], axis=1) == version
    return np.where(under, frame.codes[:, columns], -1)


def judge_codes_under(frame: VariableFrame, judge: int, version: int) -> Ints:
    """Return the codes of a judge's column (U,) that were given under a version, -1 otherwise."""
    followed = frame.guidelines.get(judge)
    if followed is None:
        return np.full(len(frame.codes), -1, dtype=np.int64)
    return np.where(followed == version, frame.codes[:, judge], -1)
