"""Write the request that a reference would answer, and its sub-questions (CRUX).

The first reference of a query is used. The previous text of the query is kept in its meta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted
from annotation.preparation.steps.report_request import TASK as REPORT_REQUEST
from annotation.preparation.steps.report_request import with_request
from annotation.preparation.steps.sub_questions import TASK as SUB_QUESTIONS
from annotation.preparation.steps.sub_questions import questions_of, usable_answer
from tandem.files import rows

NAME = "request"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its request and questions, or None if no request could be written."""
    if (answered := usable_answer(results)) is None:
        return None
    result, answer = answered
    questions = tuple(questions_of(query, result, answer["questions"], NAME))
    changed = with_request(query, result, answer["request"]["text"], NAME)
    return replace(changed, questions=questions)


_listed = SUB_QUESTIONS.listed
assert _listed is not None
TASK = prompted(
    __file__,
    replace(
        REPORT_REQUEST,
        name="prepare-request",
        title="Request and sub-questions",
        listed=replace(_listed, quoted=True),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "From a reference: the report request, and sub-questions with the words that answer them.",
    apply,
    TASK.name,
    TASK,
)
