"""Extract key points with verbatim spans from passages (Long²RAG)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    next_number,
    own_words,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol, first_words, passage_key
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    for passage in query.passages:
        key = passage_key(query, passage)
        unit = UnitSpec("passage", key, passage.title or first_words(passage.text))
        text = Text("passage", passage.text, passage.title or "Passage")
        yield ItemSpec(key, (unit,), (text,), passage=passage.id)


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with the key points of its passages, replacing earlier key points."""
    return replace(query, key_points=tuple(points_of(query, results, "key-points")))


def points_of(
    query: rows.Query,
    results: Sequence[Result],
    step: str,
    **more: object,
) -> Iterator[rows.KeyPoint]:
    """Yield the key points of accepted answers, numbered after all that the query has had."""
    texts = {passage.id: passage.text for passage in query.passages}
    numbers = count(next_number(query, "k"))
    for result in results:
        for answer in result.answers_of("passage").values():
            for point in answer["points"] or ():
                yield rows.KeyPoint(
                    f"{query.id}:k{next(numbers)}",
                    point["text"].strip(),
                    result.passage or "",
                    own_words(texts[result.passage or ""], point["evidence"]),
                    meta=with_provenance(None, step, result, **more),
                )


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-key-points",
        version="1",
        title="Key points from passages",
        variables=(
            yes_no("holds_points", "passage", "Does the text hold key points for the question?"),
        ),
        make_items=make_items,
        needs=("passages",),
        listed=PointList(
            "points",
            "passage",
            "The key points of the text",
            "passage",
            asked_if={"holds_points": ("yes",)},
        ),
    ),
)
STEP = Step(
    "key-points",
    TASK.title,
    "From each passage: key points with quotes of it, word for word.",
    apply,
    TASK.name,
    TASK,
)
