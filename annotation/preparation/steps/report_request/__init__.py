"""Write the request that a reference would answer (CRUX, Figure 9), without its sub-questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted, with_provenance
from annotation.preparation.steps.sub_questions import USABLE, make_items, usable, usable_answer
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.protocols.base import WrittenText

NAME = "report-request"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its request as its text, or None if none could be written."""
    if (answered := usable_answer(results)) is None:
        return None
    result, answer = answered
    return with_request(query, result, answer["request"]["text"], NAME)


def with_request(query: rows.Query, result: Result, words: str, step: str) -> rows.Query:
    """Return the query with the request as its text, and its text before in its meta."""
    meta = with_provenance(query.meta, step, result, text_before=query.text)
    return replace(query, text=words.strip(), meta=meta)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-report-request",
        version="1",
        title="Report request",
        variables=(usable("Can a request be written that this text would answer?"),),
        make_items=make_items,
        needs=(),
        written=WrittenText("request", "reference", "The request", USABLE),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "From a reference: the report request alone, which becomes the query's text.",
    apply,
    TASK.name,
    TASK,
)
