"""Relevance judgements for TREC's tools, from the labels of people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import median_low

from annotation.exports.rows import label_rows
from annotation.imports.qrels import graded_variable
from annotation.models import Campaign
from annotation.presentation import schema
from tandem.labels.file.rows import LabelRow
from tandem.protocols.base import YES_NO

Line = dict[str, object]


class NoGradesError(ValueError):
    """The campaign's labels do not grade passages, or have no subtopics."""


@dataclass(frozen=True)
class Grades:
    """How a protocol grades passages: the variable, and whether its units are subtopics."""

    variable: str
    subtopics: bool


_SUBTOPICS = "rubric-passage"
WHOLE = "0"


def qrels(campaign: Campaign) -> Iterator[Line]:
    """Yield one line per judged passage: `query, subtopic, passage, grade`.

    The subtopic is 0 if there are none. The grade is the lower median of people's labels (yes
    counts 1, no counts 0), so that it is always a grade of the scale. Labels that confirm or
    correct a judge's label count only if there are no others. Raises NoGradesError.
    """
    for lines in _by_item(campaign, grades_of(campaign)):
        yield from lines


def diversity_qrels(campaign: Campaign) -> Iterator[Line]:
    """Yield qrels of a campaign whose units are subtopics, for measures of diversity.

    Raises NoGradesError if the campaign has no subtopics.
    """
    if not grades_of(campaign).subtopics:
        raise NoGradesError(
            f"{campaign.protocol} has no subtopics; use the graded form for its labels"
        )
    return qrels(campaign)


def graded_qrels(campaign: Campaign) -> Iterator[Line]:
    """Yield one line per judged passage with subtopic 0, for measures without subtopics.

    If units are subtopics, the grade of a passage is its best one over all subtopics. Raises
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
    """Return how the protocol grades passages. Raises NoGradesError if it does not."""
    subtopics = campaign.protocol == _SUBTOPICS
    variable = graded_variable(schema(campaign), "question" if subtopics else "passage")
    if variable is None:
        wrong = f"{campaign.protocol} does not grade passages"
        raise NoGradesError(f"{wrong}; qrels need one variable of grades, or of yes and no")
    return Grades(variable.name, subtopics)


def _by_item(campaign: Campaign, graded: Grades) -> Iterator[list[Line]]:
    """Yield the lines of each item. Each passage is judged in one item only."""
    for _, rows in groupby(label_rows(campaign), key=lambda row: row.item):
        votes: dict[tuple[str, str, str], tuple[list[int], list[int]]]
        votes = defaultdict(lambda: ([], []))
        for row in rows:
            is_vote = row.variable == graded.variable and row.rater_kind == "human"
            grade = _grade(row.value) if is_vote and row.value else None
            if grade is not None:
                votes[_subject(row, graded)][bool(row.assisted_by)].append(grade)
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


def _grade(value: str) -> int | None:
    """Return the grade of a label; None for an escape."""
    if value in YES_NO:
        return int(value == "yes")
    return int(value) if value.lstrip("-").isdecimal() else None
