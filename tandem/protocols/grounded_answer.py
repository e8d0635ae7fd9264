"""Grounded answers (CLAPnq rounds 1 and 2, GaRAGe): select what helps, then write an answer.

The rater selects sentences of a passage, or the whole passage if it has no sentences. A validation
pass asks `grounded` about each sentence of the query's reports instead. Where all can be answered,
there is not too little for an answer.
"""

from __future__ import annotations

from tandem.protocols.base import YES_NO, Declaration, Variable, WrittenText

WORDS = {"yes": "Yes", "no": "No"}
DESCRIPTORS = {
    "complete": "Complete answer",
    "partial": "Partial answer",
    "too-difficult": "Too difficult",
    "ill-formed": "Ill-formed question",
    "bad-passage": "The passage is not good",
    "no-answer": "No answer",
}

DECLARATION = Declaration(
    name="grounded-answer",
    version="1",
    title="Grounded answer",
    variables=(
        Variable(
            "descriptor",
            "query",
            "How much can be answered?",
            tuple(DESCRIPTORS),
            words=DESCRIPTORS,
        ),
        Variable("deflected", "query", "Is there too little for an answer?", YES_NO, words=WORDS),
        Variable(
            "action",
            "query",
            "What happens to the first answer?",
            ("keep", "modify", "skip"),
            words={"keep": "Keep", "modify": "Modify", "skip": "Skip"},
            optional=True,
        ),
        Variable("selected", "passage-sentence", "Does it help to answer?", YES_NO, words=WORDS),
        Variable("selected", "passage", "Does it help to answer?", YES_NO, words=WORDS),
        Variable("grounded", "sentence", "Is it grounded?", YES_NO, words=WORDS, optional=True),
    ),
    written=WrittenText(
        "written",
        "query",
        "The answer",
        asked_if={
            "descriptor": ("complete", "partial"),
            "deflected": ("no",),
            "action": ("keep", "modify"),
        },
    ),
    contradictions=({"descriptor": ("complete",), "deflected": ("yes",)},),
)
