"""Write the sub-questions that a reference answers (CRUX, Figure 6).

CRUX has one prompt for the sub-questions and another for the request. `request` asks for both at
once. No quotes are required.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    own_words,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable

NAME = "sub-questions"
USABLE = {"usable": ("yes",)}


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield the first reference of the query, if it has one."""
    if query.references:
        text = Text("reference", query.references[0].text, "Reference")
        yield ItemSpec(query.id, (UnitSpec("reference", query.id, query.text),), (text,))


def usable_answer(results: Sequence[Result]) -> tuple[Result, Mapping[str, Any]] | None:
    """Return the answer about the reference, or None if there is none or it is not usable."""
    answered = [(r, a) for r in results for a in r.answers_of("reference").values()]
    return answered[0] if answered and answered[0][1]["usable"] == "yes" else None


def questions_of(
    query: rows.Query, result: Result, points: Sequence[Mapping[str, Any]], step: str
) -> Iterator[rows.Question]:
    """Yield the sub-questions of an answer, with the words of the reference that answer each."""
    reference = query.references[0].text if query.references else ""
    for number, point in enumerate(points, start=1):
        words = list(own_words(reference, point["evidence"]))
        answered_by = {"answered_by": words} if words else {}
        meta = with_provenance(None, step, result, **answered_by)
        yield rows.Question(f"{query.id}:q{number}", point["text"].strip(), meta=meta)


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its sub-questions, or None if none could be written."""
    if (answered := usable_answer(results)) is None:
        return None
    result, answer = answered
    return replace(query, questions=tuple(questions_of(query, result, answer["questions"], NAME)))


def usable(question: str) -> Variable:
    """Return the variable that says whether anything can be written from the reference."""
    return yes_no("usable", "reference", question)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-sub-questions",
        version="1",
        title="Sub-questions",
        variables=(usable("Can questions be written that this text answers?"),),
        make_items=make_items,
        needs=(),
        listed=PointList(
            "questions",
            "reference",
            "The sub-questions",
            "reference",
            quoted=False,
            asked_if=USABLE,
        ),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "From a reference: the sub-questions that it answers, without quotes.",
    apply,
    TASK.name,
    TASK,
)
