"""The formats of the report: one module each, one line here. All are made of the same JSON."""

from __future__ import annotations

from analysis.formats import csvfile, htmlfile, jsonfile, latex, markdown
from analysis.formats.base import Format

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        jsonfile.JSON_FILE,
        markdown.FORMAT,
        csvfile.FORMAT,
        latex.FORMAT,
        htmlfile.HTML_FILE,
    )
}
