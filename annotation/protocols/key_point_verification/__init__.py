"""Key-point verification (Long2RAG): is the point in its source, and does it matter?

With `--option points=answers` the points are those of a report, and its context replaces their
source. The only question is whether the context supports them. Precision of key points is computed
from this (Long2RAG, section 6.4), and so is GaRAGe's check of claims against the passages that
ground them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from annotation.protocols.units import dated_passages
from tandem.protocols import material
from tandem.protocols.base import (
    YES_NO,
    Evidence,
    ItemSpec,
    Protocol,
    Text,
    UnitSpec,
    Variable,
)

HERE = Path(__file__).parent


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield one item per key point whose source is among the passages shown."""
    passages = {p.id: p for p in query.passages}
    for point in query.key_points:
        if source := passages.get(point.passage):
            text = Text(
                "passage",
                source.text,
                source.title or "Source",
                suggested=tuple(point.spans or ()),
            )
            yield ItemSpec(
                key=point.id,
                units=(UnitSpec("key-point", point.id, point.text),),
                texts=(text,),
                passage=source.id,
                key_point=point.id,
            )


def make_items_of_answers(
    query: material.Query, variables: Sequence[Variable]
) -> Iterator[ItemSpec]:
    """Yield one item per report: its points, and its context in rank order.

    Reports without points or without context are left out. So are reports whose context includes a
    passage that the query does not have, since a rater cannot call a point absent from a text that
    is not shown.
    """
    passages = {p.id: p for p in query.passages}
    for report in query.reports:
        context = report.context or ()
        if report.key_points and context and passages.keys() >= set(context):
            yield ItemSpec(
                key=report.id,
                units=tuple(UnitSpec("key-point", k.id, k.text) for k in report.key_points),
                texts=tuple(dated_passages([passages[each] for each in context])),
                report=report.id,
                system=report.system,
                setting=report.setting,
            )


_OF_QUERIES = Protocol(
    name="key-point-verification",
    version="1",
    title="Key point verification",
    summary="Check whether each key point is in its source text, and whether it matters.",
    lacks="No key point names a passage that it was drawn from.",
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
    make_items=make_items,
    needs=("passages", "key_points"),
    evidence=Evidence("grounded", "passage"),
    folder=HERE,
)
_OF_ANSWERS = replace(
    _OF_QUERIES,
    title="Points of answers and their context",
    variables=(replace(_OF_QUERIES.variables[0], question="Do the passages support it?"),),
    make_items=make_items_of_answers,
    needs=("passages", "reports"),
    evidence=Evidence("grounded", "passage", several=True),
    folder=HERE / "answers",
    reading="answers",
)
PROTOCOL = replace(_OF_QUERIES, readings={_OF_ANSWERS.reading: _OF_ANSWERS})
