"""Answer preference (CLAPnq's win-rate): which of two answers is better, blind."""

from __future__ import annotations

from tandem.protocols.base import Declaration, Variable

DECLARATION = Declaration(
    name="answer-preference",
    version="1",
    title="Answer preference",
    variables=(
        Variable(
            "preferred",
            "pair",
            "Which answer is better?",
            ("first", "second", "tie-good", "tie-bad"),
            words={
                "first": "The first",
                "second": "The second",
                "tie-good": "Equally good",
                "tie-bad": "Equally bad",
            },
        ),
    ),
)
