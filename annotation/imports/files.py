"""Files of labels and responses: recognise the format, and group their lines into answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from annotation.imports import clapnq, crux
from annotation.imports.clapnq import released_groups
from annotation.imports.index import KnownItems, without_example
from annotation.imports.label_studio import read_label_studio
from annotation.imports.label_studio_rows import rows_of_answers
from annotation.imports.qrels import looks_like_qrels, read_qrels
from annotation.imports.responses import ResponseRow, looks_like_responses, read_responses
from annotation.models import Campaign
from datasets.models import Question
from datasets.readers.clapnq import recognises as looks_like_clapnq
from datasets.readers.label_studio import recognises as looks_like_label_studio
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.tables import first_object, form_of
from tandem.labels.file.grouping import Group, check_assisted, check_groups, group_rows
from tandem.labels.file.reader import StandIn, read_labels
from tandem.labels.file.rows import CheckedRow
from tandem.labels.file.wide import Wide

NAMED = 3


def read_groups(
    path: Path,
    known: KnownItems,
    rater: str | None,
    format: str | None,
    notes: ReadNotes,
) -> list[Group]:
    """Return the groups of a file. `format` is recognised if it is None. Raises InputError."""
    stand_in = StandIn(rater)
    wide = known.options.wide if known.options else ""
    format = format or ("labels" if wide else _recognise(path))
    if format == "labels":
        groups = _labels(path, known, stand_in, notes, wide)
    else:
        groups = _groups(path, known, stand_in, format, notes)
    check_assisted(groups)
    if rater and not stand_in.used:
        names = list(dict.fromkeys(group.rater for group in groups))
        notes.warnings.append(_without_effect(path, rater, names))
    return groups


def _groups(
    path: Path, known: KnownItems, rater: StandIn, format: str, notes: ReadNotes
) -> list[Group]:
    if format == "crux":
        rater.used = True
        texts = _questions(known.campaign)
        labels = crux.read_crux(path, rater.name or crux.rater_of(path), texts, notes)
        return group_rows(known.check_rows(labels))
    if format == "clapnq":
        rater.used = True
        return released_groups(clapnq.read_clapnq(path), known, rater.name, notes)
    if format == "qrels":
        return group_rows(known.check_rows(read_qrels(path, known, rater, notes)))
    if format == "label-studio":
        answers = read_label_studio(path, rater, notes, known)
        return group_rows(known.check_rows(rows_of_answers(answers, known, notes)))
    return check_groups(_join_responses(read_responses(path, rater), known))


def _labels(
    path: Path, known: KnownItems, rater: StandIn, notes: ReadNotes, wide: str
) -> list[Group]:
    """Return the groups of labels. A campaign with one variable need not name that of a table."""
    variables = list(dict.fromkeys(v.name for v in known.schema.variables))
    form = Wide(wide or None, variables[0] if len(variables) == 1 else None)
    doubts = _Contradictions(known)
    rows = without_example(read_labels(path, rater, notes, form), notes)
    groups = group_rows(doubts.counted(known.check_rows(rows)))
    notes.warnings += doubts.warnings()
    return groups


def _without_effect(path: Path, rater: str, names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    listed = ", ".join(excerpt(name) for name in names[:NAMED]) + more
    return (
        f"{os.fspath(path)}: --rater {excerpt(rater)} had no effect, as every line names a rater "
        f"of its own ({listed}); leave it out"
    )


def _recognise(path: Path) -> str:
    if looks_like_qrels(path):
        return "qrels"
    if form_of(path) in ("delimited", "xlsx"):
        return "labels"
    first = first_object(path)
    if crux.looks_like_crux(first):
        return "crux"
    if looks_like_clapnq(path, first):
        return "clapnq"
    if looks_like_label_studio(path, first):
        return "label-studio"
    return "responses" if looks_like_responses(first) else "labels"


def _questions(campaign: Campaign) -> crux.Texts:
    items = dict(campaign.items.values_list("key", "query_id"))
    texts: dict[int, dict[str, str]] = {}
    of_batch = Question.objects.filter(batch=campaign.batch_id)
    for query, key, text in of_batch.values_list("query_id", "key", "text"):
        texts.setdefault(query, {})[key] = text
    return lambda item: texts.get(items[item], {}) if item in items else {}


def _join_responses(responses: Iterable[ResponseRow], known: KnownItems) -> list[Group]:
    """Return one group for each rater, item, replicate and revision.

    A judge that works unit by unit has a line for each unit. Raises InputError if a unit is in two
    lines.
    """
    groups: dict[tuple[str, str, int, int | None], Group] = {}
    places: dict[tuple[str, str, int, int | None, str], Place] = {}
    for response in responses:
        key = (response.rater, response.item, response.replicate, response.revision)
        _add(groups.setdefault(key, Group(*key)), response, known)
        for name in response.units:
            first = places.setdefault((*key, name), response.place)
            if first != response.place:
                unit = f"unit {excerpt(name)} of item {excerpt(response.item)}"
                wrong = f"{response.rater!r} has {unit} on line {first.line} too"
                remedy = "keep one, or number replicates or revisions"
                raise InputError(response.place, wrong, remedy)
    return [group for group in groups.values() if group.rows]


def _add(group: Group, response: ResponseRow, known: KnownItems) -> None:
    known.check_protocol(response)
    rows = list(known.check_rows(known.rows_of(response)))
    if not rows and not known.ignored.total():
        raise InputError(response.place, "the response contains no label", "take the line out")
    group.rows += rows
    kinds = known.kinds(known.item(response.item).pk)
    for name, answer in response.units.items():
        if response.comment:
            group.comments[name] = response.comment
        keys = known.schema.free_keys(kinds[name])
        if free := {key: answer[key] for key in keys if answer.get(key) is not None}:
            group.written[name] = free


class _Contradictions:
    """Count the lines of a file whose facts about an item differ from the campaign's."""

    def __init__(self, known: KnownItems) -> None:
        self.known = known
        self.lines = 0
        self.first: Place | None = None
        self.columns: dict[str, None] = {}

    def counted(self, rows: Iterable[CheckedRow]) -> Iterator[CheckedRow]:
        for checked in rows:
            row = checked.row
            facts = {name: getattr(row, name) for name in _FACTS}
            own = self.known.facts[row.item]
            wrong = [n for n, value in facts.items() if value is not None and value != own[n]]
            if wrong:
                self.lines += 1
                self.first = self.first or row.place
                self.columns.update(dict.fromkeys(wrong))
            yield checked

    def warnings(self) -> list[str]:
        if not self.lines:
            return []
        columns = " or ".join(self.columns)
        return [
            f"{self.first}: {self.lines} lines name another {columns} than their item has; the "
            "campaign's own values are kept"
        ]


_FACTS = ("query", "system", "setting", "batch")
FORMATS = ("labels", "crux", "clapnq", "label-studio", "responses", "qrels")
