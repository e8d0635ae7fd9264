"""The items of key-point writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import Protocol, first_words, passage_key
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Text, UnitSpec, Variable, kinds_of
from tandem.protocols.key_point_writing import DECLARATION


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


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Write the key points of a passage, then match them to those of a machine.",
    lacks="No key point names a passage that it was drawn from.",
    make_items=make_items,
    needs=("passages", "key_points"),
    folder=Path(__file__).parent,
)
