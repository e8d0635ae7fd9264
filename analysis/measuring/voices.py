"""Who says what of the units: each rater, and people together. Nothing else is pooled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.frames import VariableFrame
from analysis.measures.shares import MISSING
from analysis.measuring.parts import PEOPLE
from analysis.people import HUMAN as HUMAN
from analysis.people import decided
from analysis.statistics import Bools, Floats, Ints

JUDGE = "judge"


@dataclass(frozen=True)
class Voice:
    """One rater's word on the units of a variable.

    `values` (U,) are places in the scale's categories, or their numbers where they are ordered;
    NaN = none. `asked` (U,) says which units count at all: those that were not asked, escapes and
    people's ties are no missing judgements. People together fail where some of them were asked and
    none gave an answer.
    """

    rater: str
    kind: str
    values: Floats
    asked: Bools

    @property
    def failed(self) -> Bools:
        """Which units (U,) were asked about in vain."""
        return self.asked & np.isnan(self.values)

    def rounded(self) -> Voice:
        """With values to the nearest rank; people's half between two ranks goes to the higher."""
        return replace(self, values=np.floor(self.values + 0.5))

    def codes(self, meaning: Mapping[float, int]) -> Ints:
        """The values as codes (U,) by a mapping; -1 where there is none, or it is not mapped."""
        return np.array([meaning.get(value, MISSING) for value in self.values.tolist()], np.int64)


def voices(frame: VariableFrame) -> Iterator[Voice]:
    """People together, then each rater by itself; those that are excluded say nothing.

    What people together say is decided unit by unit, see `analysis.people`.
    """
    missing = _missing(frame)
    ordered = frame.scale.level != "nominal"
    numbers = np.append(
        frame.scale.values() if ordered else np.arange(len(frame.scale.categories), dtype=float),
        np.nan,
    )
    values = numbers[frame.codes]
    if frame.columns(HUMAN):
        together = decided(frame)
        yield Voice(PEOPLE, PEOPLE, together, np.isfinite(together) | _nobody(frame, missing))
    for column, rater in enumerate(frame.raters):
        asked = np.isfinite(values[:, column]) | missing.get(rater.name, np.zeros(1, bool))
        if rater.excluded is None and asked.any():
            yield Voice(rater.name, rater.kind, values[:, column], asked)


def _missing(frame: VariableFrame) -> dict[str, Bools]:
    found: dict[str, Bools] = {}
    for aside in frame.asides:
        if aside.is_missing:
            found.setdefault(aside.rater, np.zeros(len(frame.codes), bool))[aside.unit] = True
    return found


def _nobody(frame: VariableFrame, missing: Mapping[str, Bools]) -> Bools:
    """The units (U,) on which a person's answer is missing and nobody else's is there."""
    people = {r.name for r in frame.raters if r.kind == HUMAN and r.excluded is None}
    found = np.zeros(len(frame.codes), bool)
    for rater in people & missing.keys():
        found |= missing[rater]
    if not found.any():
        return found
    found &= (frame.of(HUMAN) < 0).all(axis=1)
    escaped = [a.unit for a in frame.asides if not a.is_missing and a.rater in people]
    found[escaped] = False
    return found
