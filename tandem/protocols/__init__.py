"""What each protocol declares: variables, levels, codes and escapes, and the schema of its answers.

`base` has the classes, `material` the parts of a query that items are made from, `schema` the form
of an answer, and `validation` and `points` check an answer against it. Each other module declares
one protocol. Items, guidelines and prompts are the site's, in `annotation.protocols`.
"""

from __future__ import annotations

from tandem.protocols.answer_preference import DECLARATION as ANSWER_PREFERENCE
from tandem.protocols.answer_rating import DECLARATION as ANSWER_RATING
from tandem.protocols.base import Declaration
from tandem.protocols.grounded_answer import DECLARATION as GROUNDED_ANSWER
from tandem.protocols.grounding_relevance import DECLARATION as GROUNDING_RELEVANCE
from tandem.protocols.key_point_recall import DECLARATION as KEY_POINT_RECALL
from tandem.protocols.key_point_verification import DECLARATION as KEY_POINT_VERIFICATION
from tandem.protocols.key_point_writing import DECLARATION as KEY_POINT_WRITING
from tandem.protocols.question_typing import DECLARATION as QUESTION_TYPING
from tandem.protocols.report_coverage import DECLARATION as REPORT_COVERAGE
from tandem.protocols.rubric_passage import DECLARATION as RUBRIC_PASSAGE

DECLARATIONS: dict[str, Declaration] = {
    declaration.name: declaration
    for declaration in (
        REPORT_COVERAGE,
        RUBRIC_PASSAGE,
        KEY_POINT_VERIFICATION,
        KEY_POINT_RECALL,
        GROUNDING_RELEVANCE,
        QUESTION_TYPING,
        GROUNDED_ANSWER,
        ANSWER_RATING,
        ANSWER_PREFERENCE,
        KEY_POINT_WRITING,
    )
}
