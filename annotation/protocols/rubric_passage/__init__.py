"""The items of rubric ratings of passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import Protocol
from annotation.protocols.units import passage_key, question_units
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Text, Variable
from tandem.protocols.rubric_passage import DECLARATION


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    units = question_units(query)
    for passage in query.passages if units else ():
        yield ItemSpec(
            key=passage_key(query, passage),
            units=units,
            texts=(Text("passage", passage.text, passage.title or "Passage"),),
            passage=passage.id,
        )


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Rate how well each passage answers each question of its query.",
    lacks="No query has both a passage and a question.",
    make_items=make_items,
    needs=("questions", "passages"),
    sampled=True,
    folder=Path(__file__).parent,
)
