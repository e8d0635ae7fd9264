"""Grounded answers (CLAPnq rounds 1 and 2, GaRAGe): select what helps, then write an answer.

The rater selects sentences of a passage, or the whole passage if it has no sentences. A validation
pass asks `grounded` about each sentence of the query's reports instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from annotation.protocols.units import dated_passages, report_texts, sentence_units, source_units
from tandem.protocols import material
from tandem.protocols.base import (
    YES_NO,
    ItemSpec,
    Protocol,
    UnitSpec,
    Variable,
    WrittenText,
    kinds_of,
)

WORDS = {"yes": "Yes", "no": "No"}
DESCRIPTORS = {
    "complete": "Complete answer",
    "partial": "Partial answer",
    "too-difficult": "Too difficult",
    "ill-formed": "Ill-formed question",
    "bad-passage": "The passage is not good",
    "no-answer": "No answer",
}


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield one item per query, even without passages: its answer is then a deflection.

    Writers see the use that people assigned to each passage.
    """
    kinds = kinds_of(variables)
    possible = (*source_units(query), UnitSpec("query", query.id, query.text))
    units = [unit for unit in possible if unit.kind in kinds]
    validated = "sentence" in kinds
    writes = "query" in kinds
    units += sentence_units(query) if validated else ()
    shown = report_texts(query.reports) if validated else ()
    if units and (query.passages or writes):
        passages = dated_passages(query.passages, used=writes)
        yield ItemSpec(query.id, tuple(units), (*passages, *shown))


PROTOCOL = Protocol(
    name="grounded-answer",
    version="1",
    title="Grounded answer",
    summary="Tick what helps in the passages, and write an answer from that alone.",
    lacks="No query has both a passage and an answer.",
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
    make_items=make_items,
    needs=("passages", "reports"),
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
    folder=Path(__file__).parent,
    sections={
        "In a second round": ("action",),
        "In a validation pass": ("grounded",),
    },
)
