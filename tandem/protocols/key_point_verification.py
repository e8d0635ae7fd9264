"""Key-point verification (Long2RAG): is the point in its source, and does it matter?

With `--option points=answers` the points are those of a report, and its context replaces their
source. The only question is whether the context supports them. Precision of key points is computed
from this (Long2RAG, section 6.4), and so is GaRAGe's check of claims against the passages that
ground them.
"""

from __future__ import annotations

from dataclasses import replace

from tandem.protocols.base import YES_NO, Declaration, Evidence, Variable

_OF_QUERIES = Declaration(
    name="key-point-verification",
    version="1",
    title="Key point verification",
    variables=(
        Variable(
            "grounded",
            "key-point",
            "Is the point in the text?",
            YES_NO,
            words={"yes": "Yes", "no": "No"},
        ),
        Variable(
            "key",
            "key-point",
            "Is it a key point for the question?",
            ("agree", "neutral", "disagree"),
            level="ordinal",
            asked_if={"grounded": ("yes",)},
            words={"agree": "Agree", "neutral": "Neutral", "disagree": "Disagree"},
            meanings={
                "agree": "It answers the question, or a part of it.",
                "neutral": "Background that an answer could do without.",
                "disagree": "It is not relevant to the question.",
            },
        ),
    ),
    evidence=Evidence("grounded", "passage"),
)

_OF_ANSWERS = replace(
    _OF_QUERIES,
    title="Points of answers and their context",
    variables=(replace(_OF_QUERIES.variables[0], question="Do the passages support it?"),),
    evidence=Evidence("grounded", "passage", several=True),
    reading="answers",
)
DECLARATION = replace(_OF_QUERIES, readings={_OF_ANSWERS.reading: _OF_ANSWERS})
