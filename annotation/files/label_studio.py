"""Label Studio's JSON as what each rater said of each task: choices, and labels of text.

Annotations are people's, predictions are judges'. Which unit of a campaign a task is, and which of
its variables a control asks, is decided elsewhere (`annotation.from_label_studio`); our own exports
say it themselves, under `data` and `tandem`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.files.labels import KINDS, MAX_COUNT, MAX_OFFSET, StandIn, moment, rater_of, whole
from annotation.files.rows import SpanRow
from datasets.readers.fields import Fields
from datasets.readers.jsonl import objects, shown
from datasets.readers.label_studio import recognises, task_id
from datasets.rows import InputError, Place, ReadNotes

__all__ = ["EVIDENCE", "Choice", "Highlight", "Said", "read_label_studio", "recognises"]

EVIDENCE = "-evidence"
_REGIONS = ("labels", "hypertextlabels")


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen in a control."""

    control: str
    value: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Highlight:
    """A stretch of text under one label of a control."""

    control: str
    label: str
    span: SpanRow


@dataclass(frozen=True, slots=True)
class Said:
    """What one rater said of one task. `item`, `unit` and `kind` only where the file names them."""

    task: str
    item: str | None
    unit: str | None
    kind: str | None
    rater: str
    rater_kind: str
    replicate: int
    place: Place
    choices: tuple[Choice, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    declined: bool = False
    missing: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    revision: int | None = None
    created_at: str | None = None
    seconds: float | None = None
    assisted_by: str | None = None


def read_label_studio(path: Path, rater: StandIn, notes: ReadNotes) -> Iterator[Said]:
    """Every annotation and prediction of a file; `rater` stands in where one names nobody.

    Results of other types than choices, ratings, numbers and labels of text are counted as left
    out. Raises InputError.
    """
    for number, (line, record) in enumerate(objects(path), start=1):
        task = _Task(Fields(record, Place(str(path), line)), str(number), rater, notes)
        yield from task.answers()


class _Task:
    """One task; its raters are counted, so that a second answer of one is a replicate."""

    def __init__(self, fields: Fields, number: str, rater: StandIn, notes: ReadNotes) -> None:
        self.fields, self.rater, self.notes = fields, rater, notes
        self.data = Fields(fields.object("data") or {}, fields.place, "data")
        self.name = task_id(fields.raw) or number
        self.had: Counter[str] = Counter()

    def answers(self) -> Iterator[Said]:
        for each in self.fields.objects("annotations", "annotation"):
            yield self._said(each, "human")
        for each in self.fields.objects("predictions", "prediction"):
            yield self._said(each, "judge")

    def _said(self, fields: Fields, kind: str) -> Said:
        own = Fields(fields.object("tandem") or {}, fields.place, fields.of)
        name, kind = self._rater(fields, own, kind), own.optional_string("rater_kind") or kind
        if kind not in KINDS:
            raise InputError(
                fields.place, f"rater_kind is {shown(kind)}", f"give {', '.join(KINDS)}"
            )
        numbered = whole(own, "replicate", MAX_COUNT)
        replicate = self.had[name] if numbered is None else numbered
        self.had[name] += 1
        highlights = (*self._highlights(fields), *_unanchored(own))
        timed = (own, "seconds") if "seconds" in own.raw else (fields, "lead_time")
        return Said(
            task=self.name, item=self.data.optional_string("item"),
            unit=self.data.optional_string("unit"), kind=self.data.optional_string("kind"),
            rater=name, rater_kind=kind, replicate=replicate, place=fields.place,
            choices=tuple(self._choices(fields)), highlights=highlights,
            declined=bool(fields.boolean("was_cancelled")),
            missing=own.object("missing") or {}, meta=own.object("meta") or {},
            revision=whole(own, "revision", MAX_COUNT, 1), created_at=moment(fields),
            seconds=timed[0].number(timed[1], 0, float("inf")),
            assisted_by=own.optional_string("assisted_by"),
        )  # fmt: skip

    def _rater(self, fields: Fields, own: Fields, kind: str) -> str:
        by = fields.raw.get("model_version" if kind == "judge" else "completed_by")
        if isinstance(by, dict):
            # A number tells people apart as well as an address does, and is nobody's name.
            by = by.get("id", by.get("username"))
        named = own.optional_string("rater") or (None if by in (None, "") else str(by))
        return rater_of(Fields({"rater": named}, fields.place, fields.of), self.rater)

    def _results(self, fields: Fields) -> Iterator[tuple[Fields, Fields]]:
        for result in fields.objects("result", "result"):
            value = result.object("value")
            if value is not None:
                yield result, Fields(value, result.place, f"the value of {result.of}")

    def _choices(self, fields: Fields) -> Iterator[Choice]:
        for result, value in self._results(fields):
            kind = result.optional_string("type") or ""
            if kind in _REGIONS:
                continue
            if kind not in ("choices", "rating", "number"):
                self.notes.skip(f"results of type {kind or 'none'}")
                continue
            score = result.number("score", -float("inf"), float("inf"))
            yield Choice(result.filled("from_name"), _chosen(kind, value), score)

    def _highlights(self, fields: Fields) -> Iterator[Highlight]:
        for result, value in self._results(fields):
            if result.raw.get("type") in _REGIONS:
                labels = value.strings(str(result.raw["type"])) or value.strings("labels") or ("",)
                place = self.data.raw.get("item") and result.optional_string("to_name")
                start, end = whole(value, "start", MAX_OFFSET), whole(value, "end", MAX_OFFSET)
                span = SpanRow(place or "", start, end, value.optional_string("text") or "")
                for label in labels:
                    yield Highlight(result.filled("from_name"), label, span)


def _chosen(kind: str, value: Fields) -> str:
    if kind != "choices":
        number = value.number(kind, -float("inf"), float("inf"))
        return f"{number:g}" if number is not None else value.filled(kind)
    chosen = value.strings("choices") or ()
    if len(chosen) != 1:
        wrong = f"{value.of} has {len(chosen)} choices"
        raise InputError(value.place, wrong, "give one; a variable has one code")
    return chosen[0]


def _unanchored(own: Fields) -> Iterator[Highlight]:
    """Quotes that stood nowhere in their text, as our own exports list them."""
    for variable in own.object("unanchored") or {}:
        for quote in Fields(own.object("unanchored"), own.place).objects(variable, "quote"):
            span = SpanRow(quote.optional_string("field") or "", None, None, quote.filled("text"))
            yield Highlight(variable + EVIDENCE, variable, span)
