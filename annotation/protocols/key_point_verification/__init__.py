"""Key-point verification (Long2RAG): is the point in its source, and does it matter?

With `--option points=answers` the points are those that a report itself makes, and its context
takes the place of their source: only whether the context supports them is asked. Precision of key
points rests on that (Long2RAG, section 6.4), and so does GaRAGe's check of claims against the
passages that ground them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from annotation.protocols import material
from annotation.protocols.base import (
    YES_NO,
    Evidence,
    ItemSpec,
    Protocol,
    Text,
    UnitSpec,
    Variable,
)
from annotation.protocols.units import dated_passages

HERE = Path(__file__).parent


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """One item a key point. A point whose source is not among the passages shown makes none."""
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
    """One item a report, with its points, before its context in rank order.

    A report without points or context makes none; nor does one of whose context a passage is not
    beside the query, since what nobody could see there cannot be called absent.
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


_QUERYS = Protocol(
    name="key-point-verification",
    version="1",
    title="Key point verification",
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
                "disagree": "It does not bear on the question.",
            },
        ),
    ),
    make_items=make_items,
    needs=("passages", "key_points"),
    evidence=Evidence("grounded", "passage"),
    folder=HERE,
)
_ANSWERS = replace(
    _QUERYS,
    title="Points of answers and their context",
    variables=(replace(_QUERYS.variables[0], question="Do the passages support it?"),),
    make_items=make_items_of_answers,
    needs=("passages", "reports"),
    evidence=Evidence("grounded", "passage", several=True),
    folder=HERE / "answers",
    reading="answers",
)
PROTOCOL = replace(_QUERYS, readings={_ANSWERS.reading: _ANSWERS})
