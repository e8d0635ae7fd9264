"""Labels whose rater could see others' labels of the same unit before giving them.

They are left out of human agreement, of comparisons with judges, and of every estimate, since they
cannot show how far people agree independently. They are counted for each person.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from ..types import JSON


class Exposed(NamedTuple):
    """One label by a person who had looked at others' labels of its unit."""

    rater: str
    item: str
    variable: str


@dataclass(frozen=True)
class ExposedLabels:
    """The exposed labels, and the number of people's labels for which this is unknown."""

    labels: tuple[Exposed, ...] = ()
    unknown: int = 0

    def summary(self, included: bool) -> JSON:
        """Count exposed labels and the answers that they belong to, in total and by person.

        `included` says that the report's options treat them like all other labels.
        """
        labels = Counter(each.rater for each in self.labels)
        answers = Counter(rater for rater, _ in {(each.rater, each.item) for each in self.labels})
        return {
            "labels": len(self.labels),
            "answers": answers.total(),
            "unknown": self.unknown,
            "included": included,
            "people": {
                name: {"labels": labels[name], "answers": answers[name]} for name in sorted(labels)
            },
        }
