"""Key-point verification (Long2RAG): is the point in its source, and does it matter?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols import material
from annotation.protocols.base import (
    YES_NO,
    Evidence,
    ItemSpec,
    Protocol,
    Text,
    UnitSpec,
    Variable,
)


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """One item a key point. A point whose source is not among the passages shown makes none."""
    passages = {p.id: p for p in query.passages}
    for point in query.key_points:
        if source := passages.get(point.passage):
            text = Text(
                "passage",
                source.text,
                source.title or "Source",
                suggested=tuple(point.spans or ()),
            )
            yield ItemSpec(
                key=point.id,
                units=(UnitSpec("key-point", point.id, point.text),),
                texts=(text,),
                passage=source.id,
                key_point=point.id,
            )


PROTOCOL = Protocol(
    name="key-point-verification",
    version="1",
    title="Key point verification",
    variables=(
        Variable(
            "grounded",
            "key-point",
            "Is the point in the text?",
            YES_NO,
            words={"yes": "Yes", "no": "No"},
        ),
        Variable(
            "key",
            "key-point",
            "Is it a key point for the question?",
            ("agree", "neutral", "disagree"),
            level="ordinal",
            asked_if={"grounded": ("yes",)},
            words={"agree": "Agree", "neutral": "Neutral", "disagree": "Disagree"},
            meanings={
                "agree": "It answers the question, or a part of it.",
                "neutral": "Background that an answer could do without.",
                "disagree": "It does not bear on the question.",
            },
        ),
    ),
    make_items=make_items,
    needs=("passages", "key_points"),
    evidence=Evidence("grounded", "passage"),
    folder=Path(__file__).parent,
)
