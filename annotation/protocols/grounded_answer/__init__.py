"""The items of grounded answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.base import (
    Protocol,
    dated_passages,
    report_texts,
    sentence_units,
    source_units,
)
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, UnitSpec, Variable, kinds_of
from tandem.protocols.grounded_answer import DECLARATION


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield one item per query, even without passages: its answer is then a deflection.

    Writers see the use that people assigned to each passage.
    """
    kinds = kinds_of(variables)
    possible = (*source_units(query), UnitSpec("query", query.id, query.text))
    units = [unit for unit in possible if unit.kind in kinds]
    validated = "sentence" in kinds
    writes = "query" in kinds
    units += sentence_units(query) if validated else ()
    shown = report_texts(query.reports) if validated else ()
    if units and (query.passages or writes):
        passages = dated_passages(query.passages, used=writes)
        yield ItemSpec(query.id, tuple(units), (*passages, *shown))


PROTOCOL = Protocol.of(
    DECLARATION,
    summary="Tick what helps in the passages, and write an answer from that alone.",
    lacks="No query has both a passage and an answer.",
    make_items=make_items,
    needs=("passages", "reports"),
    folder=Path(__file__).parent,
    sections={
        "In a second round": ("action",),
        "In a validation pass": ("grounded",),
    },
)
