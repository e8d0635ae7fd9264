"""The formats of the report: one module each, one line here. All are made of the same JSON."""

from __future__ import annotations

from analysis.formats import facts, html, latex, markdown
from analysis.formats.base import Format

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        html.JSON_FILE,
        markdown.FORMAT,
        facts.FORMAT,
        latex.FORMAT,
        html.HTML_FILE,
    )
}
