"""The items of grounding relevance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import Protocol
from annotation.protocols.units import dated_passages, passage_units
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Variable
from tandem.protocols.grounding_relevance import DECLARATION


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    if query.passages:
        yield ItemSpec(
            key=query.id,
            units=tuple(passage_units(query)),
            texts=tuple(dated_passages(query.passages)),
        )


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Say whether each passage helps to answer its query, and what it is good for.",
    lacks="No query has a passage.",
    make_items=make_items,
    needs=("passages",),
    shuffled=True,
    folder=Path(__file__).parent,
)
