"""Merge key points with the same meaning across all passages of a query (Long²RAG, B22).

The author lists the merged points and assigns each original point to one of them. Each original
point must be assigned to exactly one merged point, and each merged point must have at least one
original. An answer that fails this check is not accepted until it is corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    next_number,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol, key_point_units
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, UnitSpec, Variable


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    if len(query.key_points) > 1:
        whole = UnitSpec("query", query.id, query.text)
        yield ItemSpec(query.id, (whole, *key_point_units(query)), ())


def problems(result: Result) -> Iterator[str]:
    """Yield messages about points assigned to none or several, and merged points without any."""
    went = {key: list(each["matches"]) for key, each in result.answers_of("key-point").items()}
    for key, numbers in went.items():
        if not numbers:
            yield f"key point {key} is in no merged point"
        elif len(numbers) > 1:
            yield f"key point {key} is in several merged points: {numbers}"
    used = {number for numbers in went.values() for number in numbers}
    for number in range(1, len(_merged_texts(result)) + 1):
        if number not in used:
            yield f"merged point {number} comes from no key point"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with merged points.

    Each merged point has the passage of its first source, and its spans there. A query with fewer
    than two points has nothing to merge and does not change.
    """
    if not results:
        return query if len(query.key_points) < 2 else None
    result = results[0]
    went = {key: each["matches"][0] for key, each in result.answers_of("key-point").items()}
    names = (f"{query.id}:m{number}" for number in count(next_number(query, "m")))
    made = (
        _point(name, text, [k for k in query.key_points if went.get(k.id) == place], result)
        for place, (name, text) in enumerate(
            zip(names, _merged_texts(result), strict=False), start=1
        )
    )
    return replace(query, key_points=tuple(made))


def _merged_texts(result: Result) -> list[str]:
    answers: Sequence[Mapping[str, Any]] = list(result.answers_of("query").values())
    return [point["text"].strip() for answer in answers for point in answer["merged"] or ()]


def _earlier_sources(point: rows.KeyPoint) -> dict[str, Any]:
    """Return the sources of a point that was merged before."""
    meta = point.meta or {}
    return {"sources": meta["sources"]} if "sources" in meta else {}


def _point(name: str, text: str, sources: Sequence[rows.KeyPoint], of: Result) -> rows.KeyPoint:
    first = sources[0]
    spans = (s for k in sources if k.passage == first.passage for s in k.spans or ())
    originals = [
        {"id": k.id, "text": k.text, "passage": k.passage, **_earlier_sources(k)} for k in sources
    ]
    return rows.KeyPoint(
        name,
        text,
        first.passage,
        tuple(dict.fromkeys(spans)),
        meta=with_provenance(first.meta, "merging", of, sources=originals),
    )


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-merging",
        version="1",
        title="Merging of key points",
        variables=(
            yes_no("repeats", "query", "Do some of the points say the same?"),
            yes_no("placed", "key-point", "Is it in the merged list?"),
        ),
        make_items=make_items,
        needs=("key_points",),
        listed=PointList(
            "merged",
            "query",
            "The merged points",
            "passage",
            match_kind="key-point",
            match="placed",
            match_code="yes",
            quoted=False,
        ),
    ),
)
STEP = Step(
    "merging",
    TASK.title,
    "Key points that say the same become one, with all their sources.",
    apply,
    TASK.name,
    TASK,
    problems=problems,
)
