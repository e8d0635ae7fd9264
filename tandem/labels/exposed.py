"""Labels given with a judge's or others' labels in view, and how often they agree with these.

They are left out of human agreement, of comparisons with judges, and of every estimate, since they
cannot show how far people agree independently. They are counted for each person.

They are left out of human agreement, of comparisons with judges, and of every estimate, because
people who see an answer first tend to give the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..statistics import proportion
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


UNSEEN = "the judge's own label is not available for comparison"

AssistedKey = tuple[str, str, str, str, str]
"""Judge, item, kind, unit and variable."""


class Assisted(NamedTuple):
    """One label by `rater` that `by` assisted; `verdict` is `by`'s own label, None if unknown."""

    variable: str
    rater: str
    by: str
    value: str
    verdict: str | None
    query: str


def summary(labels: Iterable[Assisted], included: bool) -> JSON:
    """Count assisted labels, in total and by the judge whose label was shown.

    `included` says that the report's options treat them like all other labels.
    """
    every = list(labels)
    by: JSON = {}
    for name in sorted({label.by for label in every}):
        of_judge = [label for label in every if label.by == name]
        by[name] = {
            **_counts(of_judge),
            "variables": _parts(of_judge, dict.fromkeys(x.variable for x in of_judge), "variable"),
            "people": _parts(of_judge, dict.fromkeys(sorted(x.rater for x in of_judge)), "rater"),
        }
    return {**_counts(every), "included": included, "by": by}


def _parts(labels: list[Assisted], names: Mapping[str, object], column: str) -> JSON:
    parts = {name: [x for x in labels if getattr(x, column) == name] for name in names}
    return {
        name: {**_counts(part), "share_confirmed": _share(part)} for name, part in parts.items()
    }


def _counts(labels: list[Assisted]) -> dict[str, int]:
    """Count the labels; `unmatched` are those whose judge's label is unknown."""
    compared = [label for label in labels if label.verdict is not None]
    confirmed = sum(label.value == label.verdict for label in compared)
    return {
        "labels": len(labels),
        "confirmed": confirmed,
        "corrected": len(compared) - confirmed,
        "unmatched": len(labels) - len(compared),
    }


def _share(labels: list[Assisted]) -> JSON:
    counts = _counts(labels)
    compared = counts["confirmed"] + counts["corrected"]
    queries = len({label.query for label in labels if label.verdict is not None})
    method = "share of the judge's labels confirmed"
    return proportion(counts["confirmed"], compared, queries, method, UNSEEN).as_json()
