"""An authored answer as fields of a form, and back, with its quotes marked in the text.

Fields are named by the position of their unit: `0.usable`, `0.point.2`, `0.point.2.quote`. Points
and quotes without words are left out, so a person removes one by emptying its field and adds one in
a blank field. Verbatim points are separated by an empty line that is not part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.datastructures import MultiValueDict

from datasets.text import QuoteLocation, find_in_order, find_quote
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable
from tandem.protocols.schema import EVIDENCE_KEY, Schema

SPARE_POINTS = 1
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")
Answer = dict[str, dict[str, Any]]
Form = MultiValueDict[str, str]


@dataclass(frozen=True)
class Choice:
    name: str
    variable: Variable
    value: str

    @property
    def codes(self) -> list[tuple[str, str]]:
        """Codes with the words that people read."""
        return [(code, self.variable.words.get(code, code)) for code in self.variable.answers]


@dataclass(frozen=True)
class Point:
    name: str
    text: str
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnitFields:
    """One unit's fields. A field that its kind does not have is None."""

    unit: UnitSpec
    choices: tuple[Choice, ...]
    written: Point | None = None
    listed: PointList | None = None
    points: tuple[Point, ...] = ()
    matches: Point | None = None
    evidence: Point | None = None

    def sent(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the fields as a browser would send them unchanged."""
        yield from ((choice.name, [choice.value]) for choice in self.choices)
        for point in (self.written, self.matches, *self.points):
            if point is not None:
                yield point.name, [point.text]
        for point in (self.evidence, *self.points):
            if point is not None:
                yield f"{point.name}.quote", list(point.quotes)


def form_fields(
    schema: Schema, spec: ItemSpec, units: Mapping[str, UnitSpec], answer: Mapping[str, Any]
) -> list[UnitFields]:
    """Return the fields of an answer. Quotes that were found have the wording of the text."""
    return [
        _fields(schema, spec, unit, f"{place}", answer.get(name) or {})
        for place, (name, unit) in enumerate(units.items())
    ]


def _fields(
    schema: Schema, spec: ItemSpec, unit: UnitSpec, place: str, own: Mapping[str, Any]
) -> UnitFields:
    written, listed = schema.written(unit.kind), schema.listed(unit.kind)
    matching, evidence = schema.matching(unit.kind), schema.evidence(unit.kind)
    choices = (
        Choice(f"{place}.{v.name}", v, own.get(v.name) or "")
        for v in schema.variables_of(unit.kind)
    )
    prose = (own.get(written.name) or {}).get("text", "") if written else ""
    numbers = ", ".join(map(str, own.get(matching.matches) or ())) if matching else ""
    return UnitFields(
        unit,
        tuple(choices),
        Point(f"{place}.written", prose) if written else None,
        listed,
        tuple(_points(spec, listed, place, own)) if listed else (),
        Point(f"{place}.matches", numbers) if matching else None,
        _quoted(spec, evidence.field, f"{place}.evidence", own) if evidence else None,
    )


def _points(spec: ItemSpec, rule: PointList, place: str, own: Mapping[str, Any]) -> Iterator[Point]:
    points = own.get(rule.name) or ()
    for number, (point, words) in enumerate(zip(points, _words(spec, rule, points), strict=True)):
        name = f"{place}.point.{number}"
        found = _quoted(spec, rule.field, name, point) if rule.quoted else Point(name, "")
        yield Point(name, words, found.quotes)
    for number in range(len(points), len(points) + SPARE_POINTS):
        yield Point(f"{place}.point.{number}", "")


def _words(spec: ItemSpec, rule: PointList, points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the points' wording, as it is in the text for verbatim points."""
    words = [point["text"] for point in points]
    if rule.verbatim:
        return [found.quote for found in find_in_order(_text(spec, rule.field), words)]
    return words


def _quoted(spec: ItemSpec, where: str, name: str, own: Mapping[str, Any]) -> Point:
    text = _text(spec, where)
    return Point(name, "", tuple(_quotes_in_text(text, own.get(EVIDENCE_KEY) or ())))


def _quotes_in_text(text: str, evidence: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for each in evidence:
        found = find_quote(text, each["quote"], each.get("start"))
        whole = all(part.start is not None for part in found)
        yield from (part.quote for part in found) if whole else (each["quote"],)


def read_answer(
    form: Form,
    schema: Schema,
    spec: ItemSpec,
    units: Mapping[str, UnitSpec],
    own: Mapping[str, Any],
) -> Answer:
    """Read the answer from a form. The step's check decides whether it is acceptable."""
    return {
        name: _answer(form, schema, spec, unit, f"{place}", own.get(name) or {})
        for place, (name, unit) in enumerate(units.items())
    }


def _answer(
    form: Form, schema: Schema, spec: ItemSpec, unit: UnitSpec, place: str, own: Mapping[str, Any]
) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if evidence := schema.evidence(unit.kind):
        quotes = form.getlist(f"{place}.evidence.quote")
        answer[EVIDENCE_KEY] = _evidence(spec, evidence.field, quotes)
    for variable in schema.variables_of(unit.kind):
        asked = schema.holds(variable.asked_if, answer)
        answer[variable.name] = _value(form, f"{place}.{variable.name}") or None if asked else None
    if written := schema.written(unit.kind):
        text = _unix_lines(_value(form, f"{place}.written"))
        prose = {"text": text, "citations": (own.get(written.name) or {}).get("citations", [])}
        answer[written.name] = prose if schema.holds(written.asked_if, answer) else None
    if listed := schema.listed(unit.kind):
        points = list(_points_in(form, spec, listed, place))
        answer[listed.name] = points if schema.holds(listed.asked_if, answer) else None
    if matching := schema.matching(unit.kind):
        answer[matching.matches] = _numbers(_value(form, f"{place}.matches"))
    return answer


def _points_in(form: Form, spec: ItemSpec, rule: PointList, place: str) -> Iterator[dict[str, Any]]:
    number = 0
    while (name := f"{place}.point.{number}") in form:
        number += 1
        quotes = form.getlist(f"{name}.quote") if rule.quoted else []
        for text in _texts_in(_value(form, name), spec, rule):
            yield {"text": text, EVIDENCE_KEY: _evidence(spec, rule.field, quotes)}


def _texts_in(field: str, spec: ItemSpec, rule: PointList) -> list[str]:
    """Return the point in a field, or the verbatim points separated by empty lines."""
    if not rule.verbatim:
        return [text] if (text := _unix_lines(field).strip()) else []
    text, words = _text(spec, rule.field), field.strip()
    several = (
        [words]
        if _with_text_line_ends(text, words) in text
        else _EMPTY_LINES.split(_unix_lines(words))
    )
    return [_with_text_line_ends(text, part) for each in several if (part := each.strip())]


def _evidence(spec: ItemSpec, where: str, quotes: Sequence[str]) -> list[dict[str, Any]]:
    text = _text(spec, where)
    return [{"quote": _with_text_line_ends(text, q), "start": None} for q in quotes if q.strip()]


def _text(spec: ItemSpec, where: str) -> str:
    return next((text.text for text in spec.texts if text.field == where), "")


def _with_text_line_ends(text: str, quote: str) -> str:
    """Return a quote with its text's line ends, since browsers always send CRLF."""
    forms = (quote, _unix_lines(quote), quote.replace("\r\n", "\r"))
    return next((each for each in forms if each in text), _unix_lines(quote))


def _value(form: Form, name: str) -> str:
    return str(form.get(name) or "")


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _numbers(words: str) -> list[int | str]:
    """Read numbers separated by commas. Other words stay as they are and are rejected later."""
    parts = words.replace(",", " ").split()
    return [int(part) if part.isascii() and part.isdigit() else part for part in parts]


Pieces = list[tuple[str, bool]]


def marked_texts(
    schema: Schema,
    texts: tuple[Text, ...],
    units: Mapping[str, UnitSpec],
    answer: Mapping[str, Any],
) -> list[tuple[Text, Pieces]]:
    """Split each text into pieces, with True for those covered by a quote or verbatim point."""
    answers = [(unit, answer.get(name) or {}) for name, unit in units.items()]
    return [
        (
            text,
            pieces(
                text.text, (f for u, own in answers for f in _quotes_found(schema, text, u, own))
            ),
        )
        for text in texts
    ]


def _quotes_found(
    schema: Schema, text: Text, unit: UnitSpec, own: Mapping[str, Any]
) -> Iterator[QuoteLocation]:
    for quote in _quotes(schema, text.field, unit, own):
        yield from find_quote(text.text, quote["quote"], quote.get("start"))
    listed = schema.listed(unit.kind)
    if listed is not None and listed.verbatim and listed.field == text.field:
        yield from find_in_order(text.text, [p["text"] for p in own.get(listed.name) or ()])


def _quotes(
    schema: Schema, field: str, unit: UnitSpec, own: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    rule, listed = schema.evidence(unit.kind), schema.listed(unit.kind)
    if rule is not None and rule.field == field:
        yield from own.get(EVIDENCE_KEY) or ()
    if listed is not None and listed.field == field:
        points = own.get(listed.name) or ()
        yield from (each for point in points for each in point[EVIDENCE_KEY])


def pieces(text: str, found: Iterable[QuoteLocation]) -> Pieces:
    """Split a text where its quotes begin and end. Overlapping quotes form one piece."""
    spans = sorted((f.start, f.end) for f in found if f.start is not None and f.end is not None)
    parts, at = Pieces(), 0
    for start, end in spans:
        if end <= at:
            continue
        if start > at:
            parts.append((text[at:start], False))
        parts.append((text[max(start, at) : end], True))
        at = end
    return [*parts, (text[at:], False)] if at < len(text) else parts
