"""Answer rating (CLAPnq's human evaluation; GaRAGe's eligibility and factuality), blind."""

from __future__ import annotations

from dataclasses import replace

from tandem.protocols.base import YES_NO, Declaration, Variable

GRADES = {"1": "1 – no", "2": "2 – mostly no", "3": "3 – mostly yes", "4": "4 – yes"}
WORDS = {"yes": "Yes", "no": "No"}
ISSUES = {"none": "No issues", "minor": "Minor issues", "major": "Major issues"}
SUPPORT = {
    "supported": "Supported",
    "unsupported": "Unsupported",
    "contradictory": "Contradictory",
    "no-rad": "Needs no evidence",
}


QUALITIES = {
    "correct": "Is what it says right?",
    "useful": "Can the person who asked use it?",
    "objective": "Does it keep to what is known, and take no side?",
    "helpful": "Does it spare the person a further search?",
}
"""What GaRAGe's writers were to aim for, besides a natural answer."""
CERTAIN = "Are you sure what is asked, and what a right answer says?"


def _grade(name: str, kind: str, question: str, optional: bool = False) -> Variable:
    return Variable(
        name, kind, question, tuple(GRADES), level="ordinal", words=GRADES, optional=optional
    )


def _yes_no(name: str, kind: str, question: str) -> Variable:
    return Variable(name, kind, question, YES_NO, words=WORDS)


_FOR_ANY = _yes_no("needed_answer", "passage", "Does it matter for an answer?")
"""The variable of version 1, asked once for all answers together."""

_NOW = Declaration(
    name="answer-rating",
    version="2",
    title="Answer rating",
    variables=(
        _grade("certainty", "query", CERTAIN, optional=True),
        _grade("appropriate", "report", "Does it answer what was asked?"),
        _grade("faithful", "report", "Do the passages support it?"),
        _grade("natural", "report", "Does it read naturally?"),
        _yes_no("abstains", "report", "Does it say that it does not know?"),
        _yes_no("irrelevant", "report", "Is it irrelevant or incoherent?"),
        Variable(
            "eligibility",
            "report",
            "Does it serve the person who asked?",
            tuple(ISSUES),
            level="ordinal",
            words=ISSUES,
        ),
        *(_grade(name, "report", question, optional=True) for name, question in QUALITIES.items()),
        Variable("support", "sentence", "Is it supported?", tuple(SUPPORT), words=SUPPORT),
        _yes_no("needed_question", "passage", "Does it matter for the question?"),
        _yes_no("needed_answer", "report-passage", "Does the answer need it?"),
    ),
)

_FIRST = replace(
    _NOW,
    version="1",
    variables=(*(v for v in _NOW.variables[:-1] if not v.optional), _FOR_ANY),
)
DECLARATION = replace(_NOW, earlier={_FIRST.version: _FIRST})
