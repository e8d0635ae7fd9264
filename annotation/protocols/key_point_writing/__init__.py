"""Key-point writing (the human reference of Long²RAG): list a passage's points, then match.

A person writes a list of the passage's key points without help, and then matches the extracted
points to that list. The precision of the extraction is the share of extracted points with a match,
and its recall is the share of written points with a match. If no point was extracted from a
passage, only the list is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.units import first_words, passage_key
from tandem.protocols import material
from tandem.protocols.base import (
    YES_NO,
    ItemSpec,
    PointList,
    Protocol,
    Text,
    UnitSpec,
    Variable,
    kinds_of,
)


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield one item per passage: the passage itself, then the points extracted from it."""
    kinds = kinds_of(variables)
    for passage in query.passages:
        key = passage_key(query, passage)
        extracted = (
            UnitSpec("key-point", point.id, point.text)
            for point in query.key_points
            if point.passage == passage.id
        )
        possible = (
            UnitSpec("passage", key, passage.title or first_words(passage.text)),
            *extracted,
        )
        if units := tuple(unit for unit in possible if unit.kind in kinds):
            text = Text("passage", passage.text, passage.title or "Passage")
            yield ItemSpec(key, units, (text,), passage=passage.id)


PROTOCOL = Protocol(
    name="key-point-writing",
    version="1",
    title="Key point writing",
    summary="Write the key points of a passage, then match them to those of a machine.",
    lacks="No key point names a passage that it was drawn from.",
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
    make_items=make_items,
    needs=("passages", "key_points"),
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
    folder=Path(__file__).parent,
)
