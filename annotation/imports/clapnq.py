"""Read CLAPnq's released answers as labels from each annotator (Rosenthal and others 2025).

The release merges identical answers of the two rounds: an output with two annotators is the first
annotator's answer, which the second one kept. Its flag `non_consecutive` is wrong for the second
round (see `datasets.readers.clapnq`), but gaps between selected sentences follow from the labels.
The release does not say whether an answer was marked complete or partial, so it gets no
`descriptor`. A skipped question has no label, with the reason that the annotator declined. A
question released as unanswerable names no annotator, and its label `no-answer` belongs to a
reference rater.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from annotation.imports.index import KnownItems
from annotation.presentation import present
from datasets.readers.clapnq import NO_ANSWER
from tandem.files.fields import Fields
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.tables import object_rows
from tandem.labels.file.grouping import Group, check_groups
from tandem.labels.file.rows import LabelRow
from tandem.protocols.base import UnitSpec

Action = Literal["keep", "modify", "skip"]
_META = ("round", "has_minimal_answer", "non_consecutive")


@dataclass(frozen=True, slots=True)
class ReleasedAnswer:
    """One annotator's answer to one question. `rater` is None if no annotator is named.

    `output` is the index of the answer among the question's outputs. `action` is what the annotator
    did with the first answer in the second round, or None in the first round.
    """

    item: str
    rater: str | None
    replicate: int
    output: int
    round: int
    action: Action | None
    text: str
    selected: tuple[str, ...]
    meta: Mapping[str, Any]
    place: Place

    @property
    def skipped(self) -> bool:
        return self.action == "skip"

    @property
    def usable(self) -> bool:
        return self.text.strip() not in NO_ANSWER


@dataclass(frozen=True, slots=True)
class _Output:
    """One output of the file."""

    number: int
    answer: str
    selected: tuple[str, ...]
    raters: tuple[str, ...]
    round: int
    skip: bool
    meta: Mapping[str, Any]


def read_clapnq(path: Path) -> Iterator[ReleasedAnswer]:
    """Yield every annotator's answer to every question of a file. Raises InputError."""
    for line, raw in object_rows(path):
        fields = Fields(raw, Place(os.fspath(path), line))
        yield from _answers(fields)


def _answers(fields: Fields) -> Iterator[ReleasedAnswer]:
    item, had = fields.id(), Counter[str | None]()
    outputs = [_output(each, n) for n, each in enumerate(fields.objects("output", "output"))]
    rounds = {output.round for output in outputs}
    for output in outputs:
        for place, rater in enumerate(output.raters or (None,)):
            second = output.round == 2 and (place > 0 or 1 in rounds)
            # The release does not say which of two wrote the answer, so its order is used.
            yield ReleasedAnswer(
                item,
                rater,
                had[rater],
                output.number,
                round=1 if output.round == 2 and not second else output.round,
                action=_action(output, place) if second else None,
                text=output.answer,
                selected=output.selected,
                meta=output.meta,
                place=fields.place,
            )
            had[rater] += 1


def _action(output: _Output, place: int) -> Action:
    return "skip" if output.skip else "keep" if place else "modify"


def _output(fields: Fields, number: int) -> _Output:
    meta = fields.object("meta") or {}
    raters, turn = meta.get("annotator") or [], meta.get("round", 0)
    if not isinstance(raters, list) or not isinstance(turn, int):
        wrong = f'the meta of output {number + 1} lacks a list "annotator" or a number "round"'
        raise InputError(fields.place, wrong, "give the file as it was released")
    return _Output(
        number,
        fields.string("answer"),
        tuple(fields.strings("selected_sentences") or ()),
        tuple(str(rater) for rater in raters),
        turn,
        bool(meta.get("skip")),
        {"released_" + name: meta[name] for name in _META if name in meta},
    )


REFERENCE = "clapnq"


def released_groups(
    answers: Iterable[ReleasedAnswer], known: KnownItems, rater: str | None, notes: ReadNotes
) -> list[Group]:
    """Yield one group for each annotator and question. `rater` is used if none is named.

    Raises InputError if the campaign has another protocol, or lacks a question.
    """
    if known.campaign.protocol != "grounded-answer":
        answers = iter(answers)
        _refuse_protocol(next(answers, None), known)
    groups, strays = [], 0
    for answer in answers:
        one = _Answer(answer, known, rater or REFERENCE)
        strays += one.strays
        if one.rows:
            groups.append(one.group())
        else:
            notes.skip("answers about which the campaign asks nothing")
    if strays:
        wrong = f"{strays} selected sentences do not belong to their item"
        notes.warnings.append(f"{wrong}; they were left out")
    return check_groups(groups)


def _refuse_protocol(first: ReleasedAnswer | None, known: KnownItems) -> None:
    if first is not None:
        wrong = f"campaign {known.campaign.name!r} is of {known.campaign.protocol}"
        raise InputError(first.place, wrong, "give one of grounded-answer")


class _Answer:
    """One annotator's answer and its item."""

    def __init__(self, answer: ReleasedAnswer, known: KnownItems, stand_in: str) -> None:
        self.answer, self.known = answer, known
        self.rater, self.kind = answer.rater or stand_in, "human" if answer.rater else "reference"
        if answer.item not in known.items:
            wrong = f"item {excerpt(answer.item)} is not in campaign {known.campaign.name!r}"
            raise InputError(answer.place, wrong, "check the key, or load its batch")
        self.units = present(known.item(answer.item)).units

    @cached_property
    def rows(self) -> list[LabelRow]:
        """Yield the labels. The first one has the metadata of the whole answer."""
        rows = [*self._of_query(), *self._of_sentences()]
        answer = self.answer
        meta = {"round": answer.round, "output": answer.output, **answer.meta}
        first = next((n for n, row in enumerate(rows) if row.value is not None), None)
        return [replace(row, meta=meta) if n == first else row for n, row in enumerate(rows)]

    @property
    def strays(self) -> int:
        there = Counter(unit.text for unit in self._sentences)
        return sum(1 for text in self.answer.selected if text not in there)

    def group(self) -> Group:
        answer, rows = self.answer, list(self.known.check_rows(self.rows))
        found = Group(self.rater, answer.item, answer.replicate, None, rows)
        rule = self.known.schema.written("query")
        if rule and answer.text.strip():
            names = {key: name for kind, key, name in self._unit_names if kind == "query"}
            text = {"text": answer.text, "citations": []}
            found.written |= {name: {rule.name: text} for name in names.values()}
        return found

    @property
    def _unit_names(self) -> list[tuple[str, str, str]]:
        return self.known.units.get(self.known.item(self.answer.item).pk, [])

    @property
    def _sentences(self) -> list[UnitSpec]:
        return [unit for unit in self.units if unit.kind == "passage-sentence"]

    def _of_query(self) -> Iterator[LabelRow]:
        answer = self.answer
        for unit in (unit for unit in self.units if unit.kind == "query"):
            if answer.skipped:
                yield from self._row(unit, "deflected", missing="declined")
                yield from self._row(unit, "descriptor", missing="declined")
            elif answer.rater is None:
                yield from self._row(unit, "deflected", "yes")
                yield from self._row(unit, "descriptor", "no-answer")
            elif answer.usable:
                yield from self._row(unit, "deflected", "no")
            if answer.action:
                yield from self._row(unit, "action", answer.action)

    def _of_sentences(self) -> Iterator[LabelRow]:
        if self.answer.skipped:
            return
        selected = set(self.answer.selected)
        for unit in self._sentences:
            yield from self._row(unit, "selected", "yes" if unit.text in selected else "no")

    def _row(
        self, unit: UnitSpec, variable: str, value: str | None = None, missing: str | None = None
    ) -> Iterator[LabelRow]:
        if self.known.schema.variable(variable, unit.kind):
            yield LabelRow(
                self.answer.item,
                unit.key,
                variable,
                self.rater,
                value,
                missing,
                kind=unit.kind,
                rater_kind=self.kind,
                replicate=self.answer.replicate,
                place=self.answer.place,
            )
