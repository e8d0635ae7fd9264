"""Extract the key points that earlier rounds missed in a passage (Long²RAG, B21).

The paper extracts key points in several rounds. Here each round is a step from one batch to the
next, so that it is reviewed like the first. The rounds end with the first one that adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted
from annotation.preparation.steps.key_points import TASK as FIRST_ROUND
from annotation.preparation.steps.key_points import make_items as passages_of
from annotation.preparation.steps.key_points import points_of
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, Text, Variable

ROUNDS = "rounds"
NONE = "(None so far.)"


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """Yield the passages of the first round, each with the points found in it so far."""
    for item in passages_of(query, variables):
        found = [f"- {k.text}" for k in query.key_points if k.passage == item.passage]
        listed = Text("found", "\n".join(found) or NONE, "Points that were found already")
        yield replace(item, texts=(*item.texts, listed))


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with the missed points appended. `rounds` in its meta counts rounds."""
    number = int((query.meta or {}).get(ROUNDS, 1)) + 1
    missed = points_of(query, results, "missed-points", round=number)
    meta = {**(query.meta or {}), ROUNDS: number}
    return replace(query, key_points=(*query.key_points, *missed), meta=meta)


(_holds,) = FIRST_ROUND.variables
TASK = prompted(
    __file__,
    replace(
        FIRST_ROUND,
        name="prepare-missed-points",
        title="Key points that were missed",
        variables=(replace(_holds, question="Does the text hold key points that were missed?"),),
        make_items=make_items,
        needs=("passages", "key_points"),
    ),
)
STEP = Step(
    "missed-points",
    TASK.title,
    "Another round over passages with their key points: those that were missed.",
    apply,
    TASK.name,
    TASK,
)
