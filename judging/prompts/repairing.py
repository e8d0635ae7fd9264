"""Asking once more for an answer that cannot be read: at most one call, recorded.

The judge is shown what it wrote and what is wrong with its form; nothing is said of what it chose.
This is another request than the first, with a hash of its own, and its answer may differ in more
than the form: so repairs are off unless a judge asks for them, and their share is reported.

An author's answer that can be read but does not hold together (a quote that stands nowhere, key
points that were merged into none or several) is sent back in the same way: it is written and no
label, and people review what comes.
"""

from __future__ import annotations

from annotation.doors import from_judge
from annotation.presenting import schema
from annotation.protocols.checking import RefusedError
from judging.backends.base import Answer, Message, Request
from judging.preparation.checking import doubts_about
from judging.prompts.preparing import Prepared

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
