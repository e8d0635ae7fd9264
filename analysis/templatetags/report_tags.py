"""Template tags for the tables and figures of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from analysis.figures import FIGURES, Figure, Subject, subjects
from analysis.figures.files import FileKind, offered
from analysis.formats.base import Cell, Number, Section, Table, Who

register = template.Library()

FEW, MANY = 3, 5
"""Up to so few columns fit a telephone; from so many on, intervals stand under their numbers."""


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, and its cells, each with its column's name."""

    name: Cell
    cells: list[tuple[str, bool, Cell]]
    apart: bool


@register.filter
def heads(table: Table) -> list[tuple[str | Who, bool]]:
    """The names of the columns, and whether they hold numbers."""
    return [(name, table.is_numeric(n)) for n, name in enumerate(table.header)]


@register.filter
def rows(table: Table) -> Iterator[Row]:
    """The rows, each cell with the name of its column for pages too narrow for a header."""
    columns = heads(table)[1:]
    last = len(table.rows) - table.apart
    for n, (name, *values) in enumerate(table.rows):
        cells = [
            (str(name), is_numeric, value)
            for (name, is_numeric), value in zip(columns, values, strict=True)
        ]
        yield Row(name, cells, n >= last)


@register.filter
def width(table: Table) -> str:
    """The class of a table's frame that says how many columns it has, after a blank."""
    columns = len(table.header)
    return " slim" if columns <= FEW else " wide" if columns >= MANY else ""


@register.filter
def cell(value: Cell) -> SafeString:
    """A cell: a name with its sign, a number with its interval, or a dash that says why."""
    if isinstance(value, Number):
        return _number(value)
    if isinstance(value, Who):
        return format_html("{}{}", sign(value.kind), value.name)
    return format_html("{}", value)


def _number(value: Number) -> SafeString:
    rated = format_html(' <span class="sub">{}</span>', value.rated) if value.rated else ""
    if value.value is None:
        return format_html(
            '<span class="undefined">{}<span class="why"> {}</span></span>{}',
            value.text, value.reason, rated,
        )  # fmt: skip
    above = _above(value)
    if value.ends is None:
        return format_html("<span{}>{}{}</span>{}", _method(value), value.text, above, rated)
    interval = format_html('<span class="interval">[{}, {}]</span>', *value.ends)
    whole = format_html("{}{} {}", value.text, above, interval)
    return format_html("<span{}>{}</span>{}", _method(value), whole, rated)


def _above(value: Number) -> SafeString:
    if not value.above:
        return SafeString("")
    return format_html(
        '<sup class="above"><span class="sr">, significantly higher than </span>{}</sup>',
        " ".join(value.above),
    )


def _method(value: Number) -> SafeString:
    return format_html(' title="{}"', value.method) if value.method else SafeString("")


@register.filter
def sign(kind: str) -> SafeString:
    """The sign of a kind of rater: people round, judges square, references a diamond."""
    if not kind:
        return SafeString("")
    return format_html(
        '<span class="sign {}" aria-hidden="true"></span>', "person" if kind == "human" else kind
    )


MOST_ROWS = 300
"""A page shows so many rows of a figure's data; the file has all."""


@dataclass(frozen=True)
class Drawn:
    """A figure on a page: the drawing, the first rows of its data, and how many are left."""

    figure: Figure
    subject: Subject
    anchor: str
    svg: SafeString
    data: Table
    rest: int
    files: list[FileKind]


@register.filter
def figures(report: dict[str, Any], section: Section) -> Iterator[Drawn]:
    """The figures that belong to a section of the report."""
    for figure in FIGURES.values():
        if figure.part == section.part:
            for n, subject in enumerate(subjects(report, figure)):
                if subject.name == section.subject:
                    yield _drawn(figure, subject, f"figure-{figure.name}-{n + 1}")


def _drawn(figure: Figure, subject: Subject, anchor: str) -> Drawn:
    data = figure.data(subject)
    rest = max(0, len(data.rows) - MOST_ROWS)
    shown = replace(data, rows=data.rows[:MOST_ROWS])
    # The drawing escapes every name that it holds.
    svg = mark_safe(figure.draw(subject).inline())
    return Drawn(figure, subject, anchor, svg, shown, rest, offered())
