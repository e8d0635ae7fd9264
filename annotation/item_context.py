"""The content of an item's page: its units with their questions, and the answers so far."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext, gettext_noop

from annotation.answers.evidence import with_starts
from tandem.protocols.base import (
    NONE_OF_THESE,
    Conditions,
    Evidence,
    ItemSpec,
    Payload,
    PointList,
    Scale,
    Text,
    UnitSpec,
    Variable,
    WrittenText,
    split_codes,
)
from tandem.protocols.schema import EVIDENCE_KEY, Schema
from tandem.protocols.validation import read_code

TONES = {"yes": "yes", "no": "no"}
ONE_LINE = 30
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*(?: \(([^()\n]+)\))?")
_LEAD = re.compile(rf"^(- ){_BOLD.pattern}(?=:)", re.MULTILINE)
HEADINGS = tuple(
    gettext_noop(heading)
    for heading in ("Passage", "Answer", "Report", "Source", "Document", "Reference answer")
)
"""Headings of texts that are not titles of their own."""
KINDS = {
    "item": gettext_noop("The whole item"),
    "query": gettext_noop("The request"),
    "pair": gettext_noop("The two answers"),
    "report": gettext_noop("Answers"),
    "question": gettext_noop("Questions"),
    "key-point": gettext_noop("Key points"),
    "nugget": gettext_noop("Nuggets"),
    "report-nugget": gettext_noop("Nuggets in the answer"),
    "sentence": gettext_noop("Sentences"),
    "sentence-citation": gettext_noop("Sentences and the passages they cite"),
    "passage": gettext_noop("Passages"),
    "passage-sentence": gettext_noop("Sentences of passages"),
    "report-passage": gettext_noop("Passages by answer"),
}
WHERE = {
    "sentence": gettext_noop("in the sentence"),
    "report": gettext_noop("in the report"),
    "passage": gettext_noop("in the passage"),
    "reference": gettext_noop("in the reference answer"),
}
"""Where a quote is owed, after *needs a highlight*."""


@dataclass(frozen=True)
class Choice:
    """One code that can be chosen. `key` is the digit key for it, or empty.

    The code of *none of these*, where several can be chosen, is empty. A choice that is `single`
    cannot be chosen with another one.
    """

    code: str
    word: str
    key: str
    tone: str
    chosen: bool
    meaning: str = ""
    single: bool = False


@dataclass(frozen=True)
class ShownScale:
    """An interval scale, with the words of its ends, if they have any, and the number chosen."""

    first: str
    last: str
    step: str
    first_word: str
    last_word: str
    number: str


@dataclass(frozen=True)
class AskedVariable:
    """One variable of one unit. `conditions` is JSON: the variables and codes that show it.

    The choices of a variable with a `scale` are its escapes alone.
    """

    name: str
    question: str
    choices: tuple[Choice, ...]
    conditions: str
    wraps: bool
    several: bool = False
    scale: ShownScale | None = None

    @property
    def is_answered(self) -> bool:
        chosen = any(choice.chosen for choice in self.choices)
        return chosen or bool(self.scale and self.scale.number)

    def named(self, value: str) -> tuple[str, str]:
        """Return the words and the tone of a label's value: those of its choices."""
        escape = any(choice.single and choice.code == value for choice in self.choices)
        codes = split_codes(value) if self.several and not escape else None
        wanted = {value} if codes is None else codes or {""}
        found = [choice for choice in self.choices if choice.code in wanted]
        words = ", ".join(choice.word for choice in found) or value
        return words, found[0].tone if len(found) == 1 else "plain"


@dataclass(frozen=True)
class Prose:
    """A text that the rater writes, with the passages that it may cite."""

    question: str
    conditions: str
    text: str
    sources: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class FreePart:
    """A part of an answer that the protocol's own page edits, as JSON under its key."""

    key: str
    value: str
    conditions: str = ""


@dataclass(frozen=True)
class Row:
    """One unit on the page. `evidence` is the JSON of its quotes, in code points.

    `listed` is the rule of a list to write for it, and `matching` that of a list to match it with.
    `never` is the JSON of answers that cannot all be given, if there are any. `quotable` is that of
    the texts that may be quoted, where they depend on the unit, and `quotes` that of the rules for
    each of two texts. `sentence` is the JSON of the unit's place in a text; `within` if only the
    unit itself may be quoted there. `of` is the JSON of the texts that the unit joins, `passage`
    the heading of the passage that a sentence cites, and `facts` are attributes that are shown.
    """

    number: int
    name: str
    text: str
    heading: str
    variables: tuple[AskedVariable, ...]
    rule: Evidence | None
    evidence: str
    prose: Prose | None
    listed: PointList | None = None
    matching: PointList | None = None
    free: tuple[FreePart, ...] = ()
    never: str = ""
    quotable: str = ""
    quotes: str = ""
    sentence: str = ""
    within: bool = False
    of: str = ""
    passage: str = ""
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def alone(self) -> bool:
        """Whether the unit has a single question, which the page's title can ask."""
        return len(self.variables) == 1 and self.prose is None and self.listed is None


@dataclass(frozen=True)
class Piece:
    """A part of a text: a sentence with its row's number, or the text between sentences."""

    text: str
    number: int | None = None


@dataclass(frozen=True)
class Sheet:
    """Everything that is asked on one page."""

    title: str
    rows: tuple[Row, ...]
    comment: str
    fields: frozenset[str]
    texts: tuple[tuple[str, Text], ...]
    noun: str

    @property
    def has_several(self) -> bool:
        return any(asked.several for row in self.rows for asked in row.variables)

    @property
    def has_scale(self) -> bool:
        return any(asked.scale for row in self.rows for asked in row.variables)

    @property
    def list_is_complete(self) -> bool:
        """Whether the rater has declared every list complete.

        The units that are matched to a list are shown only then.
        """
        lists = (row for row in self.rows if row.listed)
        return all(v.is_answered for row in lists for v in row.variables)


def sheet_of(
    schema: Schema,
    spec: ItemSpec,
    units: Mapping[str, UnitSpec],
    payload: Payload | None,
    texts: Sequence[Text] | None = None,
) -> Sheet:
    """Return the sheet of an item, filled in from a stored payload as far as its form is valid.

    `texts` are the item's texts in the order in which they are shown, if it differs.
    """
    stored = payload or {}
    units_of_payload = stored.get("units")
    sent = units_of_payload if isinstance(units_of_payload, Mapping) else {}
    answers = with_starts(sent, schema, units, spec)
    headings = with_headings(texts or spec.texts)
    rows = tuple(_rows(schema, spec, units, answers, headings))
    questions = {asked.question for row in rows for asked in row.variables}
    title = questions.pop() if len(questions) == 1 else gettext(schema.protocol.title)
    fields = frozenset(text.field for text in spec.texts if _is_marked(text.field, rows))
    comment = str(stored.get("comment") or "")
    return Sheet(title, rows, comment, fields, headings, _noun(spec))


def _is_marked(field: str, rows: Sequence[Row]) -> bool:
    return any(
        (row.rule is not None and row.rule.covers(field))
        or (row.listed is not None and row.listed.field == field)
        for row in rows
    )


def _rows(
    schema: Schema, spec: ItemSpec, units: Mapping[str, UnitSpec], answers: Mapping[str, Any],
    headings: Sequence[tuple[str, Text]],
) -> Iterator[Row]:  # fmt: skip
    named = {text.field: heading for heading, text in headings}
    before, several = "", len({unit.kind for unit in units.values()}) > 1
    for number, (name, unit) in enumerate(units.items()):
        answer = answers.get(name)
        known = answer if isinstance(answer, Mapping) else {}
        written, rule = schema.written(unit.kind), schema.evidence(unit.kind)
        yield Row(
            number=number,
            name=name,
            text=unit.text,
            heading=_kind(unit.kind) if several and unit.kind != before else "",
            variables=tuple(
                _asked_variable(schema, v, known.get(v.name))
                for v in schema.variables_of(unit.kind)
            ),
            rule=rule,
            evidence=json.dumps(known.get(EVIDENCE_KEY) or [], ensure_ascii=False),
            prose=_prose(schema, written, spec, known.get(written.name)) if written else None,
            listed=schema.listed(unit.kind),
            matching=schema.matching(unit.kind),
            free=tuple(_free_parts(schema, unit.kind, known)),
            never=json.dumps(found) if (found := schema.contradictions(unit.kind)) else "",
            quotable=_quotable(rule, unit, spec),
            quotes=_quotes(rule, unit, spec),
            sentence=json.dumps(unit.place) if unit.place else "",
            within=bool(rule and any(each.within for each in rule.rules)),
            of=json.dumps(unit.of) if unit.of else "",
            passage=named.get(unit.of[-1], "") if unit.kind == "sentence-citation" else "",
            facts=schema.protocol.shown_fields(unit),
        )
        before = unit.kind


def _quotable(rule: Evidence | None, unit: UnitSpec, spec: ItemSpec) -> str:
    if rule is None or not (rule.beside or unit.of):
        return ""
    return json.dumps(_fields(rule, unit, spec))


def _fields(rule: Evidence, unit: UnitSpec, spec: ItemSpec) -> list[str]:
    """Return the texts of a unit that may be quoted."""
    fields = [text.field for text in spec.texts if rule.covers(text.field)]
    return [each for each in fields if each in unit.of] or fields


def _quotes(rule: Evidence | None, unit: UnitSpec, spec: ItemSpec) -> str:
    if rule is None or rule.beside is None:
        return ""
    return json.dumps(
        [
            {
                "fields": _fields(replace(each, beside=None), unit, spec),
                "owed": each.owed_if,
                "where": gettext(WHERE.get("sentence" if each.within else each.field, "")),
            }
            for each in rule.rules
        ]
    )


def word_in_answer(variable: Variable, value: object) -> str:
    """Return the word for the value of a variable in an answer, as `word_of` does for a label's."""
    read = read_code(variable, value)
    return str(value) if read is None else word_of(variable, read)


def word_of(variable: Variable, value: str) -> str:
    """Return the word for a value in the reader's language: a code's as on its button."""
    words = [gettext(variable.word(code)) for code in variable.codes_of(value)]
    return ", ".join(words) or gettext(NONE_OF_THESE)


def tone_of(variable: Variable, code: str) -> str:
    """Return the tone of a code on pages of answers: yes, no, other for an escape, or none."""
    return "other" if code in variable.escapes else TONES.get(code, "")


def with_button_words(guideline: str, asked: Schema, own: Mapping[str, str]) -> str:
    """Return a guideline that names answers as their buttons do, and variables by their questions.

    A code in bold becomes the word of its button, unless different variables use different words.
    Words in brackets after a code are removed if the button has them. `own` are the words of a page
    whose words differ from its protocol's. A variable that begins an entry of a list becomes its
    question, with its name in brackets, since examples use the name.
    """
    words: dict[str, set[str]] = {}
    for variable in asked.variables:
        for code in variable.answers:
            word = gettext(own[code]) if code in own else word_of(variable, code)
            words.setdefault(code, set()).add(word)
    named = {code: next(iter(found)) for code, found in words.items() if len(found) == 1}
    questions = {
        v.name: gettext(v.question)
        for v in asked.protocol.variables
        if v.question and v.name not in named
    }

    def entry(found: re.Match[str]) -> str:
        mark, name, gloss = found.groups()
        if name not in questions:
            return found[0]
        return f"{mark}**{questions[name]}** ({gloss or name})"

    def bold(found: re.Match[str]) -> str:
        name, gloss = found.groups()
        if name in questions:
            return f"**{gloss or name}**"
        word = named.get(name, name)
        return f"**{word}**" + (f" ({gloss})" if gloss and not word.endswith(gloss) else "")

    text = _BOLD.sub(bold, _LEAD.sub(entry, guideline))
    for name in questions:
        text = text.replace(name, name.replace("_", " "))
    return text


def _translated(text: str) -> str:
    return gettext(text) if text else ""


def heading_of(text: Text) -> str:
    """Return a text's heading. A heading from the protocol is translated, but a title is not."""
    return gettext(text.heading) if text.heading in HEADINGS else text.heading


def _asked_variable(schema: Schema, variable: Variable, value: object) -> AskedVariable:
    choices = tuple(_choices(variable, value))
    wraps = sum(len(choice.word + choice.meaning) for choice in choices) > ONE_LINE
    return AskedVariable(
        variable.name,
        gettext(variable.question),
        choices,
        _json(schema, variable.asked_if),
        wraps,
        variable.several,
        _shown_scale(variable, variable.scale, value) if variable.scale else None,
    )


def _choices(variable: Variable, value: object) -> Iterator[Choice]:
    """Yield the choices of a variable. Digits on a scale are typed, so its escapes have no key."""
    numbered = not (variable.scale or variable.several)
    digits = numbered and all(code.isdecimal() and len(code) == 1 for code in variable.codes)
    for place, code in enumerate(variable.escapes if variable.scale else variable.answers, start=1):
        escape = code in variable.escapes
        if escape and variable.several and code == variable.escapes[0]:
            yield _none_of_these(value)
        key = code if digits and code.isdecimal() else str(place) if place < 10 else ""
        yield Choice(
            code,
            word_of(variable, code),
            key="" if variable.scale else key,
            tone=tone_of(variable, code) or "plain",
            chosen=code == value or (isinstance(value, list) and code in value),
            meaning=_translated(variable.meanings.get(code, "")),
            single=variable.several and escape,
        )
    if variable.several and not variable.escapes:
        yield _none_of_these(value)


def _none_of_these(value: object) -> Choice:
    """Return the choice that makes an empty set an answer: an untouched question is none."""
    return Choice("", gettext(NONE_OF_THESE), "0", "plain", chosen=value == [], single=True)


def _shown_scale(variable: Variable, scale: Scale, value: object) -> ShownScale:
    first, last, step = scale.steps
    said = {**variable.meanings, **variable.words}
    low, high = (gettext(said[each]) if each in said else "" for each in (first, last))
    chosen = read_code(variable, value)
    number = chosen if chosen in variable.codes else None
    return ShownScale(first, last, step, low, high, number or "")


def _json(schema: Schema, conditions: Conditions) -> str:
    """Return the conditions on variables that the campaign asks, as JSON. Others count as met."""
    asked = {name: codes for name, codes in conditions.items() if schema.variable(name)}
    return json.dumps(asked) if asked else ""


def _prose(schema: Schema, rule: WrittenText, spec: ItemSpec, value: object) -> Prose:
    known = value if isinstance(value, Mapping) else {}
    cited = known.get("citations") or []
    sources = tuple(
        (text.field.partition(":")[2], heading_of(text), text.field.partition(":")[2] in cited)
        for text in spec.texts
        if text.field.startswith("passage:")
    )
    return Prose(
        gettext(rule.question), _json(schema, rule.asked_if), str(known.get("text", "")), sources
    )


def _free_parts(schema: Schema, kind: str, known: Mapping[str, Any]) -> Iterator[FreePart]:
    if listed := schema.listed(kind):
        points = json.dumps(known.get(listed.name) or None, ensure_ascii=False)
        yield FreePart(listed.name, points, _json(schema, listed.asked_if))
    if matching := schema.matching(kind):
        yield FreePart(matching.matches, json.dumps(known.get(matching.matches) or []))


def _kind(kind: str) -> str:
    return gettext(KINDS.get(kind, kind))


def with_headings(texts: Sequence[Text]) -> tuple[tuple[str, Text], ...]:
    """Return the texts with their headings. A single text without its own title has none."""
    total, so_far = Counter(text.heading for text in texts), Counter[str]()
    shown = []
    for text in texts:
        so_far[text.heading] += 1
        heading = heading_of(text)
        if total[text.heading] > 1:
            heading = f"{heading} {so_far[heading]}"
        plain = len(texts) == 1 and text.heading.lower() == text.field and not text.facts
        shown.append(("" if plain else heading, text))
    return tuple(shown)


def _noun(spec: ItemSpec) -> str:
    """Return the plural noun for the items of a campaign."""
    if spec.key_point:
        return "key points"
    return "reports" if spec.report else "passages" if spec.passage else "items"
