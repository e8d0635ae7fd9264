"""The labels in answers from Label Studio: the unit of a task, and the variable of a control."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from annotation.imports.index import KnownItems
from annotation.imports.label_studio import EVIDENCE, Choice, Highlight, StudioAnswer
from datasets.readers.label_studio import MEDIA
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, ReadNotes
from tandem.grouping import grouped
from tandem.labels.file.rows import REASONS, LabelRow, SpanRow
from tandem.protocols.base import Variable

LOST = "highlights that belong to no label"
EMPTY = "with an empty result: submitted without an answer, so without a label"
SKIPPED = "annotations of skipped tasks (was_cancelled): their labels are missing as declined"
WITHDRAWN = "labels in annotations of skipped tasks (was_cancelled), which do not count"
NO_UNIT = "annotations of skipped tasks with several units, of which the file names none"

Units = list[tuple[str, str, str]]
"""Item, kind and key."""


def rows_of_answers(
    answers: Iterable[StudioAnswer], known: KnownItems, notes: ReadNotes
) -> Iterator[LabelRow]:
    """Yield the labels of all answers. Raises InputError if a task is not a campaign's unit."""
    finder = _Finder(known)
    for answer in answers:
        if not answer.choices and not answer.missing and not answer.declined:
            _count_without_label(answer, notes)
            continue
        unit = finder.unit_of(answer)
        if unit is None:
            notes.skip(NO_UNIT)
            continue
        row = LabelRow(
            *unit,
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


def _count_without_label(answer: StudioAnswer, notes: ReadNotes) -> None:
    if answer.empty:
        notes.skip(f"{'predictions' if answer.rater_kind == 'judge' else 'annotations'} {EMPTY}")
    if answer.highlights:
        notes.skip(LOST, len(answer.highlights))


class _Finder:
    """Finds the unit of a task."""

    def __init__(self, known: KnownItems) -> None:
        self.known = known
        self.of_query: dict[str, list[str]] = defaultdict(list)
        for key, item in known.items.items():
            self.of_query[item.query.key].append(key)

    def unit_of(self, answer: StudioAnswer) -> tuple[str, str] | None:
        """Return the keys of the item and the unit. None if a skipped task could be any of several.

        Raises InputError for an answer to no unit, or to one of several.
        """
        if answer.item is not None and answer.unit is not None:
            return answer.item, answer.unit
        asked = {choice.control for choice in answer.choices}
        found = [(item, key) for item, kind, key in self._units(answer) if self._asks(kind, asked)]
        if len(found) > 1 and answer.declined and not answer.choices and not answer.missing:
            return None
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
            remedy = f"check its id and its controls, or {remedy}{self.known.how_to_ignore}"
            if answer.media and answer.task not in self.of_query:
                wrong += f", and {excerpt(answer.media)} of its data is the address of {MEDIA}"
                remedy = "leave it out: Tandem labels texts only"
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
        if self.answer.declined and self.answer.choices:
            self.notes.skip(WITHDRAWN, len(self.answer.choices))
            yield from self._missing()
            return
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
            self.notes.skip(LOST, lost)
        yield from self._missing()

    def _missing(self) -> Iterator[LabelRow]:
        """Yield missing labels with their reasons. A skipped task is declined."""
        reasons = dict(self.answer.missing)
        if self.answer.declined and not reasons:
            self.notes.skip(SKIPPED)
            asked = self.known.schema.variables_of(self.kind) if self.kind else ()
            reasons = {variable.name: "declined" for variable in asked if not variable.asked_if}
        for name, reason in reasons.items():
            if reason not in REASONS:
                wrong = f"missing is {excerpt(str(reason))}"
                raise InputError(self.answer.place, wrong, f"give one of {', '.join(REASONS)}")
            yield replace(self.row, variable=name, missing=reason)

    def _spans(self) -> dict[str, list[SpanRow]]:
        return grouped((self._meant(each), each.span) for each in self.answer.highlights)

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
        words = _in_words(variable)
        if not variable.several:
            return words.get(_plain(choice.value), choice.value)
        chosen: list[str] = json.loads(choice.value)
        codes = [c if c in variable.answers else words.get(_plain(c), c) for c in chosen]
        escape = len(codes) == 1 and codes[0] in variable.escapes
        return codes[0] if escape else json.dumps(codes, ensure_ascii=False)


def _in_words(variable: Variable) -> dict[str, str]:
    own = {_plain(code): code for code in variable.answers}
    return own | {_plain(words): code for code, words in variable.words.items()}


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("-", " ").replace("_", " ").split())
