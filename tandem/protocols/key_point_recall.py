"""Key-point recall (Long2RAG): which of the query's key points a report makes."""

from __future__ import annotations

from tandem.protocols.base import YES_NO, Declaration, Evidence, Variable

DECLARATION = Declaration(
    name="key-point-recall",
    version="1",
    title="Key point recall",
    variables=(
        Variable(
            "entailed",
            "key-point",
            "Does the report make this point?",
            (*YES_NO, "neutral"),
            words={"yes": "Yes", "no": "No", "neutral": "Neutral"},
        ),
        Variable(
            "failure",
            "key-point",
            "What is wrong?",
            ("incomplete", "general", "missing"),
            asked_if={"entailed": ("no", "neutral")},
            words={
                "incomplete": "Incomplete",
                "general": "Too general",
                "missing": "Missing",
            },
            meanings={
                "incomplete": "A part of the point is made, another left out.",
                "general": "Something so broad is said that the point is not really made.",
                "missing": "The point is not there, or the report says the opposite.",
            },
        ),
    ),
    evidence=Evidence("entailed", "report", owed_if=("yes",)),
)
