"""Tables with one column for each rater, as the rows of a labels file.

A row is a unit and a cell is a label; empty cells are no labels. Columns of `FACTS` describe the
unit. A rater's column is called by the rater's name, by `judge:NAME` or `reference:NAME`, or by
`VARIABLE: NAME`, as in the wide labels of a release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from tandem.files.file_kinds import refuse_object
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spelling import base_form
from tandem.files.tables import Row, Table
from tandem.labels.file.rows import KNOWN

FACTS = (
    "campaign",
    "protocol",
    "item",
    "unit",
    "kind",
    "variable",
    "batch",
    "query",
    "system",
    "setting",
)
"""The columns of a labels file that may stand beside raters' columns."""
LONG = ("value", "missing", "rater")
"""The columns that only a table with one label in each row has."""
DEFAULT = "label"
"""The variable of a table that names none."""
GRADE = " (grade)"

_COLUMN = re.compile(r"(?P<variable>.+?): (?P<rater>.+?)(?: #(?P<replicate>\d{1,5}))?")
_KIND = re.compile(r"(?P<kind>human|judge|reference):(?P<rater>.+)")
_DECIMALS = re.compile(r"-?[0-9]+\.0")
NAMED = 8
_SAME = 0.75
"""Names that are so similar to a column's are typing errors."""
# In tables with one label in each row, and beside raters, columns have such names.
_ID_COLUMNS = (
    "id ids index item_id unit_id doc doc_id document document_id text_id question_id qid query_id "
    "task task_id row row_id"
)
_TEXT_COLUMNS = (
    "text question answer response prompt passage context comment comments note notes reason "
    "explanation date time timestamp"
)
_OTHER_COLUMNS = (
    "annotator annotators annotator_id worker worker_id workerid coder user user_id label labels "
    "rating ratings score scores code codes category class judgment judgement gold gold_label "
    "majority consensus adjudicated final truth ground_truth agreement name"
)
_IDS, _TEXTS = frozenset(_ID_COLUMNS.split()), frozenset(_TEXT_COLUMNS.split())
_OTHERS = frozenset(_OTHER_COLUMNS.split())


@dataclass(frozen=True)
class Wide:
    """How a table with one column for each rater is read.

    With `variable`, every column that is not one of `FACTS` belongs to a rater, and the labels are
    of that variable. Otherwise such a table is recognised if it cannot be another one, and its
    variable is `default`, or must be named if that is None.
    """

    variable: str | None = None
    default: str | None = DEFAULT


@dataclass(frozen=True)
class _Column:
    """A rater's column: the rows' members that it gives, or of which label it has the grade."""

    name: str
    rater: str
    kind: str
    replicate: int
    variable: str | None
    is_grade: bool


def wide_column(variable: str, rater: str, replicate: int) -> str:
    """Return the name of a rater's column. Repeated judgements are numbered from 1."""
    return f"{variable}: {rater}" + (f" #{replicate}" if replicate else "")


def graded(variable: str) -> str:
    """Return the name of a variable's grades: a judge's labels before its file mapped them."""
    return f"{variable}{GRADE}"


def is_wide(table: Table, wide: Wide) -> bool:
    """Return whether a table has one column for each rater.

    If so, its rows are read, and its columns are known. Raises InputError for a table that might be
    one, if no variable is named, and for one that is none if a variable is named.
    """
    first: Row | None = None
    columns = table.columns
    if columns is None:
        first = next(table.rows, None)
        columns = tuple(first[1]) if first else ()
        table.rows = _again([] if first is None else [first], table.rows)
    if any(name in columns for name in LONG) or not _raters(columns):
        if wide.variable:
            wrong = "no column is a rater's: it has the columns of one label in each row"
            raise InputError(table.head, wrong, "leave --wide out")
        return False
    if first is not None:
        refuse_object(first[1], Place(table.head.file, first[0]), "labels")
    if not wide.variable and any(name in KNOWN and name not in FACTS for name in columns):
        return False
    rows = list(table.rows)
    table.rows = iter(rows)
    table.columns = tuple(dict.fromkeys([*columns, *(name for _, row in rows for name in row)]))
    _check_names(table)
    if not wide.variable:
        _check(table, rows)
    return True


def long_rows(table: Table, wide: Wide, notes: ReadNotes) -> Iterator[Row]:
    """Yield one row for each cell with a label. Raises InputError.

    If the table was recognised by itself, a remark in `notes` names the raters.
    """
    names = table.columns or ()
    for name in _raters(names):
        if name in KNOWN:
            wrong = f"{excerpt(name)} cannot stand beside columns of raters"
            raise InputError(table.head, wrong, "remove it, or give one label in each row")
    columns = [_column(name) for name in _raters(names)]
    variable = wide.variable or wide.default
    if variable is None and not ("variable" in names or all(each.variable for each in columns)):
        wrong = "has one column for each rater, and does not say of which variable"
        raise InputError(table.head, wrong, "name it with --wide VARIABLE")
    if not wide.variable:
        notes.warnings.append(_remark(table, columns))
    _note_orders(table, columns, variable, notes)
    grades = {
        (each.variable, each.rater, each.replicate): each.name for each in columns if each.is_grade
    }
    rows = _without_decimals(list(table.rows), [each.name for each in columns])
    for number, (line, row) in enumerate(rows, 1):
        facts = {name: _text(row[name]) for name in FACTS if row.get(name) is not None}
        unit = facts.get("unit") or facts.get("item") or str(number)
        for each in columns:
            if each.is_grade or row.get(each.name) is None:
                continue
            found = {"variable": variable, "item": unit, "unit": unit, **facts}
            found |= {"value": row[each.name], "rater": each.rater, "rater_kind": each.kind}
            if each.variable:
                found["variable"] = each.variable
            if each.replicate:
                found["replicate"] = each.replicate
            grade = grades.get((found["variable"], each.rater, each.replicate))
            if grade is not None and row.get(grade) is not None:
                found["grade"] = row[grade]
            yield line, found


def _without_decimals(rows: list[Row], names: Sequence[str]) -> list[Row]:
    """Return the rows with `3` for `3.0` in columns of texts that are all written so.

    A data frame writes a column of whole numbers so if one of its cells is empty.
    """
    for name in names:
        cells = [row for _, row in rows if row.get(name) is not None]
        texts = [row[name] for row in cells]
        if all(isinstance(text, str) and _DECIMALS.fullmatch(text) for text in texts):
            for row in cells:
                row[name] = row[name].removesuffix(".0")
    return rows


def _again(first: Sequence[Row], rest: Iterator[Row]) -> Iterator[Row]:
    yield from first
    yield from rest


def _raters(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name not in FACTS]


def _column(name: str) -> _Column:
    variable, rater, replicate = None, name, 0
    if found := _COLUMN.fullmatch(name):
        variable, rater = found["variable"], found["rater"]
        replicate = int(found["replicate"] or 0)
    kind = _KIND.fullmatch(rater)
    is_grade = bool(variable and variable.endswith(GRADE))
    return _Column(
        name,
        kind["rater"].strip() if kind else rater,
        kind["kind"] if kind else "human",
        replicate,
        variable.removesuffix(GRADE) if variable else None,
        is_grade,
    )


def _note_orders(
    table: Table, columns: Sequence[_Column], variable: str | None, notes: ReadNotes
) -> None:
    """Note the scale of a variable if all its columns have the same ordered categories."""
    orders: dict[str, list[list[str] | None]] = {}
    for each in columns:
        name = each.variable or variable
        if name and not each.is_grade:
            orders.setdefault(name, []).append(table.orders.get(each.name))
    for name, of in orders.items():
        if of[0] and all(other == of[0] for other in of):
            notes.scales.setdefault(name, of[0])


def _remark(table: Table, columns: Sequence[_Column]) -> str:
    people = [excerpt(each.rater) for each in columns if each.kind == "human" and not each.is_grade]
    named = ", ".join(dict.fromkeys(people[:NAMED]))
    more = f" and {len(people) - NAMED} more" if len(people) > NAMED else ""
    return (
        f"{table.head.file}: read as a table with one column for each rater; people are "
        f"{named}{more}; the column of a judge is called judge:NAME"
    )


def _text(value: Any) -> Any:
    whole = isinstance(value, float) and value.is_integer()
    is_name = isinstance(value, int) and not isinstance(value, bool)
    return str(int(value)) if whole or is_name else value


def _check_names(table: Table) -> None:
    """Raise InputError for a column that is certainly not a rater's."""
    for name in _raters(table.columns or ()):
        plain = name.lower().replace(" ", "_")
        if plain in _IDS or plain in _TEXTS:
            is_id = plain in _IDS
            remedy = "call it unit, item or query" if is_id else "remove it, as nothing reads it"
            wrong = f"column {name!r} is not a rater's"
            raise InputError(table.head, wrong, remedy)


def _check(table: Table, rows: Sequence[Row]) -> None:
    """Raise InputError if some column is perhaps not a rater's."""
    raters = [_column(name) for name in _raters(table.columns or ())]
    for each in raters:
        if close := _misspelt(each.name):
            wrong = f"unknown column {each.name!r}"
            remedy = f"did you mean {close!r}? the columns are {', '.join(KNOWN)}"
            raise InputError(table.head, wrong, remedy)
    said: dict[str, set[str]] = {each.name: set() for each in raters}
    for _, row in rows:
        for name in said.keys() & row.keys():
            if row[name] is not None:
                said[name].add(base_form(str(row[name])))
    for each in raters:
        others = set[str]().union(*(of for name, of in said.items() if name != each.name))
        shares = not said[each.name] or each.is_grade or not others.isdisjoint(said[each.name])
        if len(raters) < 2 or each.name.lower() in _OTHERS or not shares:
            wrong = (
                f"unknown column {each.name!r}, which may be a rater's or another one"
                if len(raters) > 1
                else f"unknown column {each.name!r}, the only one that may be a rater's"
            )
            remedy = (
                f"the columns are {', '.join(KNOWN)}; if each other column has the labels of the "
                "rater whose name it is, add --wide VARIABLE"
            )
            raise InputError(table.head, wrong, remedy)


def _misspelt(name: str) -> str | None:
    """Return the column of a labels file that a name means, apart from names such as `rater 1`."""
    plain = name.lower()
    for known in (*LONG, *FACTS):
        rest = plain.removeprefix(known)
        is_longer = rest != plain and rest not in ("", "s")
        if not is_longer and SequenceMatcher(None, plain, known).ratio() >= _SAME:
            return known
    return None
