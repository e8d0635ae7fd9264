"""Grounding relevance (GaRAGe): which of a query's passages help, and what each is good for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.units import USES, dated_passages, passage_units
from tandem.protocols import material
from tandem.protocols.base import YES_NO, ItemSpec, Protocol, Variable


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    if query.passages:
        yield ItemSpec(
            key=query.id,
            units=tuple(passage_units(query)),
            texts=tuple(dated_passages(query.passages)),
        )


PROTOCOL = Protocol(
    name="grounding-relevance",
    version="1",
    title="Grounding relevance",
    summary="Say whether each passage helps to answer its query, and what it is good for.",
    lacks="No query has a passage.",
    variables=(
        Variable(
            "relevant",
            "passage",
            "Is the passage relevant?",
            YES_NO,
            words={"yes": "Relevant", "no": "Irrelevant"},
        ),
        Variable(
            "use",
            "passage",
            "What is it good for?",
            tuple(USES),
            asked_if={"relevant": ("yes",)},
            words=USES,
        ),
    ),
    make_items=make_items,
    needs=("passages",),
    shuffled=True,
    folder=Path(__file__).parent,
)
