"""The verdict as HTML: questions and answers, whose numbers lead to their section or units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape

from ..types import JSON

Cells = list[list[str]]
Units = Callable[[str, str, Cells], str]
"""From a variable, a judge and cells (people's code, the judge's) to the address of these units."""
Anchors = Mapping[tuple[str, str], int]
"""The numbers of sections by what they are about: a part of the report, and its member."""


def without_units(variable: str, judge: str, cells: Cells) -> str:
    return ""


def verdict_html(report: JSON, anchors: Anchors, units: Units = without_units) -> str:
    """Render the verdict, empty if the report has none; one variable after the other."""
    found = report.get("verdict")
    if not found:
        return ""
    several = len(found["variables"]) > 1
    blocks = "".join(
        _block(name if several else "", _of_variable(found, name), anchors, units)
        for name in found["variables"]
    )
    ranked = [("", "", each) for of in found["scores"].values() for each in of["judges"].values()]
    blocks += _block("Rankings" if several else "", ranked, anchors, units) if ranked else ""
    return f'<section class="verdict" aria-label="Verdict">\n{blocks}</section>\n'


def _of_variable(found: JSON, name: str) -> list[tuple[str, str, JSON]]:
    """Return the sentences of a variable, each with the variable and the judge it is about."""
    of = found["variables"][name]
    rows = [(name, "", of["people"])]
    for judge, told in of["judges"].items():
        rows += [(name, judge, sentence) for sentence in told.values()]
    return rows


def _block(
    title: str, sentences: list[tuple[str, str, JSON]], anchors: Anchors, units: Units
) -> str:
    head = f"<h3><bdi>{escape(title)}</bdi></h3>\n" if title else ""
    rows = "".join(
        f'<div class="{escape(each["tone"])}"><dt>{escape(each["question"])}</dt>'
        f"<dd>{_sentence(each, variable, judge, anchors, units)}</dd></div>\n"
        for variable, judge, each in sentences
    )
    return f"{head}<dl>\n{rows}</dl>\n"


def _sentence(sentence: JSON, variable: str, judge: str, anchors: Anchors, units: Units) -> str:
    parts = "".join(_parts(sentence, variable, judge, anchors, units))
    answer = f"<strong>{escape(sentence['answer'])}</strong>"
    return f"{answer}: {parts}" if parts else answer


def _parts(
    sentence: JSON, variable: str, judge: str, anchors: Anchors, units: Units
) -> Iterator[str]:
    for part in sentence["parts"]:
        key = part.get("key", [])
        # Blanks and punctuation before the words are no part of the link.
        words = part["text"].lstrip(" ,;")
        before, text = escape(part["text"][: -len(words) or None]), escape(words)
        target = units(variable, judge, part["cells"]) if "cells" in part else ""
        number = anchors.get((key[0], key[1])) if len(key) > 1 else None
        if not target and number:
            target = f"#section-{number}"
        yield before + (f'<a href="{escape(target)}">{text}</a>' if target else text)
