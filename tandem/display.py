"""How results look in a notebook and leave it: as HTML, as a frame, as LaTeX, and as a figure.

Every result is a block of the report's JSON. `Result` shows its most important numbers as one
table, and gives every number of the block as a frame, with the rows of `tandem.formats.facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tandem.dataframes import Kind, frame_of_rows
from tandem.document import Block, Document, Section, Table
from tandem.figures.files import AS_SHOWN, Look, NoFigureError, available_kinds, figure_file
from tandem.formats.facts import COLUMNS, facts
from tandem.formats.html import table_html
from tandem.formats.latex import sections_as_latex
from tandem.types import JSON
from tandem.version import VERSION

NUMBERS: Mapping[str, type] = {"value": float, "low": float, "high": float, "n": float}


class Result:
    """A result: a block of the report's JSON, with a table of its most important numbers."""

    def _table(self) -> Table:
        raise NotImplementedError

    def _report(self) -> JSON:
        """Return the block within a report's JSON, in which `facts` finds its numbers."""
        raise NotImplementedError

    def to_frame(self, kind: Kind | None = None) -> Any:
        """Return every number as a row: where it is, its value, interval, n, method and reason.

        The frame is of pandas if that is installed, else of pyarrow; `kind` chooses `pandas`,
        `polars` or `arrow`. Its columns are those of the report's CSV. Raises ValueError for
        another kind, and ImportError if the package is not installed.
        """
        columns = {name: NUMBERS.get(name, str) for name in COLUMNS}
        return frame_of_rows(facts(self._report()), columns, kind)

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return the tables as LaTeX, for \\input, and write them to a file if there is a path."""
        made = self._latex()
        if path is not None:
            Path(path).write_text(made, "utf-8")
        return made

    def _latex(self) -> str:
        table = self._table()
        section = Section(table.caption, (Block("", (table,)),))
        return sections_as_latex(
            Document(table.caption, "", f"Tandem {VERSION}", (section,)), "Result"
        )

    def _repr_html_(self) -> str:
        return table_html(self._table())


class Figure:
    """A figure of a report: an SVG, which a notebook shows, and other files of it.

    `name` is the figure's, and `svg` its drawing. `vega` is the same as Vega-Lite, with the data.
    """

    def __init__(self, report: JSON, name: str, of: str = "", look: Look = AS_SHOWN) -> None:
        self._report, self._of, self._look = report, of, look
        self.name = name
        self.svg = self._file("svg", look).decode()

    @property
    def vega(self) -> JSON:
        import json

        made: JSON = json.loads(self._file("json"))
        return made

    def save(self, path: str | Path) -> Path:
        """Write the figure as SVG, PDF, PNG, Vega-Lite (`.json`) or CSV, by the file's suffix.

        PDF and PNG need the package `typst`. Raises FigureError, and OSError.
        """
        suffix = Path(path).suffix.removeprefix(".")
        drawn = any(each.suffix == suffix and each.drawn for each in available_kinds())
        Path(path).write_bytes(self._file(suffix, self._look if drawn else AS_SHOWN))
        return Path(path)

    def _file(self, suffix: str, look: Look = AS_SHOWN) -> bytes:
        return figure_file(self._report, self.name, suffix, self._of, look).content

    def _repr_svg_(self) -> str:
        return self.svg[self.svg.index("<svg") :]

    def __repr__(self) -> str:
        of = f" of {self._of!r}" if self._of else ""
        return f"Figure({self.name!r}{of})"


def figures_of(report: JSON) -> Iterator[tuple[str, list[str]]]:
    """Yield the figures that a report has data for, each with the names of what it can show."""
    from tandem.figures import FIGURES, subjects

    for name, figure in FIGURES.items():
        if found := [each.name for each in subjects(report, figure)]:
            yield name, found


__all__ = ["Figure", "NoFigureError", "Result", "figures_of"]
