"""Write new questions from a query: evolved ones, research tasks, questions about a topic.

Long²RAG evolves seed questions in width and in depth (3.1); GaRAGe has research tasks written for a
topic, and questions about it from what was found (B.5, B.6). Each new question becomes a query,
called `QUERY:nN`, right after the query that it comes from. A number is never used twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.options import declared
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable

NAME = "new-questions"
HIGHEST = "new_questions"
SOURCE = "written_from"


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield the query with its passages, which are what was found about it, if it has any."""
    texts = (Text(f"passage:{p.id}", p.text, p.title or "Passage") for p in query.passages)
    yield ItemSpec(query.id, (UnitSpec("query", query.id, query.text),), tuple(texts))


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> Sequence[rows.Query]:
    """Return the query, unless `seeds` is 0, and the new ones. They have its meta and no parts."""
    stored = (query.meta or {}).get(HIGHEST)
    given = stored if type(stored) is int else 0
    new = list(_new_queries(query, results, given))
    seed = replace(query, meta={**(query.meta or {}), HIGHEST: given + len(new)}) if new else query
    return [seed, *new] if numbers["seeds"] else new


def _new_queries(query: rows.Query, results: Sequence[Result], given: int) -> Iterator[rows.Query]:
    points = (
        (result, point)
        for result in results
        for answer in result.answers_of("query").values()
        for point in answer["questions"] or ()
    )
    kept = {name: value for name, value in (query.meta or {}).items() if name != HIGHEST}
    for number, (result, point) in enumerate(points, start=given + 1):
        meta = with_provenance(kept, NAME, result, **{SOURCE: query.id})
        yield rows.Query(f"{query.id}:n{number}", point["text"].strip(), meta=meta)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-new-questions",
        version="1",
        title="New questions",
        variables=(yes_no("usable", "query", "Can new questions be written from this one?"),),
        make_items=make_items,
        needs=("passages",),
        listed=PointList(
            "questions",
            "query",
            "The new questions",
            "query",
            quoted=False,
            asked_if={"usable": ("yes",)},
        ),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "From each query: new questions, each of which becomes a query of its own.",
    apply,
    TASK.name,
    TASK,
    thresholds=(
        declared("seeds", float, "1 keeps the query beside the new ones, and 0 leaves it out", 1.0),
    ),
)
