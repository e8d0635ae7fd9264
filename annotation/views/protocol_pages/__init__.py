"""The item pages of protocols; a protocol without a page of its own gets one of two generic ones.

Each module declares one `Page` (see `base`), and this package finds it by the protocol's slug. An
option that changes a protocol's page gives it another slug.
"""

from __future__ import annotations

from annotation.views.protocol_pages import (
    answer_preference,
    answer_rating,
    beside,
    grounded_answer,
    grounding_relevance,
    key_point_recall,
    key_point_verification,
    key_point_writing,
    question_typing,
    rubric_passage,
)
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import Declaration, kinds_of

PAGES: dict[str, Page] = {
    "answer-preference": answer_preference.PAGE,
    "answer-rating": answer_rating.PAGE,
    "grounded-answer": grounded_answer.PAGE,
    "grounding-relevance": grounding_relevance.PAGE,
    "key-point-recall": key_point_recall.PAGE,
    "key-point-verification": key_point_verification.PAGE,
    "key-point-verification-answers": key_point_recall.PAGE,
    "key-point-writing": key_point_writing.PAGE,
    "question-typing": question_typing.PAGE,
    "rubric-passage": rubric_passage.PAGE,
}
GENERIC = Page()
BESIDE = ("sentence", "sentence-citation", "report-passage")
"""The kinds of unit that are judged in a report, perhaps beside a passage."""


def page_for(protocol: Declaration) -> Page:
    """Return a protocol's own page, or the generic one that suits its kinds of unit."""
    joined = not kinds_of(protocol.variables).isdisjoint(BESIDE)
    return PAGES.get(protocol.slug, beside.PAGE if joined else GENERIC)
