"""The page of grounded answers: sentences to tick, an answer to write, or sentences to validate.

A marker `[n]` in an answer names the n-th passage of the query in the batch's order, not in the
order that a rater sees, so that it means the same in two people's answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.item_context import Row, Sheet
from annotation.models import Assignment
from annotation.prerequisites.grounded_answer import first_answer
from annotation.presentation import answers_as_reports, asked_units, schema, validates_answers
from annotation.views.protocol_pages.base import Page
from datasets.models import Grounding, Report
from tandem.protocols.base import ItemSpec, Text, UnitSpec
from tandem.protocols.consistency import passage_of
from tandem.protocols.validation import PASSAGE

_MARKERS = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")
_OF_PASSAGE = ("passage-sentence", "passage")
_Pair = tuple[UnitSpec, Row]


@dataclass(frozen=True)
class Source:
    """A passage that may be cited: its number, its text, and the rows to tick in it.

    `whole` says whether the passage is ticked instead of its sentences, and `more` whether its
    text has words outside its sentences.
    """

    number: int
    key: str
    heading: str
    text: Text
    rows: tuple[Row, ...]
    cited: bool
    whole: bool

    @property
    def named(self) -> bool:
        return self.heading != "Passage"

    @property
    def more(self) -> bool:
        left = self.text.text
        for row in self.rows:
            left = left.replace(row.text, "", 1)
        return bool(self.rows) and not self.whole and any(c.isalnum() for c in left)


@dataclass(frozen=True)
class Validated:
    """A sentence to validate. `cites` are numbers of passages, `answer` counts answers from 1."""

    row: Row
    answer: int
    opens: bool
    cites: str


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    pairs = list(zip(asked_units(assignment, spec).values(), sheet.rows, strict=True))
    sources = _sources(assignment, spec, sheet, pairs)
    sentences = [pair for pair in pairs if pair[0].kind == "sentence"]
    answer = next((row for unit, row in pairs if unit.kind == "query"), None)
    first = first_answer(assignment.item, assignment.rater) if answer else None
    return {
        "sources": sources,
        "answer": answer,
        "ticks": any(source.rows for source in sources),
        "validated": _validated(assignment, sentences, sources),
        "second": any(v.name == "action" for v in answer.variables) if answer else False,
        "first": first,
        "first_selected": json.dumps(sorted(first.selected)) if first else "[]",
    }


def _sources(
    assignment: Assignment, spec: ItemSpec, sheet: Sheet, pairs: Sequence[_Pair]
) -> list[Source]:
    """Return the passages in this rater's order."""
    numbers = passage_numbers(assignment.item.query_id)
    cited = {key for row in sheet.rows if row.prose for key, _, on in row.prose.sources if on}
    rows: dict[str, list[Row]] = {}
    whole = {unit.key for unit, _ in pairs if unit.kind == "passage"}
    for unit, row in pairs:
        if unit.kind in _OF_PASSAGE:
            rows.setdefault(passage_of(spec.key, unit.kind, unit.key), []).append(row)
    found = []
    for _, text in sheet.texts:
        if text.field.startswith(PASSAGE):
            key = text.field.removeprefix(PASSAGE)
            own, single = tuple(rows.get(key, ())), f"{spec.key}/{key}" in whole
            source = Source(numbers[key], key, text.heading, text, own, key in cited, single)
            found.append(source)
    return found


def passage_numbers(query: int) -> dict[str, int]:
    """Return the numbers of a query's passages by id, from 1 in the batch's order."""
    keys = Grounding.objects.filter(query=query).order_by("position")
    return {key: n for n, key in enumerate(keys.values_list("passage__key", flat=True), start=1)}


def _validated(
    assignment: Assignment, pairs: Sequence[_Pair], sources: Sequence[Source]
) -> list[Validated]:
    if not pairs:
        return []
    cited = _citations(assignment)
    numbers = {source.key: source.number for source in sources}
    order = list(dict.fromkeys(unit.key.rpartition("#")[0] for unit, _ in pairs))
    found: list[Validated] = []
    for unit, row in pairs:
        answer = order.index(report := unit.key.rpartition("#")[0]) + 1
        marked = [n for n in markers(unit.text) if n in numbers.values()]
        whole = [numbers[key] for key in cited.get(report, ()) if key in numbers]
        cites = " ".join(map(str, marked or whole))
        opens = not found or found[-1].answer != answer
        found.append(Validated(row, answer, opens, cites))
    return found


def _citations(assignment: Assignment) -> dict[str, Sequence[str]]:
    """Return the citations of each validated answer."""
    item = assignment.item
    if validates_answers(item.campaign, schema(item.campaign)):
        return {r.id: r.citations or () for r in answers_as_reports(item.campaign, item.query.key)}
    rows = Report.objects.filter(query=item.query_id).values_list("key", "citations")
    return {key: citations or () for key, citations in rows}


def markers(text: str) -> list[int]:
    """Return the numbers in a text's markers, such as [2] and [1, 3], each once, in order."""
    found = (number for many in _MARKERS.findall(text) for number in many.split(","))
    return list(dict.fromkeys(int(number) for number in found))


PAGE = Page(
    template="work/pages/grounded_answer.html",
    script="js/work/grounded_answer.js",
    style="css/work/grounded_answer.css",
    keys=(
        ("space x", "tick or untick the current sentence"),
        ("w", "write the answer; esc leaves the field"),
        ("[", "in the answer: cite a passage; ↑ ↓ choose one, ⏎ inserts it"),
        ("l", "go to the checklist; space confirms a statement and goes to the next one"),
        ("y n", "when validating: grounded or not, then the next sentence"),
    ),
    facts=facts,
)
