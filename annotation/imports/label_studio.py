"""Read Label Studio's JSON as labels: its tasks are units, and its controls are variables.

Annotations are from people, and predictions from judges. A task from our own export names its unit,
under `data` and `tandem`. Any other task is the only unit of its query, whose id is the task's id
as in the reader of batches. Its controls must have the names of variables. In JSON_MIN, keys with
the names of variables are controls, and all others are data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.imports.index import KnownItems
from annotation.models import pseudonym_of_address
from datasets.readers.label_studio import (
    FLAT_OWN,
    JUDGES,
    PEOPLES,
    answers_under,
    is_flat,
    media_keys,
    skip_drafts,
    task_id,
)
from tandem.files.fields import Fields
from tandem.files.jsonl import excerpt, objects
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.labels.file.reader import (
    KINDS,
    MAX_COUNT,
    MAX_OFFSET,
    StandIn,
    rater_of,
    read_moment,
    read_whole_number,
)
from tandem.labels.file.rows import SpanRow

EVIDENCE = "-evidence"
_CHOICES = ("choices", "rating", "number")
_REGIONS = ("labels", "hypertextlabels")
LONGEST_ADDRESS = 1000
_ADDRESS = re.compile(r"[^\s<>,;:\"@]+@[^\s<>,;:\"@]+")
_ESCAPED = {r"\n": "\n", r"\r": "\r", r"\t": "\t"}


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
    """One rater's answer to one task. `item`, `unit` and `kind` are None if the file lacks them.

    `empty` if the file has no result, and `media` is the key of an image or a recording in the
    task's data, or empty.
    """

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
    empty: bool = False
    media: str = ""
    missing: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    revision: int | None = None
    created_at: str | None = None
    seconds: float | None = None
    assisted_by: str | None = None


def read_label_studio(
    path: Path, rater: StandIn, notes: ReadNotes, known: KnownItems
) -> Iterator[StudioAnswer]:
    """Yield every annotation and prediction of a file. `rater` is used if one names no rater.

    A person is named by number or name. An e-mail address is replaced by a pseudonym, which is the
    same in all files of a campaign. Results of types other than choices, ratings, numbers and
    labels of text are counted as skipped, as are answers of which the file has only the id.
    Raises InputError.
    """
    had: Counter[tuple[str, str]] = Counter()
    for number, (line, record) in enumerate(objects(path), start=1):
        flat = is_flat(record)
        whole = _unflattened(record, known.variables) if flat else record
        # Only JSON_MIN has a task in several objects.
        counts = had if flat else Counter()
        place = Place(str(path), line)
        yield from _Task(Fields(whole, place), str(number), rater, notes, known, counts).answers()


def _unflattened(record: Mapping[str, Any], variables: Iterable[str]) -> dict[str, Any]:
    """Return an annotation of JSON_MIN as a task of the JSON export."""
    names = {*variables, *(f"{name}{EVIDENCE}" for name in variables)}
    data: dict[str, Any] = {}
    results: list[dict[str, Any]] = []
    for key, value in record.items():
        if key in FLAT_OWN or value is None:
            continue
        regions = value if _are_regions(value) else ()
        if regions or key in names:
            results += _results_of(key, value, regions)
        else:
            data[key] = value
    own = {"completed_by": record.get("annotator"), "result": results}
    facts = {key: record[key] for key in ("created_at", "lead_time") if key in record}
    return {"id": record.get("id"), "data": data, "annotations": [own | facts]}


def _are_regions(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, dict) and {"start", "end"} <= v.keys() for v in value)
    )


def _results_of(
    control: str, value: Any, regions: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    named = {"from_name": control, "to_name": ""}
    for region in regions:
        kind = next((kind for kind in _REGIONS if kind in region), "labels")
        yield {**named, "type": kind, "value": region}
    if regions:
        return
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield {**named, "type": "number", "value": {"number": value}}
        return
    if isinstance(value, dict) and "choices" in value:
        value = value["choices"]
    choices = value if isinstance(value, list) else [value]
    yield {**named, "type": "choices", "value": {"choices": choices}}


class _Task:
    """One task. Answers are counted by rater in `had`, so that a second answer is a replicate."""

    def __init__(
        self,
        fields: Fields,
        number: str,
        rater: StandIn,
        notes: ReadNotes,
        known: KnownItems,
        had: Counter[tuple[str, str]],
    ) -> None:
        self.fields, self.rater, self.notes, self.known = fields, rater, notes, known
        self.data = Fields(fields.object("data") or {}, fields.place, "data")
        self.name = task_id(fields.raw) or number
        self.media = next(iter(media_keys(self.data.raw)), "")
        self.had = had

    def answers(self) -> Iterator[StudioAnswer]:
        for each in answers_under(self.fields, PEOPLES, self.notes):
            yield self._answer(each, "human")
        for each in answers_under(self.fields, JUDGES, self.notes):
            yield self._answer(each, "judge")
        skip_drafts(self.fields, self.notes)

    def _answer(self, fields: Fields, kind: str) -> StudioAnswer:
        own = Fields(fields.object("tandem") or {}, fields.place, fields.of)
        name, kind = self._rater(fields, own, kind), own.optional_string("rater_kind") or kind
        if kind not in KINDS:
            raise InputError(
                fields.place, f"rater_kind is {excerpt(kind)}", f"give {', '.join(KINDS)}"
            )
        numbered = read_whole_number(own, "replicate", MAX_COUNT)
        replicate = self.had[self.name, name] if numbered is None else numbered
        self.had[self.name, name] += 1
        self._skip_others(fields)
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
            empty=not fields.raw.get("result"),
            media=self.media,
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
            facts = (by.get(key) for key in ("id", "email", "username"))
            by = next((fact for fact in facts if fact not in (None, "")), None)
        named = own.optional_string("rater")
        if not named and by not in (None, ""):
            named = self._without_address(str(by))
        return rater_of(Fields({"rater": named}, fields.place, fields.of), self.rater)

    def _without_address(self, by: str) -> str:
        """Return a name in place of an e-mail address, which exports must not contain."""
        address = _ADDRESS.search(by[:LONGEST_ADDRESS])
        if address is None:
            return by
        if by not in self.known.raters_by_address:
            return pseudonym_of_address(address[0], self.known.campaign.pk)
        # Another name would be a second person, whose labels are all there twice.
        warning = (
            f"rater {by!r} has labels from an earlier import under this address, which exports "
            "contain; new ones are added to them"
        )
        if warning not in self.notes.warnings:
            self.notes.warnings.append(warning)
        return by

    def _results(self, fields: Fields) -> Iterator[tuple[Fields, Fields]]:
        for result in fields.objects("result", "result"):
            value = result.object("value")
            if value is not None:
                yield result, Fields(value, result.place, f"the value of {result.of}")

    def _skip_others(self, fields: Fields) -> None:
        """Count the results of types that are not read, some of which have no value."""
        for result in fields.objects("result", "result"):
            kind = result.optional_string("type") or "none"
            if kind not in (*_CHOICES, *_REGIONS):
                self.notes.skip(f"results of type {kind}")

    def _choices(self, fields: Fields) -> Iterator[Choice]:
        for result, value in self._results(fields):
            kind = result.optional_string("type") or ""
            if kind not in _CHOICES:
                continue
            control = result.filled("from_name")
            if self.known.ignores(control):
                continue
            score = result.number("score", -float("inf"), float("inf"))
            chosen = _chosen_codes(kind, value)
            yield Choice(control, self._value(control, chosen, value), score)

    def _value(self, control: str, chosen: Sequence[str], value: Fields) -> str:
        """Return what was chosen: a set of codes as JSON, where the control takes several."""
        variable = self.known.schema.variable(control)
        if variable is not None and variable.several:
            return json.dumps(chosen, ensure_ascii=False)
        if variable is not None and len(chosen) != 1:
            wrong = f"{value.of} has {len(chosen)} choices"
            raise InputError(value.place, wrong, "give one; a variable has one code")
        return ", ".join(chosen)

    def _highlights(self, fields: Fields) -> Iterator[Highlight]:
        for result, value in self._results(fields):
            if result.raw.get("type") in _REGIONS:
                labels = value.strings(str(result.raw["type"])) or value.strings("labels") or ("",)
                place = self.data.raw.get("item") and result.optional_string("to_name")
                start, end = _offsets(value)
                text = self._words(value.optional_string("text") or "", start, end)
                if isinstance(value.raw.get("start"), str) and not self._fits(text, start, end):
                    start = end = None
                if not text and start is None:
                    self.notes.skip("highlights without a place in the text")
                    continue
                span = SpanRow(place or "", start, end, text)
                for label in labels:
                    yield Highlight(result.filled("from_name"), label, span)

    def _words(self, text: str, start: int | None, end: int | None) -> str:
        """Return the words of a highlight as they are in the task's text.

        Label Studio writes a line break in them as a backslash and an n, and several blanks as one.
        """
        if not text or self._fits(text, start, end):
            return text
        plain = _unescaped(text)
        for whole in self._texts():
            if start is not None and end is not None:
                words = whole[start:end]
                if words.split() and words.split() == plain.split():
                    return words
        is_verbatim = any(text in whole for whole in self._texts())
        return plain if not is_verbatim and any(plain in t for t in self._texts()) else text

    def _fits(self, text: str, start: int | None, end: int | None) -> bool:
        if start is None or end is None:
            return False
        return any(whole[start:end] == text for whole in self._texts())

    def _texts(self) -> Iterator[str]:
        return _strings_in(self.data.raw)


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(each)


def _offsets(value: Fields) -> tuple[int | None, int | None]:
    """Return where a region begins and ends. In HTML, `start` and `end` are places in its tree, and
    the offsets are beside them.
    """
    if isinstance(value.raw.get("start"), str):
        value = Fields(value.object("globalOffsets") or {}, value.place, value.of)
    return (
        read_whole_number(value, "start", MAX_OFFSET),
        read_whole_number(value, "end", MAX_OFFSET),
    )


def _unescaped(text: str) -> str:
    for written, meant in _ESCAPED.items():
        text = text.replace(written, meant)
    return text


def _chosen_codes(kind: str, value: Fields) -> Sequence[str]:
    if kind != "choices":
        number = value.number(kind, -float("inf"), float("inf"))
        if number is None:
            return [value.filled(kind)]
        return [str(int(number)) if number.is_integer() else repr(number)]
    return value.strings("choices") or ()


def _unanchored(own: Fields) -> Iterator[Highlight]:
    """Return the quotes without a location, as our own exports list them."""
    for variable in own.object("unanchored") or {}:
        for quote in Fields(own.object("unanchored"), own.place).objects(variable, "quote"):
            span = SpanRow(quote.optional_string("field") or "", None, None, quote.filled("text"))
            yield Highlight(variable + EVIDENCE, variable, span)
