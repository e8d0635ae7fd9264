"""The protocols by name. A new protocol is one folder and two lines here.

`base` defines what a protocol declares, and `material` what it may read of a query. Each folder
declares one protocol, and `units` has the texts and units that several protocols share. `schema`
turns a protocol and a campaign's variables into the form of an answer, and `validation` checks an
answer against it. Nothing here imports Django or another app.
"""

from __future__ import annotations

from annotation.protocols.answer_preference import PROTOCOL as ANSWER_PREFERENCE
from annotation.protocols.answer_rating import PROTOCOL as ANSWER_RATING
from annotation.protocols.grounded_answer import PROTOCOL as GROUNDED_ANSWER
from annotation.protocols.grounding_relevance import PROTOCOL as GROUNDING_RELEVANCE
from annotation.protocols.key_point_recall import PROTOCOL as KEY_POINT_RECALL
from annotation.protocols.key_point_verification import PROTOCOL as KEY_POINT_VERIFICATION
from annotation.protocols.key_point_writing import PROTOCOL as KEY_POINT_WRITING
from annotation.protocols.question_typing import PROTOCOL as QUESTION_TYPING
from annotation.protocols.report_coverage import PROTOCOL as REPORT_COVERAGE
from annotation.protocols.rubric_passage import PROTOCOL as RUBRIC_PASSAGE
from tandem.protocols.base import Protocol

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
