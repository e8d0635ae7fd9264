"""The declaration of a paper and its tables, the cells of a table, and printed figures.

A table is built from a study's `Material` as one or several grids: one for each evaluator or data
set. A cell is an estimate as reports have it, a text, or a count. A cell that cannot be filled is
an estimate without a value, whose reason names the missing campaign or judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """Rows of cells under columns; the last `apart` rows are set apart. `stub` heads the names."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    apart: int = 0
    stub: str = "System"

    def __post_init__(self) -> None:
        if any(len(cells) != len(self.columns) for _, cells in self.rows):
            raise ValueError(f"{self.caption}: a row must have as many cells as there are columns")


@dataclass(frozen=True)
class Printed:
    """A figure printed in the paper, for a row and a column of a table."""

    row: str
    column: str
    value: float


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper.

    `build` fills it from a study; `printed` are the paper's figures. `data_released` says whether
    the labels behind it were released. If not, it has been tested only on made-up studies.
    """

    key: str
    name: str
    about: str
    build: Callable[[Material], list[Grid]]
    printed: tuple[Printed, ...] = ()
    data_released: bool = True


@dataclass(frozen=True)
class Paper:
    """A paper with its tables in order. `not_filled` says what cannot be computed from labels."""

    name: str
    title: str
    citation: str
    tables: tuple[PaperTable, ...]
    not_filled: str


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
