"""The formats of the report, each written from its JSON.

`build` turns the JSON into a document of sections, tables and cells (`tandem.document`), using
the section modules and `methods`, which cites the works in `citations`. `html`, `latex` and
`markdown` print the document, and `facts` lists every number as CSV. `FORMATS` is the registry.
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
