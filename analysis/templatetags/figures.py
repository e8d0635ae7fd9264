"""The figures of a report in templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from analysis.figures import FIGURES, Figure, Subject, subjects
from analysis.figures.files import FileKind, offered
from analysis.formats.document import Section, Table

register = template.Library()

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
