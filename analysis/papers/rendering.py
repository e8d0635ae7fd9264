"""A paper's tables as a document, and the document as Markdown, LaTeX, HTML and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tandem.document import Block, Cell, Document, Format, Number, Section, Table, computed_by
from tandem.formats.html import as_json, page_html
from tandem.formats.latex import sections_as_latex
from tandem.formats.markdown import sections_as_markdown
from tandem.scores.options import format_value
from tandem.sections.contents import computed_at
from tandem.types import JSON

TITLE = "Tables"
PRINTED = "printed"
INTERIM, NOTES, NOT_FILLED = "Interim", "Notes", "Not filled"


def document(report: JSON) -> Document:
    """Return the tables as sections. The last one lists what cannot be computed.

    The first one names the campaigns whose figures are interim, if there are any.
    """
    sections = [
        *_points(INTERIM, report.get("interim")),
        *(
            Section(
                table["name"],
                (Block("", tuple(_table(grid) for grid in table["grids"])),),
                table["about"],
            )
            for table in report["tables"]
        ),
        *_points(NOTES, report["notes"]),
    ]
    sections.append(Section(NOT_FILLED, (), paragraphs=(report["not_filled"],)))
    about = " · ".join(
        (
            f"tables of {report['title']} ({report['citation']})",
            f"seed {report['seed']}",
            "intervals are 95 %",
            *(["printed figures are the paper's"] if report["published"] else []),
            *_options(report),
        )
    )
    origin = f"{computed_by(report)}, {computed_at(report)}"
    return Document(report["study"], about, origin, tuple(sections))


def _points(title: str, points: Sequence[str] | None) -> list[Section]:
    return [Section(title, (), points=tuple(points))] if points else []


def _options(report: JSON) -> Iterator[str]:
    """Yield the options that were changed, and then those that are the paper's."""
    changed, title = report["changed"], report["title"]
    if changed:
        yield f"chosen: {', '.join(f'{name}={value}' for name, value in changed.items())}"
    usual = {name: of["value"] for name, of in report["options"].items() if name not in changed}
    values = (f"{name}={format_value(value)}" for name, value in usual.items() if value != "")
    yield f"options of {title}: {', '.join(values)}"


def _table(grid: JSON) -> Table:
    """Return a grid; columns with printed figures have a column for these beside them."""
    columns = grid["columns"]
    printed = {(each["row"], each["column"]): each["value"] for each in grid["printed"]}
    beside = {column for _, column in printed}
    header: list[str] = [grid["stub"]]
    for column in columns:
        header.append(column["name"])
        header += [f"{column['name']}, {PRINTED}"] if column["name"] in beside else []
    rows = []
    for row in grid["rows"]:
        cells: list[Cell] = [row["name"]]
        for column, cell in zip(columns, row["cells"], strict=True):
            cells.append(_cell(cell, column))
            if column["name"] in beside:
                cells.append(_printed(printed.get((row["name"], column["name"])), column))
        rows.append(tuple(cells))
    return Table(grid["caption"], tuple(header), tuple(rows), grid["apart"])


def _printed(value: float | None, column: JSON) -> Cell:
    """Return a printed figure with all of its decimals."""
    if value is None:
        return ""
    decimals = f"{value:.6f}".rstrip("0").partition(".")[2]
    return Number(value, digits=max(column["digits"], len(decimals)))


def _cell(cell: Any, column: JSON) -> Cell:
    if not isinstance(cell, dict):
        return str(cell) if isinstance(cell, str) else int(cell)
    of: JSON = {**column, **cell}
    scale, digits = float(of["scale"]), int(of["digits"])
    value, low, high = (_scaled(cell[name], scale) for name in ("value", "low", "high"))
    no, yes = (_scaled(each, scale) for each in cell.get("bounds", (None, None)))
    return Number(
        value,
        low,
        high,
        cell["method"],
        cell.get("reason", ""),
        digits,
        judged=cell.get("judged"),
        bounds=(no, yes) if "bounds" in cell else None,
    )


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def as_markdown(report: JSON) -> str:
    return sections_as_markdown(document(report), TITLE)


def as_latex(report: JSON) -> str:
    """Return the tables for `\\input`; a comment at the end says what cannot be computed."""
    comment = report["not_filled"].encode("ascii", "backslashreplace").decode()
    return f"{sections_as_latex(document(report), TITLE)}% {comment}\n"


def as_html(report: JSON) -> str:
    return page_html(document(report), TITLE, report)


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("md", "Markdown", "md", "text/markdown; charset=utf-8", as_markdown),
        Format("latex", "LaTeX", "tex", "application/x-tex", as_latex),
        Format("html", "HTML", "html", "text/html; charset=utf-8", as_html),
        Format("json", "JSON", "json", "application/json", as_json),
    )
}
