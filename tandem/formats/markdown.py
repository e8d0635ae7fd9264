"""The report as Markdown, for terminals, repositories and issues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..document import Block, Cell, Document, Format, Number, Section, Table
from ..sections.contents import document
from ..types import JSON

_ACTIVE = re.compile(r"[\\`*|<\[]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")


def as_markdown(report: JSON) -> str:
    """Return the report's numbers as tables, with intervals or the reasons why there are none."""
    return sections_as_markdown(document(report), "Agreement")


def sections_as_markdown(whole: Document, what: str) -> str:
    """Return a document's sections under its title."""
    parts = [f"# {what}: {escaped(whole.title)}", escaped(whole.about)]
    for section in whole.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return a text on one line, with all characters escaped that Markdown would interpret."""
    return _ACTIVE.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of escaped cells, padded so that it reads well in a terminal."""
    widths = [max(len(row[n]) for row in (header, *rows)) for n in range(len(header))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in (header, *rows)
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _section(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    if section.about:
        yield escaped(section.about)
    yield from map(escaped, section.paragraphs)
    if section.points:
        yield "\n".join(f"- {escaped(point)}" for point in section.points)
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if block.title:
        about = f" ({escaped(block.about)})" if block.about else ""
        yield f"### {escaped(block.title)}{about}"
    elif block.about:
        yield escaped(block.about)
    for each in block.tables:
        yield from _table(each)


def _table(of: Table) -> Iterator[str]:
    marks = of.reasons()
    yield f"**{escaped(of.caption)}**"
    yield table(
        [escaped(str(head)) for head in of.header],
        [[_cell(cell, marks) for cell in row] for row in of.rows],
    )
    if marks:
        yield "; ".join(f"({mark}) {escaped(reason)}" for reason, mark in marks.items())


def _cell(cell: Cell, marks: dict[str, str]) -> str:
    if not isinstance(cell, Number):
        return escaped(str(cell))
    undefined = cell.value is None and cell.reason
    return f"{cell} ({marks[cell.reason]})" if undefined else str(cell)


FORMAT = Format("md", "Markdown", "md", "text/markdown; charset=utf-8", as_markdown)
