"""CLAPnq's released answers as groups: the labels that they bear out, and no others.

A released answer was called complete or partial when it was written, and the release does not say
which: such an answer gets no `descriptor`. A skipped question has no label; its reason is that the
annotator declined. A question that is released as unanswerable names no annotator: what it says,
`no-answer`, stands under a reference rater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from annotation.files.clapnq import Released
from annotation.files.rows import LabelRow
from annotation.grouping import Group, check_groups
from annotation.known import KnownItems
from annotation.presenting import present
from annotation.protocols.base import UnitSpec
from datasets.readers.jsonl import shown
from datasets.rows import InputError, ReadNotes

REFERENCE = "clapnq"


def released_groups(
    answers: Iterable[Released], known: KnownItems, rater: str | None, notes: ReadNotes
) -> list[Group]:
    """One group for each annotator and question; `rater` stands in where none is named.

    Raises InputError where the campaign is of another protocol, or lacks a question.
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
            notes.skip("answers of which the campaign asks nothing")
    if strays:
        wrong = f"{strays} selected sentences are none of their item's"
        notes.warnings.append(f"{wrong}; they were left out")
    return check_groups(groups)


def _refuse_protocol(first: Released | None, known: KnownItems) -> None:
    if first is not None:
        wrong = f"campaign {known.campaign.name!r} is of {known.campaign.protocol}"
        raise InputError(first.place, wrong, "give one of grounded-answer")


class _Answer:
    """One annotator's answer against the item that it is about."""

    def __init__(self, answer: Released, known: KnownItems, stand_in: str) -> None:
        self.answer, self.known = answer, known
        self.rater, self.kind = answer.rater or stand_in, "human" if answer.rater else "reference"
        if answer.item not in known.items:
            wrong = f"item {shown(answer.item)} is not in campaign {known.campaign.name!r}"
            raise InputError(answer.place, wrong, "check the key, or load its batch")
        self.units = present(known.item(answer.item)).units

    @cached_property
    def rows(self) -> list[LabelRow]:
        """Its labels; the first one bears what the release says of the answer as a whole."""
        rows = [*self._of_query(), *self._of_sentences()]
        answer = self.answer
        told = {"round": answer.round, "output": answer.output, **answer.meta}
        first = next((n for n, row in enumerate(rows) if row.value is not None), None)
        return [replace(row, meta=told) if n == first else row for n, row in enumerate(rows)]

    @property
    def strays(self) -> int:
        there = Counter(unit.text for unit in self._sentences)
        return sum(1 for text in self.answer.selected if text not in there)

    def group(self) -> Group:
        answer, rows = self.answer, list(self.known.checked(self.rows))
        found = Group(self.rater, answer.item, answer.replicate, None, rows)
        rule = self.known.schema.written("query")
        if rule and answer.text.strip():
            names = {key: name for kind, key, name in self._named if kind == "query"}
            text = {"text": answer.text, "citations": []}
            found.written |= {name: {rule.name: text} for name in names.values()}
        return found

    @property
    def _named(self) -> list[tuple[str, str, str]]:
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
                self.answer.item, unit.key, variable, self.rater, value, missing, kind=unit.kind,
                rater_kind=self.kind, replicate=self.answer.replicate, place=self.answer.place,
            )  # fmt: skip
