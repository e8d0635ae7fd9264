"""The items of key-point verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from annotation.protocols.base import Protocol, dated_passages
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Text, UnitSpec, Variable
from tandem.protocols.key_point_verification import DECLARATION

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


_OF_QUERIES = Protocol.of(
    DECLARATION,
    summary="Check whether each key point is in its source text, and whether it matters.",
    lacks="No key point names a passage that it was drawn from.",
    make_items=make_items,
    needs=("passages", "key_points"),
    folder=HERE,
)
_OF_ANSWERS = Protocol.of(
    DECLARATION.readings["answers"],
    summary=_OF_QUERIES.summary,
    lacks=_OF_QUERIES.lacks,
    make_items=make_items_of_answers,
    needs=("passages", "reports"),
    folder=HERE / "answers",
)
PROTOCOL = replace(_OF_QUERIES, readings={_OF_ANSWERS.reading: _OF_ANSWERS})
