"""The registry of the report's formats: one module and one line for each, all from its JSON.

`build` turns the JSON into a document of sections, tables and cells (`base`), with the help of
`sections`, `people_sections` and `methods`; the other modules write it.
"""

from __future__ import annotations

from ..document import Format
from . import facts, html, latex, markdown

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
