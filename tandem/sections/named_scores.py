"""A score of systems by its name: one that reports show, or one that is read from a variable.

Reports have no score for a variable with few codes, since a mean of codes says little by itself. A
comparison needs one number from 0 to 1 for each query, and says from which codes it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..labels.frame import Frame, VariableFrame
from ..labels.reference import category_numbers
from ..labels.resampling import Scores, bounds_of
from ..similar import did_you_mean
from ..statistics import SHARE, UNBOUNDED, Bounds, Floats
from .systems import is_of_answers, means_of_items, scores_of_items


class UnknownScoreError(ValueError):
    """There is no score of this name, or none was named where there are several."""


@dataclass(frozen=True)
class NamedScore:
    """A score of items, its name, its variable, and in words what its ends, 0 and 1, mean."""

    name: str
    variable: str
    scores: Scores
    meaning: str


def score_called(frame: Frame, name: str = "") -> NamedScore:
    """Return a score of a frame by its name, or its only one.

    The names are those of the report's scores; a variable's name, if its codes are ordered or yes
    and no; or VARIABLE:CODE, the share of the units with that code. Raises UnknownScoreError.
    """
    made = _named_scores(frame)
    if not name and len(made) == 1:
        name = next(iter(made))
    if name in made:
        return made[name]()
    variable, _, code = name.rpartition(":")
    if variable in frame.variables and code in frame.variables[variable].scale.categories:
        return _share(frame, frame.variables[variable], name, code)
    names = ", ".join(made) or "none"
    if not name:
        raise UnknownScoreError(f"name the score that compares systems: {names}, or VARIABLE:CODE")
    other = did_you_mean(name, made, f"there are {names}, and VARIABLE:CODE")
    raise UnknownScoreError(f"no score {name!r} in these labels: {other}")


def _named_scores(frame: Frame) -> dict[str, Callable[[], NamedScore]]:
    """Return what makes each score; one of the report hides that of its variable's codes."""
    shown = {
        name: (lambda name=name, scores=scores: _of_report(name, scores))
        for name, scores in scores_of_items(frame).items()
    }
    summarised = {scores.labels.name for scores in scores_of_items(frame).values()}
    ranked = {
        name: (lambda labels=labels: _ranks(frame, labels))
        for name, labels in frame.variables.items()
        if name not in summarised
        and (labels.scale.level == "ordinal" or is_of_answers(set(labels.scale.categories)))
    }
    return {**shown, **ranked}


def _of_report(name: str, scores: Scores) -> NamedScore:
    low, high = scores.bounds
    ends = "" if scores.bounds == SHARE else f"0 is {low:g} and 1 is {high:g} on its scale"
    return NamedScore(name, scores.labels.name, scores, ends or "a share from 0 to 1")


def _ranks(frame: Frame, labels: VariableFrame) -> NamedScore:
    """Return the mean value on an ordered scale, or the share of yes."""
    categories = labels.scale.categories
    if labels.scale.level != "ordinal":
        return _share(frame, labels, labels.name, "yes")
    values = category_numbers(labels.scale, labels.codes)
    bounds = bounds_of(labels.scale) if len(categories) > 1 else UNBOUNDED
    meaning = f"the mean over units: 0 is {categories[0]!r} and 1 is {categories[-1]!r}"
    return _mean(frame, labels, labels.name, values, bounds, meaning)


def _share(frame: Frame, labels: VariableFrame, name: str, code: str) -> NamedScore:
    # A file with only no has no code for yes.
    number = dict(zip(labels.scale.categories, range(len(labels.scale.categories)), strict=True))
    has = np.where(labels.codes >= 0, labels.codes == number.get(code, len(number)), np.nan)
    meaning = f"the share of units with {code!r}"
    return _mean(frame, labels, name, has.astype(float), SHARE, meaning)


def _mean(
    frame: Frame, labels: VariableFrame, name: str, values: Floats, bounds: Bounds, meaning: str
) -> NamedScore:
    of_items = means_of_items(values, labels.units.item, len(frame.items))
    numbers = {query: n for n, query in enumerate(sorted({i.query for i in frame.items}))}
    queries = np.array([numbers[item.query] for item in frame.items], dtype=np.int64)
    none = np.full(len(frame.items), np.nan)
    scores = Scores(frame, labels, of_items, queries, none, bounds, (labels.name,))
    return NamedScore(name, labels.name, scores, meaning)
