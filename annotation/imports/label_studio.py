"""Read Label Studio's JSON as labels: its tasks are units, and its controls are variables.

Annotations are from people, and predictions from judges. A task from our own export names its unit,
under `data` and `tandem`. Any other task is the only unit of its query, whose id is the task's id
as in the reader of batches. Its controls must have the names of variables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from annotation.imports.index import KnownItems
from annotation.imports.labels import (
    KINDS,
    MAX_COUNT,
    MAX_OFFSET,
    StandIn,
    rater_of,
    read_moment,
    read_whole_number,
)
from annotation.label_rows import REASONS, LabelRow, SpanRow
from annotation.protocols.base import Variable
from datasets.readers.fields import Fields
from datasets.readers.jsonl import excerpt, objects
from datasets.readers.label_studio import task_id
from datasets.rows import InputError, Place, ReadNotes

EVIDENCE = "-evidence"
_REGIONS = ("labels", "hypertextlabels")


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice in a control."""

    control: str
    value: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Highlight:
    """A range of text under one label of a control."""

    control: str
    label: str
    span: SpanRow


@dataclass(frozen=True, slots=True)
class StudioAnswer:
    """One rater's answer to one task. `item`, `unit` and `kind` are None if the file lacks them."""

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


def read_label_studio(path: Path, rater: StandIn, notes: ReadNotes) -> Iterator[StudioAnswer]:
    """Yield every annotation and prediction of a file. `rater` is used if one names no rater.

    Results of types other than choices, ratings, numbers and labels of text are counted as skipped.
    Raises InputError.
    """
    for number, (line, record) in enumerate(objects(path), start=1):
        task = _Task(Fields(record, Place(str(path), line)), str(number), rater, notes)
        yield from task.answers()


class _Task:
    """One task. Answers are counted by rater, so that a second answer is a replicate."""

    def __init__(self, fields: Fields, number: str, rater: StandIn, notes: ReadNotes) -> None:
        self.fields, self.rater, self.notes = fields, rater, notes
        self.data = Fields(fields.object("data") or {}, fields.place, "data")
        self.name = task_id(fields.raw) or number
        self.had: Counter[str] = Counter()

    def answers(self) -> Iterator[StudioAnswer]:
        for each in self.fields.objects("annotations", "annotation"):
            yield self._answer(each, "human")
        for each in self.fields.objects("predictions", "prediction"):
            yield self._answer(each, "judge")

    def _answer(self, fields: Fields, kind: str) -> StudioAnswer:
        own = Fields(fields.object("tandem") or {}, fields.place, fields.of)
        name, kind = self._rater(fields, own, kind), own.optional_string("rater_kind") or kind
        if kind not in KINDS:
            raise InputError(
                fields.place, f"rater_kind is {excerpt(kind)}", f"give {', '.join(KINDS)}"
            )
        numbered = read_whole_number(own, "replicate", MAX_COUNT)
        replicate = self.had[name] if numbered is None else numbered
        self.had[name] += 1
        highlights = (*self._highlights(fields), *_unanchored(own))
        timed = (own, "seconds") if "seconds" in own.raw else (fields, "lead_time")
        return StudioAnswer(
            task=self.name,
            item=self.data.optional_string("item"),
            unit=self.data.optional_string("unit"),
            kind=self.data.optional_string("kind"),
            rater=name,
            rater_kind=kind,
            replicate=replicate,
            place=fields.place,
            choices=tuple(self._choices(fields)),
            highlights=highlights,
            declined=bool(fields.boolean("was_cancelled")),
            missing=own.object("missing") or {},
            meta=own.object("meta") or {},
            revision=read_whole_number(own, "revision", MAX_COUNT, 1),
            created_at=read_moment(fields),
            seconds=timed[0].number(timed[1], 0, float("inf")),
            assisted_by=own.optional_string("assisted_by"),
        )

    def _rater(self, fields: Fields, own: Fields, kind: str) -> str:
        by = fields.raw.get("model_version" if kind == "judge" else "completed_by")
        if isinstance(by, dict):
            # A number distinguishes people as well as an address, and does not identify them.
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
            yield Choice(result.filled("from_name"), _chosen_code(kind, value), score)

    def _highlights(self, fields: Fields) -> Iterator[Highlight]:
        for result, value in self._results(fields):
            if result.raw.get("type") in _REGIONS:
                labels = value.strings(str(result.raw["type"])) or value.strings("labels") or ("",)
                place = self.data.raw.get("item") and result.optional_string("to_name")
                start, end = (
                    read_whole_number(value, "start", MAX_OFFSET),
                    read_whole_number(value, "end", MAX_OFFSET),
                )
                span = SpanRow(place or "", start, end, value.optional_string("text") or "")
                for label in labels:
                    yield Highlight(result.filled("from_name"), label, span)


def _chosen_code(kind: str, value: Fields) -> str:
    if kind != "choices":
        number = value.number(kind, -float("inf"), float("inf"))
        return f"{number:g}" if number is not None else value.filled(kind)
    chosen = value.strings("choices") or ()
    if len(chosen) != 1:
        wrong = f"{value.of} has {len(chosen)} choices"
        raise InputError(value.place, wrong, "give one; a variable has one code")
    return chosen[0]


def _unanchored(own: Fields) -> Iterator[Highlight]:
    """Return the quotes without a location, as our own exports list them."""
    for variable in own.object("unanchored") or {}:
        for quote in Fields(own.object("unanchored"), own.place).objects(variable, "quote"):
            span = SpanRow(quote.optional_string("field") or "", None, None, quote.filled("text"))
            yield Highlight(variable + EVIDENCE, variable, span)


Units = list[tuple[str, str, str]]
"""Item, kind and key."""


def rows_of_answers(
    answers: Iterable[StudioAnswer], known: KnownItems, notes: ReadNotes
) -> Iterator[LabelRow]:
    """Yield the labels of all answers. Raises InputError if a task is not a campaign's unit."""
    finder = _Finder(known)
    for answer in answers:
        row = LabelRow(
            *finder.unit_of(answer),
            variable="",
            rater=answer.rater,
            rater_kind=answer.rater_kind,
            replicate=answer.replicate,
            revision=answer.revision,
            created_at=answer.created_at,
            seconds=answer.seconds,
            assisted_by=answer.assisted_by,
            place=answer.place,
        )
        yield from _Rows(answer, row, known, notes).all()


class _Finder:
    """Finds the unit of a task."""

    def __init__(self, known: KnownItems) -> None:
        self.known = known
        self.of_query: dict[str, list[str]] = defaultdict(list)
        for key, item in known.items.items():
            self.of_query[item.query.key].append(key)

    def unit_of(self, answer: StudioAnswer) -> tuple[str, str]:
        """Return the keys of the item and the unit."""
        if answer.item is not None and answer.unit is not None:
            return answer.item, answer.unit
        asked = {choice.control for choice in answer.choices}
        found = [(item, key) for item, kind, key in self._units(answer) if self._asks(kind, asked)]
        if len(found) != 1:
            self._refuse(answer, len(found))
        return found[0]

    def _units(self, answer: StudioAnswer) -> Iterator[tuple[str, str, str]]:
        for item in self.of_query.get(answer.task, ()):
            for kind, key, _ in self.known.units.get(self.known.item(item).pk, ()):
                yield item, kind, key

    def _asks(self, kind: str, asked: set[str]) -> bool:
        names = {variable.name for variable in self.known.schema.variables_of(kind)}
        return bool(names & asked) if asked else bool(names)

    def _refuse(self, answer: StudioAnswer, count: int) -> None:
        name = self.known.campaign.name
        wrong = f"task {excerpt(answer.task)} could be any of {count} units of campaign {name!r}"
        remedy = 'name "item" and "unit" in its data, as `export --what label-studio` does'
        if not count:
            wrong = f"task {excerpt(answer.task)} is not a unit of campaign {name!r}"
            remedy = f"check its id and its controls, or {remedy}"
        raise InputError(answer.place, wrong, remedy)


class _Rows:
    """The labels of one answer. `row` has the values that they share."""

    def __init__(
        self, answer: StudioAnswer, row: LabelRow, known: KnownItems, notes: ReadNotes
    ) -> None:
        self.answer, self.notes, self.known = answer, notes, known
        units = known.units.get(known.items[row.item].pk, ()) if row.item in known.items else ()
        kinds = [kind for kind, key, _ in units if key == row.unit]
        self.kind = answer.kind or (kinds[0] if len(kinds) == 1 else None)
        self.row = replace(row, kind=self.kind)

    def all(self) -> Iterator[LabelRow]:
        spans = self._spans()
        for choice in self.answer.choices:
            yield replace(
                self.row,
                variable=choice.control,
                value=self._code(choice),
                score=choice.score,
                spans=tuple(spans.pop(choice.control, ())) or None,
                meta=self.answer.meta.get(choice.control),
            )
        if lost := sum(map(len, spans.values())):
            self.notes.skip("highlights that belong to no label", lost)
        yield from self._missing()

    def _missing(self) -> Iterator[LabelRow]:
        """Yield missing labels with their reasons. A skipped task is declined."""
        reasons = dict(self.answer.missing)
        if self.answer.declined and not reasons and not self.answer.choices:
            asked = self.known.schema.variables_of(self.kind) if self.kind else ()
            reasons = {variable.name: "declined" for variable in asked if not variable.asked_if}
        for name, reason in reasons.items():
            if reason not in REASONS:
                wrong = f"missing is {excerpt(str(reason))}"
                raise InputError(self.answer.place, wrong, f"give one of {', '.join(REASONS)}")
            yield replace(self.row, variable=name, missing=reason)

    def _spans(self) -> dict[str, list[SpanRow]]:
        found: dict[str, list[SpanRow]] = defaultdict(list)
        for highlight in self.answer.highlights:
            found[self._meant(highlight)].append(highlight.span)
        return found

    def _meant(self, highlight: Highlight) -> str:
        """Return the variable of a highlight: by its label, its control, or the evidence rule."""
        rule = self.known.schema.protocol.evidence
        for name in (highlight.label, highlight.control.removesuffix(EVIDENCE)):
            if self.known.schema.variable(name, self.kind):
                return name
        return rule.variable if rule else ""

    def _code(self, choice: Choice) -> str:
        """Return a choice as a code, which may be given by the words that pages show."""
        variable = self.known.schema.variable(choice.control, self.kind)
        if variable is None or choice.value in variable.answers:
            return choice.value
        return _in_words(variable).get(_plain(choice.value), choice.value)


def _in_words(variable: Variable) -> dict[str, str]:
    own = {_plain(code): code for code in variable.answers}
    return own | {_plain(words): code for code, words in variable.words.items()}


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("-", " ").replace("_", " ").split())
