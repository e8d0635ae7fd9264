"""Prompt files, their slots, and descriptions of texts, units and the answer for prompts.

A prompt is text with fixed slots, without code. The part before the first line `---` is the system
message, the rest is the user's message. Slots are filled in one pass, so slots inside a text have
no effect. Prompts never name a system, a setting, a run or another rater. Texts are numbered, since
their keys often contain such a name. Material is between delimiters or in JSON strings, so that it
cannot pass for a part of the prompt.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from judging.backends.base import AskedUnit, Message
from tandem.protocols.base import Conditions, Evidence, PointList, Text, Variable
from tandem.protocols.material import Turn
from tandem.protocols.schema import EVIDENCE_KEY, Schema

SLOTS = ("guideline", "texts", "query", "units", "answer")
REQUIRED_SLOTS = ("texts", "units", "answer")
UNIT_SLOTS = ("units", "answer")
_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BREAK = re.compile(r"^---[ \t]*$", re.MULTILINE)
NONCE_LENGTH = 16


class PromptError(ValueError):
    """A prompt cannot be filled in. The message says what is wrong and what to do."""


@dataclass(frozen=True)
class Prompt:
    """The two parts of a checked prompt, and the SHA-256 of the whole text as it was written."""

    system: str
    user: str
    sha256: str

    @cached_property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The two parts, split at their slots into alternating texts and slot names."""
        return tuple(_SLOT.split(self.system)), tuple(_SLOT.split(self.user))


def read_prompt(text: str) -> Prompt:
    """Check a prompt's slots and split it into its parts. Raises PromptError."""
    slots = set(_SLOT.findall(text))
    if unknown := sorted(slots - set(SLOTS)):
        slots_list = ", ".join(f"{{{name}}}" for name in SLOTS)
        raise PromptError(f"{{{unknown[0]}}} is not a slot; the slots are {slots_list}")
    parts = _BREAK.split(text, maxsplit=1)
    system, user = parts if len(parts) == 2 else ("", text)
    for name in REQUIRED_SLOTS:
        if name not in slots:
            raise PromptError(f"the slot {{{name}}} is missing; add it")
        if name not in _SLOT.findall(user):
            raise PromptError(f"the slot {{{name}}} is before the line ---; move it below")
    return Prompt(system.strip(), user.strip(), sha256_of(text))


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fill(prompt: Prompt, values: Mapping[str, str]) -> tuple[Message, ...]:
    """Return the messages with each slot replaced by its value, without an empty system part."""
    system, user = (_fill_part(part, values) for part in prompt.parts)
    # All requests of an item share the text before the first slot that depends on the unit.
    own = min(prompt.parts[1].index(slot) for slot in UNIT_SLOTS)
    asked = Message("user", "".join(user), sum(map(len, user[:own])))
    opening = "".join(system)
    return (Message("system", opening), asked) if opening else (asked,)


def _fill_part(part: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [values[each] if n % 2 else each for n, each in enumerate(part)]


def fence(text: str) -> str:
    """Put a text between delimiters that it cannot forge, since they contain the text's hash.

    Equal texts get equal delimiters, so that equal beginnings of prompts stay equal.
    """
    nonce = _nonce(text)
    return f"[begin {nonce}]\n{text}\n[end {nonce}]"


def _nonce(text: str) -> str:
    salt = 0
    while (nonce := sha256_of(f"{salt}\0{text}")[:NONCE_LENGTH]) in text:
        salt += 1
    return nonce


_encode = json.JSONEncoder(ensure_ascii=False).encode
NO_TEXTS = "(There are no texts. Judge from the query alone.)"
NO_PASSAGES = "(There is no relevant passage, and so nothing to answer from.)"


def describe_texts(texts: Sequence[Text], otherwise: str = NO_TEXTS) -> str:
    """Describe all texts, numbered from 1. Return `otherwise` if there are none."""
    return (
        "\n\n".join(_describe_text(n, text) for n, text in enumerate(texts, start=1)) or otherwise
    )


def _describe_text(number: int, text: Text) -> str:
    facts = "".join(f"; {name}: {_quote(value)}" for name, value in text.facts)
    lines = [f"Text {number}: {_quote(text.heading)}{facts}", fence(text.text)]
    if text.suggested:
        quotes = ", ".join(map(_quote, text.suggested))
        lines.append(f"Suggested places in it, which may be wrong: {quotes}")
    return "\n".join(lines)


def describe_query(query: str, asked_at: str | None, earlier: Sequence[Turn] = ()) -> str:
    """Describe the query, preceded by the earlier turns of its conversation."""
    asked = fence(query) + (f"\nIt was asked on {_quote(asked_at)}." if asked_at else "")
    if not earlier:
        return asked
    turns = "\n".join(f"{turn.role.capitalize()}:\n{fence(turn.text)}" for turn in earlier)
    return f"Earlier turns of the conversation:\n{turns}\nThe query, the turn after them:\n{asked}"


def describe_units(units: Iterable[AskedUnit]) -> str:
    """Describe each unit in a line: its key, wording, the number of its text, and attributes.

    A passage judged with an answer has both numbers, the passage's first.
    """
    return "\n".join(_describe_unit(unit) for unit in units)


def _describe_unit(unit: AskedUnit) -> str:
    place = f" (text {unit.about + 1})" if unit.about is not None else ""
    if unit.about is not None and unit.answer is not None:
        place = f" (texts {unit.about + 1} and {unit.answer + 1})"
    fields = "".join(f"; {name}: {_quote(value)}" for name, value in unit.fields)
    return f"- {_quote(unit.name)}: {unit.kind} {_quote(unit.text)}{place}{fields}"


def describe_answer(schema: Schema, units: Sequence[AskedUnit], unit_by_unit: bool) -> str:
    """Describe the JSON object for each kind of unit that is asked."""
    kinds = dict.fromkeys(unit.kind for unit in units)
    if unit_by_unit:
        opening = "Answer with one object for the unit below, with these keys:"
        return "\n".join(
            [opening, *(line for kind in kinds for line in _describe_keys(schema, kind))]
        )
    lines = ["Answer with one object with an entry under the key of each unit."]
    for kind in kinds:
        lines += [
            f"For a {kind}, the entry is an object with these keys:",
            *_describe_keys(schema, kind),
        ]
    return "\n".join(lines)


def _describe_keys(schema: Schema, kind: str) -> list[str]:
    lines = []
    if rule := schema.evidence(kind):
        form = 'a list of {"quote", "start"}: '
        quotes = "; ".join(_describe_quotes(schema, each) for each in rule.rules)
        lines.append(f"- `{EVIDENCE_KEY}`: {form}{quotes}")
    for variable in schema.variables_of(kind):
        codes = _describe_codes(variable)
        condition = _describe_condition(schema, variable.asked_if)
        lines.append(f"- `{variable.name}`: {variable.question} {codes}{condition}")
    if written := schema.written(kind):
        condition = _describe_condition(schema, written.asked_if)
        lines.append(
            f"- `{written.name}`: {written.question}, as its text and an empty "
            f"list of citations{condition}"
        )
    lines += [_describe_contradiction(each) for each in schema.contradictions(kind)]
    if listed := schema.listed(kind):
        lines.append(_describe_list(listed) + _describe_condition(schema, listed.asked_if))
    if matching := schema.matching(kind):
        lines.append(
            f"- `{matching.matches}`: the numbers, from 1, of those {matching.name} of your list "
            f"that it matches; empty unless `{matching.match}` is {matching.match_code}"
        )
    return lines


def _describe_quotes(schema: Schema, rule: Evidence) -> str:
    codes = _join_codes(rule.owed_if) if rule.owed_if else ""
    verb = _verb(schema, rule.variable)
    owed = f", required if `{rule.variable}` {verb} {codes}" if codes else ""
    texts = f"{rule.field}s" if rule.several else rule.field
    if rule.within:
        texts = "sentence itself"
    return f"quotes of the {texts} for `{rule.variable}`{owed}"


def _describe_codes(variable: Variable) -> str:
    """Describe the values that a variable takes: on a scale by its ends and its step."""
    if variable.scale:
        first, last, step = variable.scale.steps
        found = f"a number from {first} to {last} in steps of {step}"
    elif variable.several:
        found = f"a list of any of {', '.join(variable.codes)}; [] if none applies"
    else:
        return _join_codes(variable.answers)
    return f"{found}, or alone {_join_codes(variable.escapes)}" if variable.escapes else found


def _verb(schema: Schema, name: str) -> str:
    variable = schema.variable(name)
    return "has" if variable is not None and variable.several else "is"


def _describe_contradiction(conditions: Conditions) -> str:
    *others, last = (f"`{name}` is {_join_codes(codes)}" for name, codes in conditions.items())
    return f"- never {last} where {' and '.join(others)}"


def _describe_list(rule: PointList) -> str:
    quotes = (
        f'a list of {{"quote", "start"}} of the {rule.field}' if rule.quoted else "an empty list"
    )
    # Points without quotes are written from the units, so the units must be visible.
    hidden = rule.match_kind if rule.quoted else ""
    first = f"; write it before you look at any {hidden}" if hidden else ""
    form = 'a list of {"text", "evidence"}, each with its wording and'
    return f"- `{rule.name}`: {rule.question}, {form} {quotes}{first}"


def _describe_condition(schema: Schema, conditions: Conditions) -> str:
    asked = {v.name for v in schema.variables}
    held = {name: codes for name, codes in conditions.items() if name in asked}
    parts = (f"`{name}` {_verb(schema, name)} {_join_codes(codes)}" for name, codes in held.items())
    return f"; null unless {' and '.join(parts)}" if held else ""


def _join_codes(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{', '.join(codes[:-1])} or {codes[-1]}"


def _quote(words: str) -> str:
    return _encode(" ".join(words.split()))
