"""The protocols of the site by name. A new one is a declaration in `tandem.protocols` and a folder.

`base` joins a declaration to its items, guideline and prompt. Each folder holds one protocol, and
`units` the texts and units that several share. `schema` is the form of a campaign's answers, with
the descriptions that `criteria` finds in the guideline, and `guidelines` trims a guideline to what
is asked. Nothing here imports Django or another app.
"""

from __future__ import annotations

from annotation.protocols.answer_preference import PROTOCOL as ANSWER_PREFERENCE
from annotation.protocols.answer_rating import PROTOCOL as ANSWER_RATING
from annotation.protocols.base import Protocol
from annotation.protocols.grounded_answer import PROTOCOL as GROUNDED_ANSWER
from annotation.protocols.grounding_relevance import PROTOCOL as GROUNDING_RELEVANCE
from annotation.protocols.key_point_recall import PROTOCOL as KEY_POINT_RECALL
from annotation.protocols.key_point_verification import PROTOCOL as KEY_POINT_VERIFICATION
from annotation.protocols.key_point_writing import PROTOCOL as KEY_POINT_WRITING
from annotation.protocols.question_typing import PROTOCOL as QUESTION_TYPING
from annotation.protocols.report_coverage import PROTOCOL as REPORT_COVERAGE
from annotation.protocols.rubric_passage import PROTOCOL as RUBRIC_PASSAGE

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
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
