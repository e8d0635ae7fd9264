"""Rubric rating of passages (CRUX, task 2): how well a passage answers a sub-question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.units import passage_key, question_units
from tandem.protocols import material
from tandem.protocols.base import Evidence, ItemSpec, Protocol, Text, Variable


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    units = question_units(query)
    for passage in query.passages if units else ():
        yield ItemSpec(
            key=passage_key(query, passage),
            units=units,
            texts=(Text("passage", passage.text, passage.title or "Passage"),),
            passage=passage.id,
        )


PROTOCOL = Protocol(
    name="rubric-passage",
    version="1",
    title="Passage rating",
    summary="Rate how well each passage answers each question of its query.",
    lacks="No query has both a passage and a question.",
    variables=(
        Variable(
            "rating",
            "question",
            "How well does the passage answer it?",
            tuple("012345"),
            level="ordinal",
            words={
                "0": "0 – not at all",
                "1": "1 – touches the topic",
                "2": "2 – a small part",
                "3": "3 – the main part",
                "4": "4 – nearly all",
                "5": "5 – in full",
            },
        ),
    ),
    make_items=make_items,
    needs=("questions", "passages"),
    evidence=Evidence("rating", "passage"),
    sampled=True,
    folder=Path(__file__).parent,
)
