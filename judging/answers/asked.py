"""What a call asked and what came of it: texts with the quotes marked, and units with labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.item_context import tone_of, word_of
from annotation.models import Label
from annotation.presentation import FORGOTTEN, present, schema, stored_units
from datasets.text import cut
from judging.answers.reasons import reason_in
from judging.models import JudgeCall
from tandem.grouping import grouped
from tandem.labels.grades import grade_of
from tandem.protocols.base import ItemSpec, UnitSpec, name_units


@dataclass(frozen=True)
class Value:
    """A label: the variable, its word on the button and its tone, and the judge's own numbers."""

    variable: str
    code: str
    word: str
    tone: str
    grade: str
    score: float | None


@dataclass(frozen=True)
class AskedUnit:
    """A unit that the call asked about, with the labels from its answer.

    `quotes` have the number of the mark in the texts, or None if the text does not contain the
    quote. `missing` are reasons by variable. `is_open` if the reader came from this unit, or if
    there is no other.
    """

    pk: int
    name: str
    words: str
    values: tuple[Value, ...]
    quotes: tuple[tuple[int | None, str], ...]
    missing: tuple[tuple[str, str], ...]
    reason: str
    is_open: bool


@dataclass(frozen=True)
class Piece:
    """A part of a text. `quote` is the number of the quote that begins here, if one does.

    `is_own` if a quote of an open unit covers it.
    """

    text: str
    is_quoted: bool = False
    is_own: bool = False
    quote: int | None = None


@dataclass(frozen=True)
class AskedText:
    """A text that the call showed. Texts without a quote are folded, if others have any."""

    title: str
    pieces: tuple[Piece, ...]
    is_open: bool


@dataclass(frozen=True)
class Asked:
    texts: tuple[AskedText, ...]
    units: tuple[AskedUnit, ...]
    left_out: int
    """The number of units that are not shown, of those that the call asked about."""


MOST_UNITS = 200
Quote = tuple[int, str, int | None, int | None, bool]
"""A quote's number, field, start and end, and whether it is of an open unit."""


def asked_by(call: JudgeCall, labels: Sequence[Label], unit: int | None = None) -> Asked:
    """Return what a call showed and asked, and its `labels`; `unit` is the one that is open.

    The texts are empty if they were changed since.
    """
    item, row = call.assignment.item, call.assignment
    stored = stored_units(item)
    try:
        spec: ItemSpec | None = present(item)
    except FORGOTTEN:
        spec = None
    specs = name_units(spec.units) if spec else {}
    of_unit = grouped((label.unit_id, label) for label in labels)
    names = [name for name in row.asked if name in stored]
    chosen = unit if unit in {stored[name] for name in names} else None
    chosen = chosen or (stored[names[0]] if names else None)
    quotes: list[Quote] = []
    units = tuple(
        _unit(call, name, stored[name], specs.get(name), of_unit, quotes, stored[name] == chosen)
        for name in names[:MOST_UNITS]
    )
    own = {field for name in names for field in (specs[name].of if name in specs else ())}
    texts = tuple(_texts(spec, quotes, own)) if spec else ()
    return Asked(texts, units, len(names) - len(units))


def _unit(
    call: JudgeCall, name: str, pk: int, spec: UnitSpec | None,
    of_unit: Mapping[int, Sequence[Label]], quotes: list[Quote], is_open: bool,
) -> AskedUnit:  # fmt: skip
    labels, asked = of_unit.get(pk, ()), schema(call.run.campaign, "judges")
    values, own = [], []
    for label in labels:
        for span in label.spans.all():
            number = len(quotes) if span.start is not None else None
            if number is not None:
                quotes.append((number, span.field, span.start, span.end, is_open))
            own.append((number, span.quote))
        variable = asked.variable(label.variable, spec.kind) if spec else None
        values.append(
            Value(
                label.variable,
                label.value,
                word_of(variable, label.value) if variable else label.value,
                tone_of(variable, label.value) if variable else "",
                grade_of(label.meta),
                label.score,
            )
        )
    missing = dict(call.assignment.missing.get(name, {})) if labels else {}
    return AskedUnit(
        pk,
        name,
        spec.text if spec else name,
        tuple(values),
        tuple(own),
        tuple(missing.items()),
        reason_in(call.completion, call.reasoning, name) if labels else "",
        is_open,
    )


def _texts(spec: ItemSpec, quotes: Sequence[Quote], own: set[str]) -> Iterator[AskedText]:
    quoted = {field for _, field, *_ in quotes} & {text.field for text in spec.texts}
    known = quoted or own or {text.field for text in spec.texts[:1]}
    for text in spec.texts:
        of_text = [quote for quote in quotes if quote[1] == text.field]
        parts = tuple(_pieces(text.text, of_text))
        yield AskedText(text.heading, parts, text.field in known)


def _pieces(text: str, quotes: Sequence[Quote]) -> Iterator[Piece]:
    """Cut a text where quotes begin and end; offsets are code points."""
    spans = [(n, a, b, own) for n, _, a, b, own in quotes if a is not None and b is not None]
    for start, end in cut(0, len(text), ((a, b) for _, a, b, _ in spans)):
        over = [(n, a, own) for n, a, b, own in spans if a <= start and end <= b]
        begun = next((n for n, a, _ in over if a == start), None)
        yield Piece(text[start:end], bool(over), any(own for *_, own in over), begun)
