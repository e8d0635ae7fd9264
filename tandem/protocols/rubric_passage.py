"""Rubric rating of passages (CRUX, task 2): how well a passage answers a sub-question."""

from __future__ import annotations

from tandem.protocols.base import Declaration, Evidence, Variable

DECLARATION = Declaration(
    name="rubric-passage",
    version="1",
    title="Passage rating",
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
    evidence=Evidence("rating", "passage"),
)
