"""The mean of people: each person's own figure first, and then the mean over people.

People together, in contrast, are decided unit by unit (`analysis.evaluation.inputs`). If people
differ, these are two figures, in two rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.evaluation.inputs import MEAN_OF_PEOPLE, Part
from tandem.labels.reference import HUMAN
from tandem.labels.resampling import mean_of
from tandem.scores.base import (
    JudgedValues,
    Measure,
    MeasureValues,
    Pooled,
    reason_of,
    values_of,
)
from tandem.statistics import Floats, macro


@dataclass
class Persons:
    """The values of measures from each person's labels, by name and systems of the rows."""

    by_name: dict[tuple[str, tuple[str, ...]], list[tuple[Measure, Part, MeasureValues]]] = field(
        default_factory=dict
    )

    def add(self, name: str, measure: Measure, part: Part, found: MeasureValues) -> None:
        """Add a part's values, if they are a person's."""
        if part.kind == HUMAN:
            self.by_name.setdefault((name, part.rows.system_names), []).append(
                (measure, part, found)
            )

    def together(self) -> Iterator[tuple[str, Measure, Part, MeasureValues]]:
        """Yield by measure the mean over people, if there are several."""
        for (name, _), of in self.by_name.items():
            measure, part, _ = of[0]
            if len(of) > 1:
                mean = replace(part, rater=MEAN_OF_PEOPLE, kind=MEAN_OF_PEOPLE)
                yield name, measure, mean, mean_over_people([found for *_, found in of])


def mean_over_people(found: Sequence[MeasureValues]) -> MeasureValues:
    """Return the mean over people of values of the same rows (N,), over those with a value.

    For sums it is the mean of people's own figures. If one person's value is unknown, so is the
    mean, since the others are not a random sample.
    """
    pooled = [each for each in found if isinstance(each, Pooled)]
    if pooled:
        return _mean_of_sums(pooled)
    values = mean_of(np.stack([values_of(each) for each in found], axis=1))
    unknown = [each for each in found if isinstance(each, JudgedValues) and reason_of(each)]
    if not unknown:
        return values
    refused = np.ones(len(values), bool)
    return JudgedValues(values, refused=refused, why=f"of a person, {reason_of(unknown[0])}")


def _mean_of_sums(found: Sequence[Pooled]) -> Pooled:
    ends = np.cumsum([each.sums.shape[1] for each in found])[:-1]

    def of(totals: Floats) -> Floats:
        parts = np.split(totals, ends, axis=-1)
        own = [each.of(part) for each, part in zip(found, parts, strict=True)]
        return np.asarray(macro(np.stack(np.broadcast_arrays(*own), axis=-1)))

    sizes = [each.sizes for each in found if each.sizes is not None]
    sums = np.concatenate([each.sums for each in found], axis=1)
    return Pooled(sums, of, np.sum(sizes, axis=0) if sizes else None)
