"""What each protocol declares: variables, levels, codes and escapes, and the schema of its answers.

`base` has the classes, `material` the parts of a query that items are made from, `schema` the form
of an answer, and `validation` and `points` check an answer against it. `shipped` has the protocols
that a file can declare, read by `protocol_file`. Each other module declares one that needs more
than a file can say; its items, guideline and prompt are the site's, in `annotation.protocols`.
"""

from __future__ import annotations

from tandem.protocols.answer_rating import DECLARATION as ANSWER_RATING
from tandem.protocols.base import Declaration
from tandem.protocols.grounded_answer import DECLARATION as GROUNDED_ANSWER
from tandem.protocols.key_point_verification import DECLARATION as KEY_POINT_VERIFICATION
from tandem.protocols.key_point_writing import DECLARATION as KEY_POINT_WRITING
from tandem.protocols.shipped import FILES

ORDER = (
    "report-coverage",
    "rubric-passage",
    "key-point-verification",
    "key-point-recall",
    "grounding-relevance",
    "question-typing",
    "grounded-answer",
    "answer-rating",
    "answer-preference",
    "key-point-writing",
    "nugget-importance",
    "nugget-assignment",
    "citation-support",
)
"""The order in which lists have the protocols."""
_ALL: dict[str, Declaration] = {
    **{name: file.declaration for name, file in FILES.items()},
    **{
        each.name: each
        for each in (KEY_POINT_VERIFICATION, GROUNDED_ANSWER, ANSWER_RATING, KEY_POINT_WRITING)
    },
}
DECLARATIONS: dict[str, Declaration] = {name: _ALL[name] for name in ORDER}
