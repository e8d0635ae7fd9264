"""Divide a query into simpler questions to search for (Long²RAG, 3.2; GaRAGe, B.5).

The simpler questions become the query's sub-questions. A query that is simple has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted, with_provenance
from annotation.preparation.steps.questions import make_items
from annotation.preparation.steps.sub_questions import questions_of
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.protocols.base import PointList, Variable

NAME = "decomposition"
TYPE = "question_type"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its type, if it was asked, and its simpler questions."""
    answered = [(r, a) for r in results for a in r.answers_of("query").values()]
    if not answered:
        return query
    result, answer = answered[0]
    own = {TYPE: answer[TYPE]} if answer.get(TYPE) else {}
    meta = with_provenance(query.meta, NAME, result, **own)
    questions = tuple(questions_of(query, result, answer["questions"], NAME))
    return replace(query, questions=questions, meta=meta)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-decomposition",
        version="1",
        title="Decomposition of queries",
        variables=(
            Variable(
                TYPE,
                "query",
                "Is the question simple, complex or vague?",
                ("simple", "complex", "vague"),
            ),
        ),
        make_items=make_items,
        needs=(),
        listed=PointList(
            "questions", "query", "The simpler questions", "query", quoted=False, least=0
        ),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "Type of each query, and the simpler questions to search for, as its sub-questions.",
    apply,
    TASK.name,
    TASK,
)
