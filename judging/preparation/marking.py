"""A text with what an answer quotes of it marked in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from annotation.protocols.base import Text, UnitSpec
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from datasets.text import Found, find_in_order, find_quote

Pieces = list[tuple[str, bool]]


def marked_texts(
    schema: Schema,
    texts: tuple[Text, ...],
    units: Mapping[str, UnitSpec],
    answer: Mapping[str, Any],
) -> list[tuple[Text, Pieces]]:
    """Each text in pieces, those true that a quote or a verbatim point of it covers."""
    told = [(unit, answer.get(name) or {}) for name, unit in units.items()]
    return [
        (text, pieces(text.text, (f for u, own in told for f in _found(schema, text, u, own))))
        for text in texts
    ]


def _found(schema: Schema, text: Text, unit: UnitSpec, own: Mapping[str, Any]) -> Iterator[Found]:
    for quote in _quotes(schema, text.field, unit, own):
        yield from find_quote(text.text, quote)
    listed = schema.listed(unit.kind)
    if listed is not None and listed.verbatim and listed.field == text.field:
        yield from find_in_order(text.text, [p["text"] for p in own.get(listed.name) or ()])


def _quotes(schema: Schema, field: str, unit: UnitSpec, own: Mapping[str, Any]) -> Iterator[str]:
    rule, listed = schema.evidence(unit.kind), schema.listed(unit.kind)
    if rule is not None and rule.field == field:
        yield from (each["quote"] for each in own.get(EVIDENCE_KEY) or ())
    if listed is not None and listed.field == field:
        points = own.get(listed.name) or ()
        yield from (each["quote"] for point in points for each in point[EVIDENCE_KEY])


def pieces(text: str, found: Iterable[Found]) -> Pieces:
    """A text taken apart where its quotes begin and end; quotes that overlap are one piece."""
    spans = sorted((f.start, f.end) for f in found if f.start is not None and f.end is not None)
    made, at = Pieces(), 0
    for start, end in spans:
        if end <= at:
            continue
        if start > at:
            made.append((text[at:start], False))
        made.append((text[max(start, at) : end], True))
        at = end
    return [*made, (text[at:], False)] if at < len(text) else made
