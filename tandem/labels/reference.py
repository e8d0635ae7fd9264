"""People's joint labels as a reference, defined once so that reports and measures agree.

*people* are decided unit by unit: the most frequent label, or the mean if labels are numbers. *mean
of people* is another figure: the value of each person's own labels first, and then the mean over
people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..statistics import Bools, Floats, Ints, majority
from .facts import Scale
from .frame import VariableFrame

HUMAN = "human"
Rule = Literal["majority", "mean"]
JOINT_LABEL_NAMES: Mapping[str, str] = {"majority": "people's majority", "mean": "people's mean"}
"""The name of the reference under each rule."""


@dataclass(frozen=True)
class Reference:
    """The labels that judges are compared with, by unit. `codes` (U,) are categories, -1 = none.

    `values` (U,) are the numbers of these categories, or people's mean, NaN = none. In the latter
    case the code is the nearest category, rounding halves up. `ties` (U,) have no code.
    """

    rule: Rule
    codes: Ints
    values: Floats
    ties: Bools


def reference(frame: VariableFrame, kind: str = HUMAN) -> Reference:
    """Combine the raters of a kind: the mean for interval-level variables, otherwise the majority.

    Interval-level variables never tie, since every unit has a mean.
    """
    return reference_of(frame.codes_of(kind), frame.scale)


def reference_of(codes: Ints, scale: Scale) -> Reference:
    """Combine the raters of codes (U, R), -1 = none, as `reference` does."""
    if scale.level == "interval":
        means = _means(category_numbers(scale, codes))
        return Reference("mean", _nearest(scale, means), means, np.zeros(len(means), np.bool_))
    together, ties = majority(codes)
    return Reference("majority", together, category_numbers(scale, together), ties)


def joint_labels(frame: VariableFrame) -> Floats:
    """Return people's joint labels for scores and measures, (U,); NaN without one.

    This is the position of the most frequent category, NaN for ties, or the mean if categories are
    ordered.
    """
    if frame.scale.is_ordered:
        return mean_rating(frame)
    codes, _ = majority(frame.codes_of(HUMAN))
    return np.where(codes >= 0, codes, np.nan)


def mean_rating(frame: VariableFrame, kind: str = HUMAN) -> Floats:
    """Return each unit's mean over a kind of raters, (U,); NaN without a label."""
    return _means(category_numbers(frame.scale, frame.codes_of(kind)))


def category_numbers(scale: Scale, codes: Ints) -> Floats:
    """Return codes as the numbers of their categories, NaN without a label."""
    values = np.append(scale.values(), np.nan)
    found: Floats = values[codes]
    return found


def _means(values: Floats) -> Floats:
    there = np.isfinite(values)
    total = np.where(there, values, 0.0).sum(axis=1)
    means: Floats = np.divide(
        total, there.sum(axis=1), out=np.full(len(values), np.nan), where=there.any(axis=1)
    )
    return means


def _nearest(scale: Scale, means: Floats) -> Ints:
    """Return the people's own categories with numbers nearest to the means (U,), -1 for NaN.

    Halfway between two, the higher one is taken, as always when ratings are rounded.
    """
    numbers = scale.values()
    places = np.flatnonzero(scale.own())
    places = places[np.argsort(numbers[places], kind="stable")]
    if not len(places):
        return np.full(len(means), -1, np.int64)
    halves = (numbers[places][1:] + numbers[places][:-1]) / 2
    found = places[np.searchsorted(halves, means, side="right").clip(0, len(halves))]
    return np.where(np.isfinite(means), found, -1).astype(np.int64)
