"""A figure as a file: SVG, PDF with embedded fonts, PNG, Vega-Lite, or its data as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Literal, Protocol

from tandem.files.spreadsheet import write_rows

from ..document import Cell, Number, Table, slug
from ..labels.selection import option_metadata
from ..types import JSON
from . import FIGURES, subjects
from .base import PAGE, Figure, Room, Subject
from .vega import as_vega, column

DOCUMENT = b"""\
#set page(width: auto, height: auto, margin: 0pt)
#set document(title: sys.inputs.title, date: none)
#image(bytes(sys.inputs.svg), format: "svg", alt: sys.inputs.title)
"""
"""The title and the drawing are passed as data, so they cannot be executed."""
DOTS_PER_INCH = 300
BY_TYPST = ("pdf", "png")


def can_make_pdf() -> bool:
    """Return whether the package that converts SVG to PDF and PNG is installed."""
    return find_spec("typst") is not None


def as_pdf(svg: str, title: str) -> bytes:
    """Return a drawing as PDF. Raises ImportError if `typst` is not installed."""
    import typst

    made: bytes = typst.compile(DOCUMENT, sys_inputs={"svg": svg, "title": title}, format="pdf")
    return made


def as_png(svg: str, title: str) -> bytes:
    """Return a drawing as PNG for print. Raises ImportError if `typst` is not installed."""
    import typst

    inputs = {"svg": svg, "title": title}
    made: bytes = typst.compile(DOCUMENT, sys_inputs=inputs, format="png", ppi=float(DOTS_PER_INCH))
    return made


@dataclass(frozen=True)
class Paper:
    """A width in print: its label, its millimetres, and the room for a drawing at this width."""

    label: str
    millimetres: float | None
    room: Room


PIXELS = 96 / 25.4
TYPE = 0.9
"""The factor from type on a page to type in print, which has 7 to 9 points."""
PAGE_OF_A_PAPER = 1000


def _paper(label: str, millimetres: float) -> Paper:
    return Paper(label, millimetres, Room(round(millimetres * PIXELS / TYPE, 1), PAGE_OF_A_PAPER))


PAPERS: dict[str, Paper] = {
    "page": Paper("as on the page", None, PAGE),
    "column": _paper("a column, 84 mm", 84),
    "text": _paper("the whole text, 174 mm", 174),
}
TONES = {"colour": "in colour", "black": "black and white"}


@dataclass(frozen=True)
class Look:
    """The look of a figure's file, declared once for form, API, command and docs."""

    tone: Literal["colour", "black"] = field(
        default="colour",
        metadata=option_metadata(
            "colours, or black and white, distinguished by mark and dash",
            label="Colours",
            values=TONES,
        ),
    )
    paper: Literal["page", "column", "text"] = field(
        default="page",
        metadata=option_metadata(
            "the width: as on the page, a column (84 mm) or the whole text (174 mm) of a paper, "
            "with type of 7 to 9 points",
            label="Width",
            values={name: paper.label for name, paper in PAPERS.items()},
        ),
    )


AS_SHOWN = Look()


class FigureError(ValueError):
    """A figure cannot be written as such a file. The text says why."""


class NoFigureError(FigureError):
    """A figure does not exist, or the report has no data for it."""


class Render(Protocol):
    """Writes a figure of a subject as a file."""

    def __call__(self, figure: Figure, subject: Subject, look: Look = AS_SHOWN) -> bytes: ...


@dataclass(frozen=True)
class FileKind:
    """A kind of file for figures: its label, its suffix, its media type.

    A kind that another program draws is `slow`: on a site, a job writes it. A kind that is `drawn`
    has a look.
    """

    label: str
    suffix: str
    media_type: str
    render: Render
    slow: bool = False
    drawn: bool = True


@dataclass(frozen=True)
class FigureFile:
    """A figure as a file: its content, a name without a suffix, and its kind."""

    content: bytes
    name: str
    kind: FileKind


def figure_file(
    report: JSON, name: str, suffix: str, of: str = "", look: Look = AS_SHOWN
) -> FigureFile:
    """Return a figure of a report, or of the report of measures, as a file.

    `of` names the variable, score or measure that it shows; without it, it is the first one that
    the figure suits. Raises FigureError.
    """
    figure, kind, subject = figure_of(report, name, suffix, of, look)
    parts = [figure.name, slug(subject.name)]
    parts += [value for value in (look.paper, look.tone) if value not in ("page", "colour")]
    return FigureFile(kind.render(figure, subject, look), "-".join(parts), kind)


def figure_of(
    report: JSON, name: str, suffix: str, of: str, look: Look
) -> tuple[Figure, FileKind, Subject]:
    """Return the figure, its subject and the kind of file.

    Raises FigureError if the report has no such figure.
    """
    figure, kind = FIGURES.get(name), FILES.get(suffix)
    if figure is None:
        raise NoFigureError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    if kind is None or kind not in available_kinds():
        there = ", ".join(each.suffix for each in available_kinds())
        raise NoFigureError(f"figures are not available as {suffix} here, only as {there}")
    if look != AS_SHOWN and not kind.drawn:
        raise FigureError(f"{kind.label} has no colours and no width; ask for SVG, PDF or PNG")
    found = list(subjects(report, figure))
    subject = next((each for each in found if of in ("", each.name)), None)
    if subject is None:
        there = f"; it shows {', '.join(each.name for each in found)}" if found else ""
        which = f" of {of!r}" if of else ""
        raise NoFigureError(f"this report has no data for the figure {name!r}{which}{there}")
    return figure, kind, subject


def _draw(figure: Figure, subject: Subject, look: Look) -> tuple[str, str]:
    """Return the drawing as SVG, and its title."""
    paper = PAPERS[look.paper]
    drawing = figure.draw(subject, paper.room)
    if paper.room.width is not None:
        if drawing.width > paper.room.width + 0.5:
            raise FigureError(
                f"{figure.title} of {subject.name} does not fit {paper.label} in type of 7 points; "
                "take a wider one, or fewer raters"
            )
        drawing = replace(drawing, width=paper.room.width)
    return drawing.file(look.tone == "black", paper.millimetres), drawing.title


def svg_file(figure: Figure, subject: Subject, look: Look = AS_SHOWN) -> bytes:
    return _draw(figure, subject, look)[0].encode()


def pdf_file(figure: Figure, subject: Subject, look: Look = AS_SHOWN) -> bytes:
    return as_pdf(*_draw(figure, subject, look))


def png_file(figure: Figure, subject: Subject, look: Look = AS_SHOWN) -> bytes:
    return as_png(*_draw(figure, subject, look))


def vega_file(figure: Figure, subject: Subject, look: Look = AS_SHOWN) -> bytes:
    return as_vega(figure.data(subject), figure.chart(subject), figure.caption_of(subject)).encode()


def csv_file(figure: Figure, subject: Subject, look: Look = AS_SHOWN) -> bytes:
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
        FileKind("Vega-Lite", "json", "application/json", vega_file, drawn=False),
        FileKind("CSV", "csv", "text/csv; charset=utf-8", csv_file, drawn=False),
    )
}


def available_kinds() -> list[FileKind]:
    """Return the kinds available here: PDF and PNG need a package that may not be installed."""
    return [each for each in FILES.values() if each.suffix not in BY_TYPST or can_make_pdf()]
