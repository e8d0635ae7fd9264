"""The declaration of a paper and its tables, and the cells of a table.

A table is built from a study's `Material` as one or several grids: one for each evaluator or data
set. A cell is an estimate as reports have it, a text, or a count. A cell that cannot be filled is
an estimate without a value, whose reason names the missing campaign or judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from string import Formatter
from typing import TYPE_CHECKING

from tandem.scores import of_family
from tandem.scores.options import TableOptions
from tandem.statistics import Estimate, undefined
from tandem.types import JSON

if TYPE_CHECKING:
    from analysis.papers.material import Material

Cell = JSON | str | int
PERCENT = 100.0


@dataclass(frozen=True)
class Column:
    """A column: its heading, the factor for its values in print, and their decimals."""

    name: str
    scale: float = 1.0
    digits: int = 3


def percent(name: str, digits: int = 1) -> Column:
    """Return a column of shares, printed in percent as the papers do."""
    return Column(name, PERCENT, digits)


@dataclass(frozen=True)
class Grid:
    """Rows of cells under columns; the last `apart` rows are set apart. `stub` heads the names.

    `by` is the evaluator whose labels the cells are made of, `data` the data set, and `split` the
    split of its queries; each is empty if it is not the same for all cells, or there is none.
    `settings` counts the retrieval settings or contexts that the cells summarise.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    apart: int = 0
    stub: str = "System"
    by: str = ""
    data: str = ""
    split: str = ""
    settings: int = 0

    def __post_init__(self) -> None:
        if any(len(cells) != len(self.columns) for _, cells in self.rows):
            raise ValueError(f"{self.caption}: a row must have as many cells as there are columns")


@dataclass(frozen=True)
class PrintedTable:
    """Where the figures of a printed table stand in one of ours.

    `number` is the printed table's. `row` is the name of our row, with columns of the printed one
    in braces. `rows` and `columns` give our names of rows and columns where they differ. `caption`
    is, with a column in braces, a word of our grid's caption. `set` names the column with the data
    set or split of a printed row. `factor` turns printed shares into percent. With `transposed`
    our rows are the printed columns. `data_in_row` and `data_in_columns` say that our rows begin
    with their data set, or that a column is one. `of_texts` says that no evaluator is involved.
    """

    number: str
    row: str = "{system}"
    columns: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
    captions: Mapping[str, str] = field(default_factory=dict)
    set: str = ""
    factor: float = 1.0
    transposed: bool = False
    data_in_row: bool = False
    data_in_columns: bool = False
    of_texts: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the printed table that name its rows."""
        found = [name for _, name, *_ in Formatter().parse(self.row + self.caption) if name]
        return tuple(filter(None, (*found, self.set)))

    def row_of(self, cells: Mapping[str, str]) -> str:
        """Return the name of our row for the cells of a printed one."""
        name = self.row.format_map(cells)
        return self.rows.get(name.replace("()", "").strip(), name)

    def about(self, cells: Mapping[str, str], caption: str) -> bool:
        """Return whether a printed row belongs into the grid of this caption."""
        word = self.caption.format_map(cells)
        return not word or self.captions.get(word, "\0") in caption


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper.

    `build` fills it from a study; `printed` says where the paper's figures stand in it.
    `data_released` says whether the labels behind it were released. If not, it has been tested only
    on made-up studies.
    """

    key: str
    name: str
    about: str
    build: Callable[[Material], list[Grid]]
    printed: tuple[PrintedTable, ...] = ()
    data_released: bool = True


WITHOUT = "without"
"""The option that every paper has: which campaigns are left out."""


@dataclass(frozen=True)
class Paper:
    """A paper with its tables in order. `not_filled` says what cannot be computed from labels.

    `families` are those of its tables' measures, and `more` the options that no measure reads.
    """

    name: str
    title: str
    citation: str
    tables: tuple[PaperTable, ...]
    not_filled: str
    families: tuple[str, ...]
    more: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that change its tables, in the order of their declaration."""
        read = {name for family in self.families for m in of_family(family) for name in m.options}
        return tuple(f.name for f in fields(TableOptions) if f.name in {*read, *self.more, WITHOUT})


def missing(reason: str) -> JSON:
    """Return an empty cell with the reason."""
    return undefined(reason, 0, "").as_json()


def as_cell(found: Estimate) -> JSON:
    return found.as_json()


def plain(value: float | None, n: int, method: str, reason: str = "") -> JSON:
    """Wrap a number without an interval as an estimate, for statistics that need none."""
    if value is None:
        return missing(reason)
    return Estimate(float(value), None, None, n, method).as_json()


def empty(caption: str, columns: Sequence[Column], reason: str, stub: str = "System") -> Grid:
    """Return the grid of a table that the study cannot fill, with the reason in its cells."""
    cells = tuple(missing(reason) for _ in columns)
    return Grid(caption, tuple(columns), (("none yet", cells),), stub=stub)
