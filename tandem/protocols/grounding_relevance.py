"""Grounding relevance (GaRAGe): which of a query's passages help, and what each is good for."""

from __future__ import annotations

from tandem.protocols.base import YES_NO, Declaration, Variable

USES = {
    "answer-the-question": "Answers the question",
    "related-information": "Related information",
    "outdated": "Outdated",
    "unknown": "Age unknown",
}
"""The codes of `use`, with the words that pages show for them."""
DECLARATION = Declaration(
    name="grounding-relevance",
    version="1",
    title="Grounding relevance",
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
)
