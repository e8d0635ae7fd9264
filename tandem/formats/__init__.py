"""The formats of the report, each written from its JSON.

`html`, `latex` and `markdown` print its document (`tandem.sections.contents`), `verdict` is its
first part on pages, and `facts` lists every number as CSV. `FORMATS` is the registry.
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
