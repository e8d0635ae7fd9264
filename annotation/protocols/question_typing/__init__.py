"""The items of question typing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import Protocol
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, UnitSpec, Variable
from tandem.protocols.question_typing import DECLARATION


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    yield ItemSpec(key=query.id, units=(UnitSpec("query", query.id, query.text),), texts=())


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Say whether each query can be used, and what kind of question it is.",
    lacks="The batch has no query.",
    make_items=make_items,
    needs=(),
    folder=Path(__file__).parent,
    sections={"Can the question be used?": ("valid", "false_premise", "information_seeking")},
)
