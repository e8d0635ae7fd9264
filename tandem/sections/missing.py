"""Section: what is missing, for whom and why, beside estimates that leave it out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..labels.frame import VariableFrame
from ..labels.resampling import Scores, systems_of
from ..statistics import Bools, Floats, Ints
from ..types import JSON
from .crowd import is_crowd


def missing_labels(frame: VariableFrame) -> list[JSON]:
    """Count by rater, and by rater and system if there are several, what was not labelled.

    `units` are those of the variable. On each, a rater gave a label or an escape, or a label is
    missing for a reason, or there is none of these: the unit was not asked, or is not yet answered.
    The raters of a crowd are counted together, under an empty name.
    """
    people, judges = frame.columns("human"), frame.columns("judge")
    groups = [people] if is_crowd(frame) else [[column] for column in people]
    system = np.array([each or "" for each in frame.units.system], dtype=object)
    names = sorted(set(system.tolist()))
    parts = [(None, np.ones(len(system), bool))]
    if len(names) > 1:
        parts += [(name, np.asarray(system == name)) for name in names]
    counted = _Asides(frame)
    return [
        _row(frame, columns, name, within, counted)
        for columns in [*groups, *([column] for column in judges)]
        for name, within in parts
    ]


class _Asides:
    """The units of escapes and missing labels by rater, in one pass over all of them."""

    def __init__(self, frame: VariableFrame) -> None:
        self.by_rater: dict[str, list[tuple[int, bool, str]]] = {}
        for aside in frame.asides:
            found = self.by_rater.setdefault(aside.rater, [])
            found.append((aside.unit, aside.is_missing, aside.what))

    def within(self, rater: str, units: Bools) -> tuple[int, Counter[str]]:
        """Count a rater's escapes and, by reason, missing labels on some units (U,)."""
        own = [each for each in self.by_rater.get(rater, ()) if units[each[0]]]
        reasons = Counter(what for _, is_missing, what in own if is_missing)
        return len(own) - reasons.total(), reasons


def _row(
    frame: VariableFrame,
    columns: list[int],
    system: str | None,
    within: Bools,
    asides: _Asides,
) -> JSON:
    labels = int((frame.codes[within][:, columns] >= 0).sum())
    escapes, reasons = 0, Counter[str]()
    for column in columns:
        more, why = asides.within(frame.raters[column].name, within)
        escapes, reasons = escapes + more, reasons + why
    units = int(within.sum()) * len(columns)
    single = len(columns) == 1
    return {
        "name": frame.raters[columns[0]].name if single else "",
        "kind": frame.raters[columns[0]].kind,
        "system": system,
        "units": units,
        "labels": labels,
        "escapes": escapes,
        "missing": dict(reasons.most_common()),
        "unanswered": units - labels - escapes - reasons.total(),
    }


def missing_scores(of: Scores) -> list[JSON]:
    """Count by system the items, those without a score by any person, and by each judge."""
    columns = {of.labels.raters[n].name: of.values[:, n] for n in of.labels.columns("judge")}
    return [
        {
            "system": system,
            "items": len(items),
            "people": _without(of.people, items),
            "judges": {name: _without(values, items) for name, values in columns.items()},
        }
        for system, items in systems_of(of.frame).items()
    ]


def _without(values: Floats, items: Ints) -> int:
    return int((~np.isfinite(values[items])).sum())
