"""Figures that a paper prints, from a user's file, beside the cells of the same thing.

The file is TOML with a `[[table]]` for each printed table. A figure stands beside ours only if its
system and setting name the row, and if the data set, the judge and the split are those of the
table's head. Everything else is left out and counted. Tandem ships no such file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from analysis.evaluation.inputs import PEOPLE, TEXTS
from analysis.papers.base import PERCENT, Paper, PrintedTable
from analysis.papers.stored import StoredMaterial
from tandem.document import count
from tandem.files.rows import InputError, Place
from tandem.files.toml import TomlError, read_toml
from tandem.similar import did_you_mean
from tandem.types import JSON

TEXT_KEYS = ("paper", "number", "caption", "split", "judge", "units", "note")
KEYS = (*TEXT_KEYS, "columns", "rows")
REQUIRED = ("paper", "number", "columns", "rows")
EMPTY = ("-", "N/A", "")
SPLITS = ("train", "dev", "test")
WHOLE = ("", "all")
WORDS_FOR_PEOPLE = re.compile(r"\b(?:people|annotators?|workers?|raters?)\b")
QUERIES = re.compile(r"([\d,]+) (?:queries|questions)\b")
PASSAGES = re.compile(r"([\d,]+) passages\b")
SETTINGS = re.compile(r"([\d,]+) (?:retrieval settings|contexts)\b")
THRESHOLD = re.compile(r"threshold (\d+)")
SAME_AS = re.compile(r"as Table (\w+)")
BY_JUDGE = "KPR by "


@dataclass(frozen=True)
class FileTable:
    """A table of the file: its head, and its rows, each a value for each column."""

    paper: str
    number: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    split: str = ""
    judge: str = ""

    def figures(self, apart: Sequence[str] = ()) -> Iterator[tuple[Mapping[str, str], str, float]]:
        """Yield the cells of each row as text by column, a column, and the figure in it.

        The columns `apart` name the row.
        """
        for row in self.rows:
            named = defaultdict(str)
            for column, value in zip(self.columns, row, strict=True):
                named[column] = "" if value in EMPTY else str(value)
            for column, value in zip(self.columns, row, strict=True):
                if isinstance(value, int | float) and column not in apart:
                    yield named, column, float(value)


@dataclass(frozen=True)
class Published:
    """The tables of a file. `name` has its name and the beginning of its digest."""

    name: str
    tables: tuple[FileTable, ...]

    def placed(self, paper: Paper, tables: Sequence[JSON], material: StoredMaterial) -> list[str]:
        """Add the paper's figures to the grids where they belong, and return a note with counts."""
        own = [table for table in self.tables if table.paper == paper.name]
        judges = {table.number: table.judge for table in own}
        total = found = 0
        for table in own:
            declared = [
                (printed, grid)
                for each, made in zip(paper.tables, tables, strict=True)
                for printed in each.printed
                if printed.number == table.number
                for grid in made["grids"]
            ]
            apart = {name for printed, _ in declared for name in printed.names}
            judge = _resolved(table.judge, judges)
            for cells, column, value in table.figures(sorted(apart)):
                total += 1
                found += any(
                    _Place(printed, grid, table, judge, material).take(cells, column, value)
                    for printed, grid in declared
                )
        figures = count(total, "figure")
        return [
            f"Printed figures: of {figures} of {paper.title} in {self.name}, {found:,} found their "
            "place. The others are not shown: no cell has the same system, setting, data set, "
            "judge and split."
        ]


def _resolved(judge: str, judges: Mapping[str, str]) -> str:
    """Return a table's judge; "as Table 1" is that of Table 1."""
    same = SAME_AS.match(judge)
    return judges.get(same[1], "") if same else judge


@dataclass(frozen=True)
class _Place:
    """One of our grids, in which figures of a printed table may stand."""

    printed: PrintedTable
    grid: JSON
    table: FileTable
    judge: str
    material: StoredMaterial

    def take(self, cells: Mapping[str, str], column: str, value: float) -> bool:
        """Add the figure to the grid if it has a cell for it; return whether it has."""
        if not self.printed.about(cells, self.grid["caption"]):
            return False
        taken = {(each["row"], each["column"]) for each in self.grid["printed"]}
        for row in self.grid["rows"]:
            for ours in self.grid["columns"]:
                if (row["name"], ours["name"]) not in taken and self._same(
                    row["name"], ours["name"], cells, column
                ):
                    factor = self.printed.factor if ours["scale"] == PERCENT else 1.0
                    made = {"row": row["name"], "column": ours["name"]}
                    self.grid["printed"].append({**made, "value": round(value * factor, 6)})
                    return True
        return False

    def _same(self, row: str, ours: str, cells: Mapping[str, str], column: str) -> bool:
        if self.printed.transposed:
            names = self.printed.columns.get(column, column) == row
            return names and self._same_head(cells.get(self.printed.set, ""), "", self.grid["data"])
        data, _, head = ours.rpartition(": ")
        if self.printed.data_in_row:
            data, _, row = row.partition(" · ")
        data = data or self.grid["data"]
        if self.printed.data_in_columns:
            return self._same_row(row, cells) and plain(data or ours) in self._column_names(column)
        said, prefix = self._heading(column, head)
        if not said or not self._same_row(row, cells):
            return False
        return self._same_head(prefix or cells.get(self.printed.set, ""), row, data)

    def _column_names(self, column: str) -> set[str]:
        """Return the names of a column's data set; a split is left out if it is the only one."""
        others = [name for each in self.table.columns if each != column for name in names_of(each)]
        return {name for name in names_of(column) if name == plain(column) or name not in others}

    def _heading(self, column: str, ours: str) -> tuple[bool, str]:
        """Return whether a printed heading is ours, and the data set or the split before it."""
        if self.judge == "column head":
            by, (judge, _, _) = ours.removeprefix(BY_JUDGE), column.partition(" judge")
            return ours != by and plain(judge) in self._evaluator(by), ""
        known = self.printed.columns
        if plain(known.get(column, column)) == plain(ours):
            return True, ""
        prefix, _, rest = column.partition(" ")
        return bool(rest) and plain(known.get(rest, rest)) == plain(ours), prefix

    def _same_row(self, row: str, cells: Mapping[str, str]) -> bool:
        return plain(self.printed.row_of(cells)) == plain(row)

    def _same_head(self, prefix: str, row: str, data: str) -> bool:
        """Return whether the data set, split, sizes and judge are the same.

        `prefix` is the data set or split that the printed column or row names, if it does.
        """
        by = self.judge == "column head" or self._judged(self.grid["judge"])
        return by and self._same_data(prefix, row, data) and self._same_sizes(prefix, data)

    def _same_data(self, prefix: str, row: str, data: str) -> bool:
        paper, split = self.table.paper, plain(self.grid["split"] or self._split_in(row))
        if plain(prefix) in SPLITS or (self.printed.set == "split" and plain(row) in SPLITS):
            asked = plain(prefix) if plain(prefix) in SPLITS else plain(row)
            alone = plain(f"{paper}-{asked}")
            return plain(data) == alone or (plain(data) == plain(paper) and split == asked)
        if split not in WHOLE:
            return False
        clause = self._clause(prefix)
        own = names_of(prefix) if prefix else {plain(paper)}
        own |= {plain(paper) + name for name in own if prefix}
        known = {name for said in re.split(r"=|,| and ", clause) for name in names_of(said)}
        known |= {name.removeprefix(plain(paper)) for name in known}
        return plain(data) in (own | known) - {""}

    def _split_in(self, row: str) -> str:
        return row if self.printed.set == "split" else ""

    def _clause(self, prefix: str) -> str:
        """Return what the head's split says of a data set, or all of it."""
        clauses = self.table.split.split(";")
        named = [each for each in clauses if plain(each.partition("=")[0]) == plain(prefix)]
        return (*named, "")[0] if prefix else clauses[0]

    def _same_sizes(self, prefix: str, data: str) -> bool:
        """Return whether the data set has as many queries, passages and settings as the head says.

        The cut of ratings has to be the same, too, unless the rows are cuts.
        """
        clause, material = self._clause(prefix) or self._clause(""), self.material
        of = [b for b in material.batches if plain(material.data_set(b)) == plain(data)]
        sizes = [len(material.queries(batch)) for batch in of]
        passages = [len({p.id for q in material.queries(b) for p in q.passages}) for b in of]
        for pattern, there in (
            (QUERIES, sizes),
            (SETTINGS, [self.grid["settings"]]),
            (PASSAGES, passages),
        ):
            said = pattern.search(clause)
            # The passages of a context are not those of the data set.
            is_of_context = pattern is PASSAGES and SETTINGS.search(clause)
            if said and not is_of_context and int(said[1].replace(",", "")) not in there:
                return False
        cut = THRESHOLD.search(self.judge)
        return not cut or "threshold" in self.printed.row or int(cut[1]) == material.chosen.eta

    def _judged(self, by: str) -> bool:
        """Return whether an evaluator is one of those that the head names."""
        if self.printed.of_texts:
            return by in ("", TEXTS)
        said = [each for part in self.judge.split(";") for each in part.split(" against ")]
        named = {
            who for each in said if not each.strip().startswith("no ") for who in _judges(each)
        }
        return bool(named & self._evaluator(by)) if self.judge else by in ("", TEXTS)

    def _evaluator(self, by: str) -> set[str]:
        """Return the names of an evaluator of ours: its own, and those of its models."""
        if by in ("", TEXTS, PEOPLE):
            return {by or TEXTS}
        models = self.material.models_of(by)
        return {plain(name) for name in (by, *models, *(m.rpartition("/")[2] for m in models))}


def _judges(said: str) -> Iterator[str]:
    """Yield the names of an evaluator in a part of a table's head."""
    name = said.strip().partition(",")[0]
    if name.startswith("automatic"):
        yield TEXTS
    elif WORDS_FOR_PEOPLE.search(name.lower()):
        yield PEOPLE
    else:
        yield plain(name.partition(" by ")[2] or name.partition(" for ")[0])


def names_of(said: str) -> set[str]:
    """Return the plain names of a data set: as it is said, and without the word for a split."""
    name, _, last = said.strip().rpartition(" ")
    return {plain(said), *([plain(name)] if last in SPLITS else [])} - {""}


def plain(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[\W_]+", "", name).lower()


def read_published(path: Path) -> Published:
    """Read a file of printed figures. Raises InputError."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(Place(str(path)), f"cannot be read ({why})", "name a file") from error
    except UnicodeDecodeError as error:
        raise InputError(Place(str(path)), "is not UTF-8", "save it as UTF-8") from error
    try:
        document = read_toml(text)
    except TomlError as error:
        raise InputError(Place(str(path), error.line), str(error), "correct it") from error
    name = f"{path.name} (sha256 {sha256(content).hexdigest()[:12]})"
    return Published(name, tuple(_Reader(str(path), text).tables(document)))


@dataclass
class _Reader:
    path: str
    text: str
    number: int = 0
    lines: list[str] = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")
        self.starts = [n for n, line in enumerate(self.lines) if line.strip() == "[[table]]"]

    def tables(self, document: Mapping[str, Any]) -> Iterator[FileTable]:
        tables = document.get("table")
        if not isinstance(tables, list) or not tables or set(document) != {"table"}:
            self.number = -1
            self.refuse("", "is not a file of printed figures", "write [[table]] for each table")
        for self.number, table in enumerate(tables):
            if not isinstance(table, Mapping):
                self.refuse("", "a table is not one", "write [[table]], and its keys below")
            yield self.table(table)

    def table(self, table: Mapping[str, Any]) -> FileTable:
        for key in table:
            if key not in KEYS:
                remedy = did_you_mean(key, KEYS, f"keys are {', '.join(KEYS)}")
                self.refuse(key, f"{key!r} is not a key of a printed table", remedy)
        for key in REQUIRED:
            if key not in table:
                self.refuse("", f"{key} is missing", f"add {key} = …")
        for key in TEXT_KEYS:
            if not isinstance(table.get(key, ""), str):
                self.refuse(key, f"{key} is not text", "put it in quotation marks")
        columns, rows = table["columns"], table["rows"]
        if not isinstance(columns, list) or not all(isinstance(each, str) for each in columns):
            self.refuse("columns", "columns is not a list of texts", 'write columns = ["…"]')
        if not isinstance(rows, list):
            self.refuse("rows", "rows is not a list", "write rows = [[…], […]]")
        for n, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != len(columns):
                wrong = f"row {n + 1} has not one value for each of {count(len(columns), 'column')}"
                self.refuse("rows", wrong, "write a value for each column; a dash is -", n)
        head = {key: table.get(key, "") for key in ("paper", "number", "split", "judge")}
        return FileTable(columns=tuple(columns), rows=tuple(map(tuple, rows)), **head)

    def refuse(self, key: str, wrong: str, remedy: str, row: int | None = None) -> NoReturn:
        raise InputError(Place(self.path, self.line(key, row)), wrong, remedy)

    def line(self, key: str, row: int | None) -> int | None:
        """Return the line of a table's key, or of a row if each row has a line of its own."""
        if not 0 <= self.number < len(self.starts):
            return None
        start = self.starts[self.number]
        ends = [*self.starts[self.number + 1 :], len(self.lines)]
        own = range(start, ends[0])
        at = next((n for n in own if re.match(rf"{key}\s*=", self.lines[n].strip())), start)
        if row is None or not key:
            return at + 1
        rows = [n for n in own if n > at and self.lines[n].strip().startswith("[")]
        return (rows[row] if row < len(rows) else at) + 1
