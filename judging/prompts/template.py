"""Prompt files, their slots, and the words in which texts, units and the answer are described.

A prompt is text with fixed slots, and no code. The part before the first line `---` is the system
message, the rest the user's. Slots are filled in one pass, so nothing in a text is ever read as a
slot. Nothing here names a system, a setting, a run or another rater. Ids of texts, which often
contain such a name, are left out: texts are numbered. Material is between delimiters or in JSON
strings, so that it cannot pass for words of the prompt.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from annotation.protocols.base import Conditions, PointList, Text
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from judging.backends.base import AskedUnit, Message

SLOTS = ("guideline", "texts", "query", "units", "answer")
NEEDED = ("texts", "units", "answer")
OWN = ("units", "answer")
_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BREAK = re.compile(r"^---[ \t]*$", re.MULTILINE)
NONCE_LENGTH = 16


class PromptError(ValueError):
    """A prompt that cannot be filled in: what is wrong, and what to do."""


@dataclass(frozen=True)
class Prompt:
    """The two parts of a checked prompt; `sha256` is of the whole text as it was written."""

    system: str
    user: str
    sha256: str

    @cached_property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The two parts cut at their slots: words and names of slots by turns."""
        return tuple(_SLOT.split(self.system)), tuple(_SLOT.split(self.user))


def read_prompt(text: str) -> Prompt:
    """Checks a prompt's slots and takes it apart. Raises PromptError."""
    slots = set(_SLOT.findall(text))
    if unknown := sorted(slots - set(SLOTS)):
        known = ", ".join(f"{{{name}}}" for name in SLOTS)
        raise PromptError(f"{{{unknown[0]}}} is no slot; the slots are {known}")
    parts = _BREAK.split(text, maxsplit=1)
    system, user = parts if len(parts) == 2 else ("", text)
    for name in NEEDED:
        if name not in slots:
            raise PromptError(f"the slot {{{name}}} is missing; put it where it belongs")
        if name not in _SLOT.findall(user):
            raise PromptError(f"the slot {{{name}}} stands before the line ---; move it below")
    return Prompt(system.strip(), user.strip(), sha256_of(text))


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fill(prompt: Prompt, values: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages, with each slot replaced by its value; an empty system part is left out."""
    system, user = (_filled(part, values) for part in prompt.parts)
    # What stands before the first slot of a unit's own is shared by all requests of an item.
    own = min(prompt.parts[1].index(slot) for slot in OWN)
    asked = Message("user", "".join(user), sum(map(len, user[:own])))
    opening = "".join(system)
    return (Message("system", opening), asked) if opening else (asked,)


def _filled(part: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [values[each] if n % 2 else each for n, each in enumerate(part)]


def fenced(text: str) -> str:
    """A text between delimiters that it cannot forge: they carry a hash of the text itself.

    The same text always gets the same delimiters, so that equal beginnings of prompts stay equal.
    """
    nonce = _nonce(text)
    return f"[begin {nonce}]\n{text}\n[end {nonce}]"


def _nonce(text: str) -> str:
    salt = 0
    while (nonce := sha256_of(f"{salt}\0{text}")[:NONCE_LENGTH]) in text:
        salt += 1
    return nonce


_quoted = json.JSONEncoder(ensure_ascii=False).encode
NO_TEXTS = "(There are no texts. Judge from the query alone.)"
NO_PASSAGES = "(There is no relevant passage, and so nothing to answer from.)"


def texts_words(texts: Sequence[Text], otherwise: str = NO_TEXTS) -> str:
    """All texts, numbered from 1; what to say `otherwise`, where there are none."""
    return "\n\n".join(_text(n, text) for n, text in enumerate(texts, start=1)) or otherwise


def _text(number: int, text: Text) -> str:
    facts = "".join(f"; {name}: {_string(value)}" for name, value in text.facts)
    lines = [f"Text {number}: {_string(text.heading)}{facts}", fenced(text.text)]
    if text.suggested:
        quotes = ", ".join(map(_string, text.suggested))
        lines.append(f"Places that came with it, which may be wrong: {quotes}")
    return "\n".join(lines)


def query_words(query: str, asked_at: str | None) -> str:
    return fenced(query) + (f"\nIt was asked on {_string(asked_at)}." if asked_at else "")


def units_words(units: Iterable[AskedUnit]) -> str:
    """One line a unit: its key and its words, and the text that it is or stands in.

    Of a passage beside an answer it is both texts, the passage first.
    """
    return "\n".join(_unit(unit) for unit in units)


def _unit(unit: AskedUnit) -> str:
    place = f" (text {unit.about + 1})" if unit.about is not None else ""
    if unit.about is not None and unit.answer is not None:
        place = f" (texts {unit.about + 1} and {unit.answer + 1})"
    return f"- {_string(unit.name)}: {unit.kind} {_string(unit.text)}{place}"


def answer_words(schema: Schema, units: Sequence[AskedUnit], unit_by_unit: bool) -> str:
    """What the JSON object holds, for each kind of unit that is asked."""
    kinds = dict.fromkeys(unit.kind for unit in units)
    if unit_by_unit:
        opening = "Answer with one object for the unit below, with these keys:"
        return "\n".join([opening, *(line for kind in kinds for line in _keys(schema, kind))])
    lines = ["Answer with one object with an entry under the key of each unit."]
    for kind in kinds:
        lines += [f"For a {kind}, the entry is an object with these keys:", *_keys(schema, kind)]
    return "\n".join(lines)


def _keys(schema: Schema, kind: str) -> list[str]:
    lines = []
    if rule := schema.evidence(kind):
        owed = f", owed where `{rule.variable}` is {rule.owed_if}" if rule.owed_if else ""
        form = 'a list of {"quote", "start"}: '
        texts = f"{rule.field}s" if rule.several else rule.field
        lines.append(f"- `{EVIDENCE_KEY}`: {form}quotes of the {texts} for `{rule.variable}`{owed}")
    for variable in schema.variables_of(kind):
        codes = _listed(variable.answers)
        condition = _condition(schema, variable.asked_if)
        lines.append(f"- `{variable.name}`: {variable.question} {codes}{condition}")
    if written := schema.written(kind):
        condition = _condition(schema, written.asked_if)
        lines.append(
            f"- `{written.name}`: {written.question}, as its text and an empty "
            f"list of citations{condition}"
        )
    if listed := schema.listed(kind):
        lines.append(_list(listed) + _condition(schema, listed.asked_if))
    if matching := schema.matching(kind):
        lines.append(
            f"- `{matching.matches}`: the numbers, from 1, of those {matching.name} of your list "
            f"that it matches; empty unless `{matching.match}` is {matching.match_code}"
        )
    return lines


def _list(rule: PointList) -> str:
    quotes = (
        f'a list of {{"quote", "start"}} of the {rule.field}' if rule.quoted else "an empty list"
    )
    # A list that owes no quotes is made of the units themselves, with them in view.
    hidden = rule.match_kind if rule.quoted else ""
    first = f"; write it before you look at any {hidden}" if hidden else ""
    form = 'a list of {"text", "evidence"}, each with its words and'
    return f"- `{rule.name}`: {rule.question}, {form} {quotes}{first}"


def _condition(schema: Schema, conditions: Conditions) -> str:
    asked = {v.name for v in schema.variables}
    held = {name: codes for name, codes in conditions.items() if name in asked}
    return f"; null unless {_joined(held)}" if held else ""


def _joined(conditions: Mapping[str, tuple[str, ...]]) -> str:
    return " and ".join(f"`{name}` is {_listed(codes)}" for name, codes in conditions.items())


def _listed(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{', '.join(codes[:-1])} or {codes[-1]}"


def _string(words: str) -> str:
    return _quoted(" ".join(words.split()))
