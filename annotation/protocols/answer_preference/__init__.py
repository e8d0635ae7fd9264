"""The items of answer preference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from annotation.protocols.base import Protocol
from annotation.protocols.units import report_texts
from tandem.protocols import material
from tandem.protocols.answer_preference import DECLARATION
from tandem.protocols.base import ItemSpec, UnitSpec, Variable


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield one item per pair of the query's reports, in the order of the batch."""
    for first, second in combinations(query.reports, 2):
        key = f"{first.id}/{second.id}"
        yield ItemSpec(
            key=key,
            units=(UnitSpec("pair", key, "The first answer and the second"),),
            texts=tuple(report_texts((first, second))),
        )


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Say which of two answers to a query is the better one.",
    lacks="No query has two answers to compare.",
    make_items=make_items,
    needs=("reports",),
    shuffled=True,
    folder=Path(__file__).parent,
)
