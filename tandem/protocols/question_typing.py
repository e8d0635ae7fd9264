"""Question typing (GaRAGe): is the question usable, and what kind of question is it?

GaRAGe's list of 25 categories is only in its data, which we may not ship. The default list is our
own: 24 plain topics and `other`. A campaign sets the categories of its batch with the option
`categories`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tandem.protocols.base import YES_NO, Declaration, Level, Variable

_LIST = Path(__file__).with_name("question_categories.txt")
TOPICS = dict(line.split(": ", 1) for line in _LIST.read_text("utf-8").splitlines())
"""The categories of the default list, with a description for people."""
CATEGORIES = tuple(TOPICS)
LET_THROUGH = {"valid": ("yes",), "false_premise": ("no",), "information_seeking": ("yes",)}
SENSITIVITY = ("static", "slow-changing", "fast-changing")
COMPLEXITY = (
    "simple",
    "simple-with-condition",
    "set",
    "comparison",
    "aggregation",
    "multi-hop",
    "post-processing",
)
POPULARITY = ("head", "torso", "tail")


def _gate(name: str, question: str) -> Variable:
    return Variable(name, "query", question, YES_NO, words={"yes": "Yes", "no": "No"})


def _type(name: str, question: str, codes: Sequence[str], level: Level = "nominal") -> Variable:
    words = {code: code.replace("-", " ").capitalize() for code in codes}
    meanings = TOPICS if name == "category" else {}
    return Variable(
        name, "query", question, tuple(codes), level, (), LET_THROUGH, words, meanings=meanings
    )


DECLARATION = Declaration(
    name="question-typing",
    version="1",
    title="Question typing",
    variables=(
        _gate("valid", "Is the question valid?"),
        _gate("false_premise", "Does it rest on a false premise?"),
        _gate("information_seeking", "Does it seek information?"),
        _type("sensitivity", "How fast does its answer change?", SENSITIVITY, "ordinal"),
        _type("complexity", "How complex is it?", COMPLEXITY),
        _type("popularity", "How well known is its subject?", POPULARITY, "ordinal"),
        _type("category", "What is it about?", CATEGORIES),
    ),
)
