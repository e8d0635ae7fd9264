"""The words in which a judge is shown texts and units, and told what to answer.

Nothing here names a system, a setting, a run or another rater. Ids of texts, which often hold such
a name, are left out: texts are numbered. Words that come from the material stand between
delimiters or as JSON strings, so that they cannot pass for words of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from annotation.protocols.base import Conditions, Listed, Text
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from judging.backends.base import AskedUnit
from judging.prompting import fenced

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
    for variable in schema.of(kind):
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


def _list(rule: Listed) -> str:
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
