"""The whole report in one file: HTML without scripts or links, or JSON in full precision.

The HTML file is the page's own content in a frame of its own, with the site's style sheets inside.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from analysis.formats.base import JSON, Format
from analysis.formats.build import document

SHEETS = ("css/tandem.css", "css/pages.css", "css/report.css", "css/figures.css")


def as_html(report: JSON) -> str:
    """A whole document; light, dark and print follow the reader's device."""
    context = {"report": report, "document": document(report), "style": style()}
    return render_to_string("reports/file.html", context)


@cache
def style() -> SafeString:
    """The site's style sheets in one, but for the lines that would fetch an image."""
    texts = [Path(str(finders.find(sheet))).read_text("utf-8") for sheet in SHEETS]
    lines = [line for text in texts for line in text.splitlines() if "url(" not in line]
    # They are our own files and hold no `</style`.
    return mark_safe("\n".join(lines))


HTML_FILE = Format("html", "HTML", "html", "text/html; charset=utf-8", as_html)


def as_json(report: JSON) -> str:
    """The report as `formats` describes it; no NaN, no Infinity."""
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


JSON_FILE = Format("json", "JSON", "json", "application/json", as_json)
