"""Rate every passage for every sub-question, and filter the questions (CRUX, B6 and B7).

The task is the protocol `rubric-passage`, with every question asked about every passage. A question
is dropped if no passage has a rating of at least `eta` for it. If some of its ratings are missing
and the others are below `eta`, the result is unknown: the question is kept, and its meta says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, with_provenance
from tandem.files import rows
from tandem.options import declared

Matrix = dict[str, dict[str, int]]
"""Ratings by passage and question."""


def matrix_of(results: Sequence[Result]) -> Matrix:
    found: Matrix = {}
    for result in results:
        ratings = found.setdefault(result.passage or "", {})
        ratings |= {key: int(each["rating"]) for key, each in result.answers_of("question").items()}
    return found


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with the questions that are answered, or None if there are none.

    Each passage gets its ratings. It is `relevant` if it answers a question, and not relevant if
    it was rated for all questions and answers none. Otherwise `relevant` is None.
    """
    eta, matrix = numbers["eta"], matrix_of(results)
    kept = [q for q in query.questions if _verdict(q.id, query, matrix, eta) is not False]
    if not kept:
        return None
    sources = {result.passage: result for result in results}
    passages = (_add_ratings(p, kept, matrix, eta, sources.get(p.id)) for p in query.passages)
    questions = tuple(
        q if _verdict(q.id, query, matrix, eta) else replace(q, meta=_undecided(q)) for q in kept
    )
    dropped = [q.id for q in query.questions if q not in kept]
    meta = {**(query.meta or {}), "unanswered_questions": dropped, "eta": eta}
    return replace(query, questions=questions, passages=tuple(passages), meta=meta)


def _verdict(question: str, query: rows.Query, matrix: Matrix, eta: float) -> bool | None:
    """Whether a passage answers the question. None if a missing rating might decide it."""
    ratings = [matrix.get(p.id, {}).get(question) for p in query.passages]
    if any(rating is not None and rating >= eta for rating in ratings):
        return True
    return None if None in ratings else False


def _undecided(question: rows.Question) -> dict[str, object]:
    return {**(question.meta or {}), "answered": "unknown: ratings are missing"}


def _add_ratings(
    passage: rows.Passage,
    questions: Sequence[rows.Question],
    matrix: Matrix,
    eta: float,
    source: Result | None,
) -> rows.Passage:
    if source is None:
        return passage
    ratings = matrix[passage.id]
    answers = any(ratings.get(q.id, -1) >= eta for q in questions)
    known = answers or all(q.id in ratings for q in questions)
    meta = with_provenance(passage.meta, "ratings", source, ratings=ratings)
    return replace(passage, relevant=answers if known else None, meta=meta)


STEP = Step(
    "ratings",
    "Ratings of passages, and the filter of questions",
    "A rating of every passage for every sub-question; questions without an answer are dropped.",
    apply,
    "rubric-passage",
    thresholds=(
        declared("eta", float, "the lowest rating of a passage that answers a question", 3.0),
    ),
    options=("sampling=all",),
)
