"""Repair: ask once more for an answer that cannot be read, with at most one recorded call.

The judge is shown its reply and the errors in its form, but no comment on its choices. A repair is
a request of its own, with its own hash, and its answer may differ in more than the form. So repairs
are off unless a judge turns them on, and their share is reported. A readable but inconsistent
answer of a preparation step (a quote that is in no text, key points merged into none or several) is
sent back in the same way, since it is a text that people review and not a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.answers.evidence import check_owed, locate
from annotation.preparation.base import Result, Step
from annotation.presentation import texts_by_field
from annotation.registry import TASKS
from judging.backends.base import Answer, Message, Request
from judging.parsers.base import UnreadError
from judging.parsers.written import WrittenParser
from judging.prompts.request import Prepared
from tandem.protocols.base import ItemSpec, UnitSpec
from tandem.protocols.schema import Schema
from tandem.protocols.validation import Channel, RefusedError, check

Units = Mapping[str, Mapping[str, Any]]
MAX_PROBLEMS = 10
MAX_ANSWER_LENGTH = 50_000
MAX_PROBLEM_LENGTH = 300
UNREADABLE = """The answer above cannot be read. What is wrong with it:

{problems}

Give the same answer again in the form that was asked for: one JSON object that matches the \
schema, and no other text. Keep every label that has the right form."""
REWRITE = """The answer above cannot be used. What is wrong with it:

{problems}

Give it again in the form that was asked for, from its beginning, with these problems corrected \
and everything else unchanged, and no other text."""
INCONSISTENT = """The answer above does not hold together. What is wrong with it:

{problems}

Give it again with these problems corrected and everything else unchanged: one JSON object that \
matches the schema, and no other text."""


def find_problems(
    schema: Schema, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Units, channel: Channel
) -> list[str]:
    """Return the reasons why a preparation step's answer cannot become part of a batch.

    Raises RefusedError where the form is wrong. People's quotes must be exactly at their stated
    position, as on a page. A model's quotes are searched for.
    """
    entries, _ = check(schema, units, answer, channel)
    step = TASKS.get(schema.protocol.name)
    if step is None and channel in ("judge", "parser"):
        return []
    spans, lost = locate(entries, spec, channel)
    lost += check_owed(schema, entries, spans, channel)
    if step is None:
        return []
    listed = schema.protocol.listed
    quotes = [str(problem) for problem in lost] if listed is not None and listed.quoted else []
    return [*quotes, *_step_problems(step, spec, units, answer)]


def _step_problems(
    step: Step, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Units
) -> list[str]:
    by_unit = {(units[name].kind, units[name].key): each for name, each in answer.items()}
    return list(step.problems(Result(spec.key, by_unit, texts=texts_by_field(spec))))


def repair_request(prepared: Prepared, answer: Answer) -> Request | None:
    """Build the request for a repair.

    None if the answer is readable, empty or far too long, or is neither of our schema's form nor a
    text that people review.
    """
    writes = isinstance(prepared.parser, WrittenParser)
    if not 0 < len(answer.text) <= MAX_ANSWER_LENGTH or not (prepared.parser.whole or writes):
        return None
    words, problems = _describe_problems(prepared, answer)
    if not problems:
        return None
    first = prepared.request
    lines = "\n".join(f"- {problem[:MAX_PROBLEM_LENGTH]}" for problem in problems[:MAX_PROBLEMS])
    words = REWRITE if writes else words
    again = Message("user", words.replace("{problems}", lines))
    messages = (*first.messages, Message("assistant", answer.text), again)
    return Request(messages, first.schema, first.facts, first.sample)


def is_readable(prepared: Prepared, answer: Answer) -> bool:
    """Return whether an answer has the requested form, regardless of other problems."""
    words, _ = _describe_problems(prepared, answer)
    return words != UNREADABLE


def _describe_problems(prepared: Prepared, answer: Answer) -> tuple[str, list[str]]:
    """Return the template of a repair and the problems of an answer, none if it is acceptable."""
    try:
        units = prepared.read(answer).units
        writes = isinstance(prepared.parser, WrittenParser)
        asked = prepared.schema.only(prepared.parser.reads) if writes else prepared.schema
        channel = "judge" if writes else prepared.channel
        problems = find_problems(asked, prepared.spec, prepared.units, units, channel)
        return INCONSISTENT, problems
    except UnreadError as error:
        return UNREADABLE, [str(error)]
    except RefusedError as error:
        return UNREADABLE, [str(problem) for problem in error.problems]
