"""Asking once more for the form of an answer that cannot be read: at most one call, recorded.

The judge is shown what it wrote and what is wrong with its form; nothing is said of what it chose.
This is another request than the first, with a hash of its own, and its answer may differ in more
than the form: so repairs are off unless a judge asks for them, and their share is reported.
"""

from __future__ import annotations

from annotation.doors import from_judge
from annotation.presenting import schema
from annotation.protocols.checking import RefusedError, check
from judging.backends.base import Answer, Message, Request
from judging.prompts.preparing import Prepared

MOST_PROBLEMS = 10
LONGEST_ANSWER = 50_000
LONGEST_PROBLEM = 300
WORDS = """The answer above cannot be read. What is wrong with it:

{problems}

Give the same answer once more, in the form that was asked for: one JSON object that matches the \
schema, with nothing before or after it. Keep your labels where they have the right form."""


def repair_of(prepared: Prepared, answer: Answer, by_unit: bool) -> Request | None:
    """The request that asks for a mended form; None where the answer can be read as it is.

    None too for an answer that is far longer than any that was asked for, and for none at all.
    """
    problems = problems_of(prepared, answer.text, by_unit)
    if not problems or not 0 < len(answer.text) <= LONGEST_ANSWER:
        return None
    first = prepared.request
    again = Message("user", WORDS.replace("{problems}", "\n".join(f"- {p}" for p in problems)))
    messages = (*first.messages, Message("assistant", answer.text), again)
    return Request(messages, first.schema, first.facts, first.sample)


def problems_of(prepared: Prepared, text: str, by_unit: bool) -> list[str]:
    """What is wrong with the form of an answer, the first few; empty where nothing is."""
    asked = schema(prepared.assignment.item.campaign)
    try:
        payload = from_judge(text, prepared.units, by_unit)
        check(asked, prepared.units, payload["units"], "judge")
    except RefusedError as error:
        return [str(problem)[:LONGEST_PROBLEM] for problem in error.problems[:MOST_PROBLEMS]]
    return []
