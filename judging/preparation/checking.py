"""What is wrong with an answer of an author beyond its form: lost quotes, doubts of its step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.locating import locate
from annotation.preparation.base import Result, Step
from annotation.preparation.steps import STEPS
from annotation.presenting import shown_texts
from annotation.protocols.base import ItemSpec, UnitSpec
from annotation.protocols.checking import Door, check
from annotation.protocols.schema import Schema

Units = Mapping[str, Mapping[str, Any]]
_BY_TASK = {step.task.name: step for step in STEPS.values() if step.task is not None}


def doubts_about(
    schema: Schema, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Units, door: Door
) -> list[str]:
    """Why an answer to a step's own task cannot become part of a batch; none to any other task.

    Raises RefusedError where the form is wrong. People's quotes must stand where they say, as on a
    page; a model's are searched for.
    """
    entries, _ = check(schema, units, answer, door)
    step = _BY_TASK.get(schema.protocol.name)
    if step is None and door == "judge":
        return []
    _, lost = locate(entries, spec, door)
    if step is None:
        return []
    listed = schema.protocol.listed
    quotes = [str(problem) for problem in lost] if listed is not None and listed.quoted else []
    return [*quotes, *_of_step(step, spec, units, answer)]


def _of_step(step: Step, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Units) -> list[str]:
    by_unit = {(units[name].kind, units[name].key): each for name, each in answer.items()}
    return list(step.doubts(Result(spec.key, by_unit, texts=shown_texts(spec))))
