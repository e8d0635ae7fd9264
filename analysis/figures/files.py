"""A figure as a file: SVG, PDF with embedded fonts, PNG, Vega-Lite, or its data as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from annotation.spreadsheet import write_rows

from ..document import Cell, Number, Table
from .base import Figure, Subject
from .vega import as_vega, column

PAGE = b"""\
#set page(width: auto, height: auto, margin: 0pt)
#set document(title: sys.inputs.title, date: none)
#image(bytes(sys.inputs.svg), format: "svg", alt: sys.inputs.title)
"""
"""The title and the drawing are passed as data, so that nothing in them is executed."""
DOTS_PER_INCH = 300
BY_TYPST = ("pdf", "png")


def can_make_pdf() -> bool:
    """Return whether the package that converts SVG to PDF and PNG is installed."""
    return find_spec("typst") is not None


def as_pdf(svg: str, title: str) -> bytes:
    """Return a drawing as PDF. Raises ImportError if `typst` is not installed."""
    import typst

    made: bytes = typst.compile(PAGE, sys_inputs={"svg": svg, "title": title}, format="pdf")
    return made


def as_png(svg: str, title: str) -> bytes:
    """Return a drawing as PNG for print. Raises ImportError if `typst` is not installed."""
    import typst

    inputs = {"svg": svg, "title": title}
    made: bytes = typst.compile(PAGE, sys_inputs=inputs, format="png", ppi=float(DOTS_PER_INCH))
    return made


@dataclass(frozen=True)
class FileKind:
    """A kind of file for figures: its label, its suffix, its media type.

    One that another program draws is `slow`: on a site a job writes it.
    """

    label: str
    suffix: str
    media_type: str
    render: Callable[[Figure, Subject], bytes]
    slow: bool = False


def svg_file(figure: Figure, subject: Subject) -> bytes:
    return figure.draw(subject).file().encode()


def pdf_file(figure: Figure, subject: Subject) -> bytes:
    drawing = figure.draw(subject)
    return as_pdf(drawing.file(), drawing.title)


def png_file(figure: Figure, subject: Subject) -> bytes:
    drawing = figure.draw(subject)
    return as_png(drawing.file(), drawing.title)


def vega_file(figure: Figure, subject: Subject) -> bytes:
    return as_vega(figure.data(subject), figure.chart(subject), figure.caption).encode()


def csv_file(figure: Figure, subject: Subject) -> bytes:
    """Return the data in full precision; a missing number has its reason in the last column."""
    table = figure.data(subject)
    columns = list(dict.fromkeys(name for row in table.rows for name in _cells(table, row)))
    return "".join(write_rows(columns, (dict(_pairs(table, row)) for row in table.rows))).encode()


def _cells(table: Table, row: tuple[Cell, ...]) -> list[str]:
    return [name for name, _ in _pairs(table, row)]


def _pairs(table: Table, row: tuple[Cell, ...]) -> Iterator[tuple[str, object]]:
    """Yield a column for each number, both ends of its interval, and the reason if missing."""
    for head, value in zip(table.header, row, strict=True):
        name = column(str(head))
        if isinstance(value, Number):
            yield name, value.value
            yield f"{name}_low", value.low
            yield f"{name}_high", value.high
            yield f"{name}_reason", value.reason if value.value is None else None
        else:
            yield name, value if isinstance(value, int) else str(value)


FILES: dict[str, FileKind] = {
    each.suffix: each
    for each in (
        FileKind("SVG", "svg", "image/svg+xml", svg_file),
        FileKind("PDF", "pdf", "application/pdf", pdf_file, slow=True),
        FileKind("PNG", "png", "image/png", png_file, slow=True),
        FileKind("Vega-Lite", "json", "application/json", vega_file),
        FileKind("CSV", "csv", "text/csv; charset=utf-8", csv_file),
    )
}


def available_kinds() -> list[FileKind]:
    """Return the kinds available here: PDF and PNG need a package that may not be installed."""
    return [each for each in FILES.values() if each.suffix not in BY_TYPST or can_make_pdf()]
