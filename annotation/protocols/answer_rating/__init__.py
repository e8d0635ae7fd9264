"""The items of answer rating."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from annotation.protocols.base import (
    Protocol,
    dated_passages,
    passage_units,
    reference_texts,
    report_passage_units,
    report_texts,
    report_units,
    sentence_units,
)
from tandem.protocols import material
from tandem.protocols.answer_rating import DECLARATION, QUALITIES
from tandem.protocols.base import ItemSpec, UnitSpec, Variable, kinds_of

NEEDS_PASSAGES = {"faithful", "correct", "support", "needed_question", "needed_answer"}
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
        (UnitSpec("query", query.id, query.text),),
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


_NOW = Protocol.of(
    DECLARATION,
    summary="Rate each answer by itself: whether it fits, and what its passages support.",
    lacks="No query has an answer with passages.",
    make_items=make_items,
    needs=("passages", "reports"),
    shuffled=True,
    folder=HERE,
    sections={
        "The question": ("certainty",),
        "Each answer": (
            "appropriate",
            "faithful",
            "natural",
            "abstains",
            "irrelevant",
            "eligibility",
            *QUALITIES,
        ),
        "Each sentence": ("support",),
        "Each passage": ("needed_question", "needed_answer"),
    },
)
_FIRST = Protocol.of(
    DECLARATION.earlier["1"],
    summary=_NOW.summary,
    lacks=_NOW.lacks,
    make_items=make_first_items,
    needs=_NOW.needs,
    shuffled=_NOW.shuffled,
    folder=HERE / "first",
    sections=_NOW.sections,
)
PROTOCOL = replace(_NOW, earlier={_FIRST.version: _FIRST})
