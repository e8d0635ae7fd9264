"""One opened unit: its texts with all raters' evidence in layers, and the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from annotation.adjudication.disputes import counted_labels
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Item, Label, Rater, Unit
from annotation.presentation import FORGOTTEN, preload, present, schema, words_of_unit
from datasets.text import cut
from judging.answers.reasons import reason_in
from judging.models import JudgeCall
from tandem.labels.grades import grade_of
from tandem.protocols.base import ItemSpec, name_units

MOST_LAYERS = 8
Spans = dict[str, list[tuple[int, int, int]]]
"""The start, end and layer of each highlight, by field."""


@dataclass
class Answer:
    """One rater's answer about the unit. `layer` numbers the rater's highlights, from 1.

    `grades` are a judge's labels on its own scale, by variable. `reason` is what the judge gave as
    its reason, and `comment` what a person wrote about the item.
    """

    name: str
    kind: str
    layer: int
    values: dict[str, str] = field(default_factory=dict)
    grades: dict[str, str] = field(default_factory=dict)
    score: float | None = None
    comment: str = ""
    reason: str = ""
    quotes: list[str] = field(default_factory=list)
    call: int | None = None

    @property
    def labels(self) -> list[tuple[str, str, str]]:
        """Each variable with its label and its grade, which may be empty."""
        return [(name, value, self.grades.get(name, "")) for name, value in self.values.items()]


@dataclass(frozen=True)
class Piece:
    """A part of a text that the same layers highlight."""

    text: str
    layers: tuple[int, ...]


@dataclass(frozen=True)
class ShownText:
    """A text of the item in pieces. Only texts with evidence or of the unit itself are open."""

    title: str
    pieces: tuple[Piece, ...]
    is_open: bool


@dataclass(frozen=True)
class Detail:
    unit: Unit
    words: str
    answers: tuple[Answer, ...]
    texts: tuple[ShownText, ...]

    @property
    def groups(self) -> list[tuple[str, list[Answer]]]:
        """The answers by kind of rater, each kind with its heading."""
        named = (("People", Rater.Kind.HUMAN), ("Judges", Rater.Kind.JUDGE))
        groups = [(title, [a for a in self.answers if a.kind == kind]) for title, kind in named]
        others = [a for a in self.answers if a.kind == Rater.Kind.REFERENCE]
        return [group for group in (*groups, ("Decided by", others)) if group[1]]


def detail_of(campaign: Campaign, unit: Unit) -> Detail:
    """Return a unit with all current answers, people before judges."""
    saw_answers("disagreements", campaign, units=[unit.pk])
    unit.item.campaign = campaign
    labels = (
        counted_labels(campaign)
        .filter(unit=unit)
        .select_related("response__assignment__rater")
        .prefetch_related("spans")
        .order_by("response__assignment__rater__kind", "response__assignment__rater__name", "pk")
    )
    answers, spans = _answers(list(labels), schema(campaign).word, unit.name)
    texts = tuple(_texts(unit, spans))
    return Detail(unit, words_of_unit(unit.item, unit.name), tuple(answers), texts)


def _texts(unit: Unit, spans: Spans) -> Iterator[ShownText]:
    """Yield the texts of an item. None if they were changed; its answers are shown anyway."""
    try:
        spec = present(unit.item)
    except FORGOTTEN:
        return
    own = _own_fields(spec, unit.name)
    known = spans.keys() & {text.field for text in spec.texts} or own
    for text in spec.texts:
        parts = tuple(pieces(text.text, spans.get(text.field, [])))
        yield ShownText(text.heading, parts, text.field in known or len(spec.texts) == 1)


def _own_fields(spec: ItemSpec, name: str) -> set[str]:
    """Return the fields of the texts that a unit is about, or that of the first text."""
    unit = name_units(spec.units).get(name)
    return set(unit.of if unit else ()) or {text.field for text in spec.texts[:1]}


def with_words(campaign: Campaign, units: Iterable[int]) -> dict[int, tuple[Unit, str]]:
    """Return units by primary key with their words, in a constant number of queries."""
    rows = Unit.objects.select_related("item__query").in_bulk(list(units))
    items: dict[int, Item] = {}
    for unit in rows.values():
        unit.item = items.setdefault(unit.item_id, unit.item)
        unit.item.campaign = campaign
    preload(campaign, items.values())
    return {pk: (unit, words_of_unit(unit.item, unit.name)) for pk, unit in rows.items()}


def _answers(
    labels: Sequence[Label], word: Callable[[str, str], str], unit: str
) -> tuple[list[Answer], Spans]:
    """Group labels of a unit by rater, and spans by field as start, end and layer.

    `word` returns the word for a value of a variable.
    """
    found: dict[int, Answer] = {}
    spans: Spans = {}
    for label in labels:
        assignment = label.response.assignment
        rater = assignment.rater
        answer = found.get(rater.pk)
        if answer is None:
            comment = label.response.comment
            answer = Answer(rater.name, rater.kind, len(found) + 1, comment=comment)
            found[rater.pk] = answer
            if rater.kind == Rater.Kind.JUDGE:
                calls = JudgeCall.objects.filter(assignment=assignment).order_by("-pk")
                if last := calls.only("completion", "reasoning").first():
                    answer.call = last.pk
                    answer.reason = reason_in(last.completion, last.reasoning, unit)
        answer.values[label.variable] = word(label.variable, label.value)
        if grade := grade_of(label.meta):
            answer.grades[label.variable] = grade
        answer.score = label.score if label.score is not None else answer.score
        for span in label.spans.all():
            answer.quotes.append(span.quote)
            if span.start is not None and span.end is not None and answer.layer <= MOST_LAYERS:
                spans.setdefault(span.field, []).append((span.start, span.end, answer.layer))
    return list(found.values()), spans


def pieces(text: str, spans: Sequence[tuple[int, int, int]]) -> Iterator[Piece]:
    """Cut a text where highlights begin and end; offsets are code points."""
    for start, end in cut(0, len(text), ((a, b) for a, b, _ in spans)):
        layers = sorted({layer for a, b, layer in spans if a <= start and end <= b})
        yield Piece(text[start:end], tuple(layers))
