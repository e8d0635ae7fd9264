"""The report of `tandem trust check` in the formats of a report."""

from __future__ import annotations

from dataclasses import replace

from ..document import Format
from ..sections.check import TITLE, check_document
from ..types import JSON
from . import facts, html, latex, markdown


def as_markdown(report: JSON) -> str:
    """Return each judge's cuts as tables."""
    return markdown.sections_as_markdown(check_document(report), TITLE)


def as_latex(report: JSON) -> str:
    """Return each judge's cuts as tables for a paper."""
    return latex.sections_as_latex(check_document(report), TITLE)


def as_html(report: JSON) -> str:
    """Render the check as a whole document."""
    return html.page_html(check_document(report), TITLE, report)


CHECK_FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        replace(markdown.FORMAT, render=as_markdown),
        html.JSON_FILE,
        facts.FORMAT,
        replace(latex.FORMAT, render=as_latex),
        replace(html.HTML_FILE, render=as_html),
    )
}
