"""Relevance judgements for TREC's tools, from the labels of people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import median_low

from annotation.exports.rows import label_rows
from annotation.label_rows import LabelRow
from annotation.models import Campaign

Line = dict[str, object]


class NoGradesError(ValueError):
    """A campaign whose labels are no grades of passages, or of no subtopics."""


@dataclass(frozen=True)
class Grades:
    """Where a protocol grades passages: the variable, and whether units are subtopics."""

    variable: str
    subtopics: bool


_GRADED = {
    "grounding-relevance": Grades("relevant", subtopics=False),
    "rubric-passage": Grades("rating", subtopics=True),
}
WHOLE = "0"


def qrels(campaign: Campaign) -> Iterator[Line]:
    """One line a judged passage: `query, subtopic, passage, grade`; subtopic 0 where there is none.

    The grade is the lower median of people's labels (yes counts 1, no counts 0), so that it stays
    one of the scale's own. Labels made with a judge's verdict in view count only where there are no
    others. Raises NoGradesError.
    """
    for lines in _by_item(campaign, grades_of(campaign)):
        yield from lines


def diversity_qrels(campaign: Campaign) -> Iterator[Line]:
    """The same of a campaign whose units are subtopics, for measures of diversity.

    Raises NoGradesError for one without subtopics.
    """
    if not grades_of(campaign).subtopics:
        raise NoGradesError(
            f"{campaign.protocol} has no subtopics; the graded form is made of its labels"
        )
    return qrels(campaign)


def graded_qrels(campaign: Campaign) -> Iterator[Line]:
    """One line a judged passage for measures that know no subtopics, subtopic 0.

    Where units are subtopics, a passage counts as much as for the one that it serves best. Raises
    NoGradesError.
    """
    graded = grades_of(campaign)
    for lines in _by_item(campaign, graded):
        if not graded.subtopics:
            yield from lines
        elif lines:
            best = max(lines, key=lambda line: int(str(line["grade"])))
            yield {**best, "subtopic": WHOLE}


def grades_of(campaign: Campaign) -> Grades:
    """Raises NoGradesError for a protocol that grades no passages."""
    graded = _GRADED.get(campaign.protocol)
    if graded is None:
        known = ", ".join(_GRADED)
        raise NoGradesError(f"{campaign.protocol} grades no passages; qrels are made of {known}")
    return graded


def _by_item(campaign: Campaign, graded: Grades) -> Iterator[list[Line]]:
    """The lines of each item, one after the other: what is judged stands in one item only."""
    for _, rows in groupby(label_rows(campaign), key=lambda row: row.item):
        votes: dict[tuple[str, str, str], tuple[list[int], list[int]]]
        votes = defaultdict(lambda: ([], []))
        for row in rows:
            if row.variable == graded.variable and row.rater_kind == "human" and row.value:
                votes[_subject(row, graded)][bool(row.assisted_by)].append(_grade(row.value))
        yield [
            {
                "query": query,
                "subtopic": subtopic,
                "passage": passage,
                "grade": median_low(blind or assisted),
            }
            for (query, subtopic, passage), (blind, assisted) in votes.items()
        ]


def _subject(row: LabelRow, graded: Grades) -> tuple[str, str, str]:
    query = row.query or ""
    key = row.item if graded.subtopics else row.unit
    return query, row.unit if graded.subtopics else WHOLE, key.removeprefix(f"{query}/")


def _grade(value: str) -> int:
    return int(value) if value.isdigit() else int(value == "yes")
