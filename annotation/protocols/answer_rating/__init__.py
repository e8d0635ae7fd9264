"""Answer rating (CLAPnq's human evaluation; GaRAGe's eligibility and factuality), blind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from annotation.protocols.units import (
    dated_passages,
    passage_units,
    reference_texts,
    report_passage_units,
    report_texts,
    report_units,
    sentence_units,
)
from tandem.protocols import material
from tandem.protocols.base import YES_NO, ItemSpec, Protocol, Variable, kinds_of

GRADES = {"1": "1 – no", "2": "2 – mostly no", "3": "3 – mostly yes", "4": "4 – yes"}
WORDS = {"yes": "Yes", "no": "No"}
ISSUES = {"none": "No issues", "minor": "Minor issues", "major": "Major issues"}
SUPPORT = {
    "supported": "Supported",
    "unsupported": "Unsupported",
    "contradictory": "Contradictory",
    "no-rad": "Needs no evidence",
}
NEEDS_PASSAGES = {"faithful", "support", "needed_question", "needed_answer"}
NEEDS_REFERENCES = {"eligibility"}
HERE = Path(__file__).parent


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield one item per query.

    Passages and references are shown only if a variable is judged against them: references for
    eligibility, as in GaRAGe.
    """
    asked = {variable.name for variable in variables}
    return _items(query, variables, query.references if NEEDS_REFERENCES & asked else ())


def make_first_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Like `make_items`, but without references."""
    return _items(query, variables, ())


def _items(
    query: material.Query, variables: Sequence[Variable], references: Sequence[material.Reference]
) -> Iterator[ItemSpec]:
    kinds = kinds_of(variables)
    possible = chain(
        report_units(query),
        sentence_units(query),
        passage_units(query),
        report_passage_units(query) if "report-passage" in kinds else (),
    )
    units = tuple(unit for unit in possible if unit.kind in kinds)
    needed = NEEDS_PASSAGES & {variable.name for variable in variables}
    passages = query.passages if needed else ()
    if query.reports and units:
        beside = (*reference_texts(references), *dated_passages(passages))
        yield ItemSpec(query.id, units, (*beside, *report_texts(query.reports)))


def _grade(name: str, question: str) -> Variable:
    return Variable(name, "report", question, tuple(GRADES), level="ordinal", words=GRADES)


def _yes_no(name: str, kind: str, question: str) -> Variable:
    return Variable(name, kind, question, YES_NO, words=WORDS)


_FOR_ANY = _yes_no("needed_answer", "passage", "Does it matter for an answer?")
"""The variable of version 1, asked once for all answers together."""

_NOW = Protocol(
    name="answer-rating",
    version="2",
    title="Answer rating",
    summary="Rate each answer by itself: whether it fits, and what its passages support.",
    lacks="No query has an answer with passages.",
    variables=(
        _grade("appropriate", "Does it answer what was asked?"),
        _grade("faithful", "Do the passages support it?"),
        _grade("natural", "Does it read naturally?"),
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
        Variable("support", "sentence", "Is it supported?", tuple(SUPPORT), words=SUPPORT),
        _yes_no("needed_question", "passage", "Does it matter for the question?"),
        _yes_no("needed_answer", "report-passage", "Does the answer need it?"),
    ),
    make_items=make_items,
    needs=("passages", "reports"),
    shuffled=True,
    folder=HERE,
    sections={
        "Each answer": (
            "appropriate",
            "faithful",
            "natural",
            "abstains",
            "irrelevant",
            "eligibility",
        ),
        "Each sentence": ("support",),
        "Each passage": ("needed_question", "needed_answer"),
    },
)
_FIRST = replace(
    _NOW,
    version="1",
    variables=(*_NOW.variables[:-1], _FOR_ANY),
    make_items=make_first_items,
    folder=HERE / "first",
)
PROTOCOL = replace(_NOW, earlier={_FIRST.version: _FIRST})
