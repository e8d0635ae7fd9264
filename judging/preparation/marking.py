"""A text with the quotes of an answer marked in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.protocols.base import Text, UnitSpec
from annotation.protocols.schema import EVIDENCE_KEY, Schema
from datasets.text import find_quote

Pieces = list[tuple[str, bool]]


def marked_texts(
    schema: Schema,
    texts: tuple[Text, ...],
    units: Mapping[str, UnitSpec],
    answer: Mapping[str, Any],
) -> list[tuple[Text, Pieces]]:
    """Each text in pieces, those true that a quote of it covers."""
    quoted: dict[str, list[str]] = {}
    for name, unit in units.items():
        for field, quote in _quotes(schema, unit, answer.get(name) or {}):
            quoted.setdefault(field, []).append(quote)
    return [(text, pieces(text.text, quoted.get(text.field, []))) for text in texts]


def _quotes(schema: Schema, unit: UnitSpec, own: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if rule := schema.evidence(unit.kind):
        yield from ((rule.field, each["quote"]) for each in own.get(EVIDENCE_KEY) or ())
    if listed := schema.listed(unit.kind):
        for point in own.get(listed.name) or ():
            yield from ((listed.field, each["quote"]) for each in point[EVIDENCE_KEY])


def pieces(text: str, quotes: list[str]) -> Pieces:
    """A text taken apart where its quotes begin and end; quotes that overlap are one piece."""
    found = (part for quote in quotes for part in find_quote(text, quote))
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
