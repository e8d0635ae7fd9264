"""Relevance judgements as TREC's tools read them, from the labels of people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median_low

from annotation.exporting import label_rows
from annotation.files.rows import LabelRow
from annotation.models import Campaign


class NoGradesError(ValueError):
    """A campaign whose labels are no grades of passages."""


@dataclass(frozen=True)
class Grades:
    """Where a protocol grades passages: the variable, and whether units are subtopics."""

    variable: str
    subtopics: bool


_GRADED = {
    "grounding-relevance": Grades("relevant", subtopics=False),
    "rubric-passage": Grades("rating", subtopics=True),
}


def qrels(campaign: Campaign) -> Iterator[dict[str, object]]:
    """One line a judged passage: `query, subtopic, passage, grade`; subtopic 0 where there is none.

    The grade is the lower median of people's labels (yes counts 1, no counts 0), so that it stays
    one of the scale's own. Labels made with a judge's verdict in view count only where there are no
    others. Raises NoGradesError.
    """
    graded = _GRADED.get(campaign.protocol)
    if graded is None:
        known = ", ".join(_GRADED)
        raise NoGradesError(f"{campaign.protocol} grades no passages; qrels are made of {known}")
    votes: dict[tuple[str, str, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in label_rows(campaign):
        if row.variable == graded.variable and row.rater_kind == "human" and row.value:
            votes[_subject(row, graded)][bool(row.assisted_by)].append(_grade(row.value))
    for (query, subtopic, passage), (blind, assisted) in votes.items():
        yield {"query": query, "subtopic": subtopic, "passage": passage,
               "grade": median_low(blind or assisted)}  # fmt: skip


def _subject(row: LabelRow, graded: Grades) -> tuple[str, str, str]:
    query = row.query or ""
    key = row.item if graded.subtopics else row.unit
    return query, row.unit if graded.subtopics else "0", key.removeprefix(f"{query}/")


def _grade(value: str) -> int:
    return int(value) if value.isdigit() else int(value == "yes")
