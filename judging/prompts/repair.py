"""Asking once more for an answer that cannot be read: at most one call, recorded.

The judge is shown its reply and what is wrong with the form; nothing is said about what it chose.
This is another request than the first, with a hash of its own, and its answer may differ in more
than the form. So repairs are off unless a judge asks for them, and their share is reported. An
author's answer that is readable but inconsistent (a quote that is in no text, key points merged
into none or several) is sent back in the same way: it is a text and no label, and people review
what comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.answers.evidence import locate
from annotation.answers.payloads import from_judge
from annotation.preparation.base import Result, Step
from annotation.presentation import schema, shown_texts
from annotation.protocols.base import ItemSpec, UnitSpec
from annotation.protocols.schema import Schema
from annotation.protocols.validation import Channel, RefusedError, check
from annotation.registry import STEPS
from judging.backends.base import Answer, Message, Request
from judging.prompts.request import Prepared

Units = Mapping[str, Mapping[str, Any]]
_BY_TASK = {step.task.name: step for step in STEPS.values() if step.task is not None}


def doubts_about(
    schema: Schema, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Units, channel: Channel
) -> list[str]:
    """Why an answer to a step's own task cannot become part of a batch; none to any other task.

    Raises RefusedError where the form is wrong. People's quotes must stand where they say, as on a
    page; a model's are searched for.
    """
    entries, _ = check(schema, units, answer, channel)
    step = _BY_TASK.get(schema.protocol.name)
    if step is None and channel == "judge":
        return []
    _, lost = locate(entries, spec, channel)
    if step is None:
        return []
    listed = schema.protocol.listed
    quotes = [str(problem) for problem in lost] if listed is not None and listed.quoted else []
    return [*quotes, *_of_step(step, spec, units, answer)]


def _of_step(step: Step, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Units) -> list[str]:
    by_unit = {(units[name].kind, units[name].key): each for name, each in answer.items()}
    return list(step.problems(Result(spec.key, by_unit, texts=shown_texts(spec))))


MOST_PROBLEMS = 10
LONGEST_ANSWER = 50_000
LONGEST_PROBLEM = 300
WORDS = """The answer above cannot be read. What is wrong with it:

{problems}

Give the same answer once more, in the form that was asked for: one JSON object that matches the \
schema, with nothing before or after it. Keep your labels where they have the right form."""
INCONSISTENT = """The answer above does not hold together. What is wrong with it:

{problems}

Give it once more with that mended and all else as it was: one JSON object that matches the \
schema, with nothing before or after it."""


def repair_of(prepared: Prepared, answer: Answer, by_unit: bool) -> Request | None:
    """The request that asks for a mended form; None where the answer can be read as it is.

    None too for an answer that is far longer than any that was asked for, and for none at all.
    """
    if not 0 < len(answer.text) <= LONGEST_ANSWER:
        return None
    words, problems = problems_of(prepared, answer.text, by_unit)
    if not problems:
        return None
    first = prepared.request
    told = "\n".join(f"- {problem[:LONGEST_PROBLEM]}" for problem in problems[:MOST_PROBLEMS])
    again = Message("user", words.replace("{problems}", told))
    messages = (*first.messages, Message("assistant", answer.text), again)
    return Request(messages, first.schema, first.facts, first.sample)


def can_be_read(prepared: Prepared, text: str, by_unit: bool) -> bool:
    """Whether an answer has the form that was asked for, whatever else is wrong with it."""
    words, _ = problems_of(prepared, text, by_unit)
    return words != WORDS


def problems_of(prepared: Prepared, text: str, by_unit: bool) -> tuple[str, list[str]]:
    """The words of a repair, and what is wrong with an answer; nothing where it can stand."""
    asked = schema(prepared.assignment.item.campaign)
    try:
        units = from_judge(text, prepared.units, by_unit)["units"]
        return INCONSISTENT, doubts_about(asked, prepared.spec, prepared.units, units, "judge")
    except RefusedError as error:
        return WORDS, [str(problem) for problem in error.problems]
