"""Key-point writing (the human reference of Long²RAG): list a passage's points, then match.

A person writes a list of the passage's key points without help, and then matches the extracted
points to that list. The precision of the extraction is the share of extracted points with a match,
and its recall is the share of written points with a match. If no point was extracted from a
passage, only the list is asked for.
"""

from __future__ import annotations

from tandem.protocols.base import YES_NO, Declaration, PointList, Variable

DECLARATION = Declaration(
    name="key-point-writing",
    version="1",
    title="Key point writing",
    variables=(
        Variable(
            "holds_points",
            "passage",
            "Does the text hold key points for the question?",
            YES_NO,
            words={"yes": "Yes, and all are listed", "no": "No, none"},
        ),
        Variable(
            "matched",
            "key-point",
            "Does it match a point on the list?",
            YES_NO,
            words={"yes": "Yes", "no": "None"},
        ),
    ),
    listed=PointList(
        "points",
        "passage",
        "The key points of the text",
        "passage",
        match_kind="key-point",
        match="matched",
        match_code="yes",
        asked_if={"holds_points": ("yes",)},
    ),
)
