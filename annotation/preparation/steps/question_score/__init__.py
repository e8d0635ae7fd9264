"""Score questions from 1 to 5, one point for each criterion that is met (Long²RAG, 3.1).

The paper's prompt gives this score alone, and questions with at least 4 are kept. `questions` asks
for each criterion instead. The criteria are our own; the paper's are in its appendix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted, with_provenance
from annotation.preparation.steps.questions import make_items
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.options import declared
from tandem.protocols.base import Variable

NAME = "question-score"
SCORE = "score"
QUESTION = "How many of the five criteria does the question meet?"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its score, or None if it has none or a lower one than `keep`."""
    for result in results:
        for answer in result.answers_of("query").values():
            score = int(answer[SCORE])
            meta = with_provenance(query.meta, NAME, result, score=score)
            return replace(query, meta=meta) if score >= numbers["keep"] else None
    return None


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-question-score",
        version="1",
        title="Scores of questions",
        variables=(Variable(SCORE, "query", QUESTION, ("1", "2", "3", "4", "5"), "ordinal"),),
        make_items=make_items,
        needs=(),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "A score from 1 to 5 for each query; those below a threshold are left out.",
    apply,
    TASK.name,
    TASK,
    thresholds=(declared("keep", float, "the lowest score of a query that is kept", 4.0),),
)
