"""Score key points by the probability of *yes* against *no* (Long²RAG, B20).

p = exp(a) / (exp(a) + exp(b)), with a and b the log probabilities of the two codes. The engine
computes it if the server returns them. Points below `cut` are dropped. A point without a
probability is kept, with the answer in its meta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted, with_provenance
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.options import declared
from tandem.protocols import material
from tandem.protocols.base import YES_NO, ItemSpec, Text, UnitSpec, Variable

KEY = "is_key"


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    passages = {passage.id: passage for passage in query.passages}
    for point in query.key_points:
        if source := passages.get(point.passage):
            text = Text("passage", source.text, source.title or "Passage")
            unit = UnitSpec("key-point", point.id, point.text)
            yield ItemSpec(point.id, (unit,), (text,), passage=source.id, key_point=point.id)


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with scored key points, without those below the cut."""
    found = {key: result for result in results for key in result.answers_of("key-point")}
    points = (_add_score(point, found.get(point.id)) for point in query.key_points)
    kept = (p for p in points if p.score is None or p.score >= numbers["cut"])
    return replace(
        query, key_points=tuple(kept), meta={**(query.meta or {}), "cut": numbers["cut"]}
    )


def _add_score(point: rows.KeyPoint, result: Result | None) -> rows.KeyPoint:
    if result is None:
        return point
    answer = result.answers_of("key-point")[point.id][KEY]
    score = result.scores.get((point.id, KEY))
    meta = with_provenance(point.meta, "scoring", result, is_key=answer)
    return replace(point, score=score, meta=meta)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-scoring",
        version="1",
        title="Scores of key points",
        variables=(
            Variable(
                KEY,
                "key-point",
                "Does the text bear it out, and does a good answer to the question make it?",
                YES_NO,
                words={"yes": "Yes", "no": "No"},
            ),
        ),
        make_items=make_items,
        needs=("passages", "key_points"),
    ),
)
STEP = Step(
    "scoring",
    TASK.title,
    "The probability that each is a key point; those below a threshold are dropped.",
    apply,
    TASK.name,
    TASK,
    thresholds=(declared("cut", float, "the lowest score of a key point that is kept", 0.7),),
)
