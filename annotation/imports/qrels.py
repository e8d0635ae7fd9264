"""Read relevance judgements in TREC's form as labels of one rater.

A line of qrels is `topic iteration document grade`. The RAG Track's subtask of 2025 has six
columns, `topic Q0 document grade confidence run`, whose run is the rater. The labels are those of
a graded variable: its codes are the grades, or it is yes from a grade on. Where an item is a
passage with questions, as in Tandem's own qrels, the iteration is the question.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from annotation.imports.index import ImportOptions, KnownItems
from tandem.files.file_kinds import LONGEST
from tandem.files.jsonl import excerpt, lines
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.labels.file.reader import MAX_RATER, StandIn
from tandem.labels.file.rows import LabelRow
from tandem.protocols.base import YES_NO, Variable
from tandem.protocols.schema import Schema

HIGHEST = 9
"""No scale of relevance goes further; a ranked list does."""
_WHOLE = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_LINE = re.compile(r"\S+[ \t]+\S+[ \t]+\S+[ \t]+-?\d{1,9}[ \t]*\r?")


def looks_like_qrels(path: Path) -> bool:
    """Whether a file begins with a line of four columns, of which the last is a whole number."""
    try:
        with path.open("rb") as file:
            head = file.readline(LONGEST).decode("utf-8-sig", "replace").rstrip("\n")
    except OSError:
        return False
    return bool(_LINE.fullmatch(head)) and head[0] not in "{["


def is_graded(variable: Variable) -> bool:
    """Whether a variable's codes are grades, which are whole numbers."""
    return not variable.several and all(map(_WHOLE.fullmatch, variable.codes))


def graded_variable(schema: Schema, kind: str) -> Variable | None:
    """Return the variable of a kind of unit that qrels are about, if there is only one.

    It is the one whose codes are grades, or else the one that says yes or no.
    """
    asked = schema.variables_of(kind)
    graded = [v for v in asked if is_graded(v)] or [v for v in asked if v.codes == YES_NO]
    return graded[0] if len(graded) == 1 else None


def read_qrels(
    path: Path, known: KnownItems, rater: StandIn, notes: ReadNotes
) -> Iterator[LabelRow]:
    """Yield the grades of a file as labels. Raises InputError.

    Documents that the campaign does not ask about are counted, since pools are wider than batches.
    """
    judged = _Judged(known)
    matched = False
    for number, line in lines(path):
        place = Place(os.fspath(path), number)
        columns = line.split()
        if len(columns) not in (4, 6):
            wrong = f"{len(columns)} columns where qrels have 4"
            raise InputError(place, wrong, "write topic, 0, document and grade")
        topic, iteration, document, given = columns[:4]
        grade = _grade(given, place)
        found = judged.find(topic, iteration, document)
        if found is None:
            notes.skip("grades of documents that the campaign does not ask about")
            continue
        matched = True
        item, kind, unit = found
        variable = judged.variable(kind, place)
        value = judged.value(variable, grade)
        yield LabelRow(
            item,
            unit,
            variable.name,
            _rater(columns, rater, place),
            value,
            kind=kind,
            rater_kind=judged.options.rater_kind,
            meta={"confidence": columns[4]} if len(columns) == 6 else None,
            grade=None if value == str(grade) else str(grade),
            place=place,
        )
    if not matched:
        wrong = f"grades no document that campaign {known.campaign.name!r} asks about"
        raise InputError(Place(os.fspath(path)), wrong, "check the ids of topics and documents")


class _Judged:
    """The units of a campaign by topic and document, and what is asked about them."""

    def __init__(self, known: KnownItems) -> None:
        self.known, self.options = known, known.options or ImportOptions()
        self._variables: dict[str, Variable] = {}

    @cached_property
    def _units(self) -> dict[str, tuple[str, str]]:
        """The item and the kind of each unit by its key, where it is one passage of a query."""
        keys = {item.pk: key for key, item in self.known.items.items()}
        return {
            key: (keys[item], kind)
            for item, units in self.known.units.items()
            for kind, key, _ in units
            if kind in ("passage", "item")
        }

    def find(self, topic: str, iteration: str, document: str) -> tuple[str, str, str] | None:
        """Return item, kind and key of the unit that a line is about."""
        key = f"{topic}/{document}"
        if key in self._units:
            return *self._units[key], key
        item = self.known.items.get(key)
        asked = self.known.units.get(item.pk, ()) if item else ()
        return next(((key, kind, unit) for kind, unit, _ in asked if unit == iteration), None)

    def variable(self, kind: str, place: Place) -> Variable:
        if kind not in self._variables:
            self._variables[kind] = self._find_variable(kind, place)
        return self._variables[kind]

    def _find_variable(self, kind: str, place: Place) -> Variable:
        schema, name = self.known.schema, self.options.variable
        found = schema.variable(name, kind) if name else graded_variable(schema, kind)
        if found is None:
            asked = ", ".join(v.name for v in schema.variables_of(kind))
            wrong = f"variable {excerpt(name)} is not asked" if name else "several may be graded"
            raise InputError(place, wrong, f"give --variable one of {asked}")
        if not is_graded(found) and found.codes != YES_NO:
            wrong = f"the codes of {found.name} are not grades: {', '.join(found.codes)}"
            raise InputError(place, wrong, "import a labels file, with a code in each line")
        return found

    def value(self, variable: Variable, grade: int) -> str:
        """Return the code of a grade. A scale refuses grades that it does not have itself."""
        if variable.codes == YES_NO:
            return "yes" if grade >= self.options.relevant_from else "no"
        return str(grade)


def _grade(text: str, place: Place) -> int:
    if not _WHOLE.fullmatch(text):
        raise InputError(place, f"the grade is {excerpt(text)}", "write a whole number")
    if (grade := int(text)) > HIGHEST:
        wrong = f"the grade is {grade}, as in a ranked list"
        raise InputError(place, wrong, "give qrels; ranked lists belong into a batch")
    return grade


def _rater(columns: list[str], rater: StandIn, place: Place) -> str:
    if rater.name or len(columns) == 4:
        rater.used = True
    name = rater.name or (columns[5] if len(columns) == 6 else None)
    if name is None:
        raise InputError(place, "qrels name no rater", "name the one who graded with --rater")
    if len(name) > MAX_RATER:
        wrong = f"the rater has {len(name)} characters: {excerpt(name, 20)}"
        raise InputError(place, wrong, f"use at most {MAX_RATER}")
    return name
