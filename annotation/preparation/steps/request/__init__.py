"""Write the request that a reference would answer, and its sub-questions (CRUX).

The first reference of a query is used. The previous text of the query is kept in its meta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    instructions,
    own_words,
    with_provenance,
)
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import YES_NO, ItemSpec, PointList, Text, UnitSpec, Variable, WrittenText

HERE = Path(__file__).parent
USABLE = {"usable": ("yes",)}


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    if query.references:
        text = Text("reference", query.references[0].text, "Reference")
        yield ItemSpec(query.id, (UnitSpec("reference", query.id, query.text),), (text,))


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its request and questions, or None if no request could be written."""
    answered = [(r, a) for r in results for a in r.answers_of("reference").values()]
    if not answered or answered[0][1]["usable"] != "yes":
        return None
    result, answer = answered[0]
    reference = query.references[0].text
    questions = tuple(
        rows.Question(
            f"{query.id}:q{number}",
            point["text"].strip(),
            meta=with_provenance(
                None, "request", result, answered_by=list(own_words(reference, point["evidence"]))
            ),
        )
        for number, point in enumerate(answer["questions"], start=1)
    )
    meta = with_provenance(query.meta, "request", result, text_before=query.text)
    return replace(query, text=answer["request"]["text"].strip(), questions=questions, meta=meta)


TASK = Protocol(
    name="prepare-request",
    version="1",
    title="Request and sub-questions",
    variables=(
        Variable(
            "usable",
            "reference",
            "Can a request be written that this text would answer?",
            YES_NO,
            words={"yes": "Yes", "no": "No"},
        ),
    ),
    make_items=make_items,
    needs=(),
    written=WrittenText("request", "reference", "The request", USABLE),
    listed=PointList("questions", "reference", "The sub-questions", "reference", asked_if=USABLE),
    folder=HERE,
    own_guideline=instructions(HERE),
)
STEP = Step(
    "request",
    TASK.title,
    "From a reference: the report request, and sub-questions with the words that answer them.",
    apply,
    TASK.name,
    TASK,
)
