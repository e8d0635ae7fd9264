"""The verdict as HTML: questions and answers, with numbers linked to their section or units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ..sections.sentence import HINTS
from ..types import JSON

Cells = list[list[str]]
Units = Callable[[str, str, Cells, str], str]
"""Returns the address of units by variable, judge, cells (people's code, the judge's) and list.

Without cells, the list says between whom labels differ, such as `people`. For the list `MORE` with
a number, as in more:6, it is the page on which so many more queries are labelled or loaded.
"""
MORE = "more:"
Anchors = Callable[[Sequence[str]], str]
"""Returns the name of a place's section in the report, empty if there is none."""
QUESTIONS = {
    "agreement": "Do the judges agree with people?",
    "replacement": "Could a judge replace a person?",
    "errors": "What do the judges get wrong?",
    "rankings": "Do the judges rank answers as people do?",
}
MOST_SENTENCES = 4
"""The number of judges shown under a question. Further ones are folded."""


@dataclass(frozen=True)
class VerdictSentence:
    """A sentence of the verdict with the variable and the judge that it is about."""

    sentence: JSON
    variable: str = ""
    judge: str = ""


def without_units(variable: str, judge: str, cells: Cells, show: str) -> str:
    return ""


def without_anchors(key: Sequence[str]) -> str:
    return ""


def verdict_html(
    report: JSON, anchors: Anchors = without_anchors, units: Units = without_units
) -> str:
    """Render the verdict, one variable after the other. Empty if the report has none."""
    found = report.get("verdict")
    if not found:
        return ""
    several = len(found["variables"]) > 1
    blocks = [
        _block(name if several else "", _of_variable(of, name), anchors, units)
        for name, of in found["variables"].items()
    ]
    rankings = [row for of in found["scores"].values() for row in _of_score(of)]
    sample: Rows = []
    if first := found.get("sample"):
        sample = [(first["question"], [VerdictSentence(first)])]
    if several:
        blocks = [*([_block("", sample, anchors, units)] if sample else []), *blocks]
        blocks += [_block("Systems", rankings, anchors, units)] if rankings else []
    else:
        blocks = [_block("", [*sample, *_of_variables(found), *rankings], anchors, units)]
    return f'<section class="verdict" aria-label="Verdict">\n{"".join(blocks)}</section>\n'


Rows = list[tuple[str, list[VerdictSentence]]]
"""Questions with one sentence, or with one for each judge."""


def _of_variables(found: JSON) -> Rows:
    return [row for name, of in found["variables"].items() for row in _of_variable(of, name)]


def _of_variable(of: JSON, name: str) -> Rows:
    rows = [(of["people"]["question"], [VerdictSentence(of["people"], name)])]
    for what in dict.fromkeys(what for sentences in of["judges"].values() for what in sentences):
        said = [
            VerdictSentence(sentences[what], name, judge)
            for judge, sentences in of["judges"].items()
        ]
        rows.append((_question(said, what), said))
    among = of.get("among_judges", {}).values()
    return [*rows, *((each["question"], [VerdictSentence(each, name)]) for each in among)]


def _of_score(of: JSON) -> Rows:
    best = of.get("best")
    said = [VerdictSentence(each, "", judge) for judge, each in of["judges"].items()]
    rows = [(best["question"], [VerdictSentence(best)])] if best else []
    return [*rows, *([(_question(said, "rankings"), said)] if said else [])]


def _question(said: Sequence[VerdictSentence], what: str) -> str:
    only: str = said[0].sentence["question"]
    return only if len(said) == 1 else QUESTIONS.get(what, only)


def _block(title: str, rows: Rows, anchors: Anchors, units: Units) -> str:
    head = f"<h3><bdi>{escape(title)}</bdi></h3>\n" if title else ""
    body = "".join(_row(question, said, anchors, units) for question, said in rows)
    return f"{head}<dl>\n{body}</dl>\n"


def _row(question: str, said: Sequence[VerdictSentence], anchors: Anchors, units: Units) -> str:
    tones = {each.sentence["tone"] for each in said}
    tone = tones.pop() if len(tones) == 1 else "open"
    alike = _alike(said)
    lines = [_line(each, len(said) > 1, anchors, units) for each in alike]
    # Not paragraphs, since they cannot contain the hints.
    lines = [f"<div>{line}</div>" for line in lines]
    shown, rest = "".join(lines[:MOST_SENTENCES]), "".join(lines[MOST_SENTENCES:])
    more = (
        f"<details><summary>{len(lines) - MOST_SENTENCES} more</summary>{rest}</details>"
        if rest
        else ""
    )
    return f'<div class="{escape(tone)}"><dt>{escape(question)}</dt><dd>{shown}{more}</dd></div>\n'


def _alike(said: Sequence[VerdictSentence]) -> list[list[VerdictSentence]]:
    """Group equal sentences. One with links to units stays alone, as its units are one judge's."""
    groups: dict[str, list[VerdictSentence]] = {}
    for each in said:
        has_units = any("cells" in part for part in each.sentence["parts"])
        key = each.judge if has_units else f" {each.sentence['text']}"
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _line(of: Sequence[VerdictSentence], named: bool, anchors: Anchors, units: Units) -> str:
    name, said = "", of[0]
    if named:
        sign = '<span class="sign judge" aria-hidden="true"></span>'
        names = ", ".join(f"{sign}<bdi>{escape(each.judge)}</bdi>" for each in of)
        name = f'<span class="of-judge">{names}</span> '
    parts = "".join(_parts(said, anchors, units))
    answer = _answer(said.sentence)
    return f"{name}{answer}: {parts}" if parts else f"{name}{answer}"


def _answer(sentence: JSON) -> str:
    """Render the first words, with their bands in a hint for mouse or keyboard."""
    words = f"<strong>{escape(sentence['answer'])}</strong>"
    bands = HINTS.get(sentence.get("bands", ""))
    if not bands:
        return words
    rows = "".join(f"<li><b>{escape(name)}</b> {escape(when)}</li>" for name, when in bands)
    return (
        f'<details class="hint"><summary>{words}<span class="sr">: what the words mean</span>'
        f"</summary><ul>{rows}</ul></details>"
    )


def _parts(said: VerdictSentence, anchors: Anchors, units: Units) -> Iterator[str]:
    for part in said.sentence["parts"]:
        # Blanks and punctuation before the words are not part of the link.
        words = part["text"].lstrip(" ,;(")
        before, text = escape(part["text"][: -len(words) or None]), escape(words)
        text = text.replace(" %", "\N{NO-BREAK SPACE}%").replace("ε ", "ε\N{NO-BREAK SPACE}")
        after = ""
        if before.endswith("(") and text.endswith(")"):
            text, after = text[:-1], ")"
        target = ""
        if "more" in part:
            yield _button(text, units("", "", [], f"{MORE}{part['more']}"))
            continue
        if "cells" in part or "show" in part:
            target = units(said.variable, said.judge, part.get("cells", []), part.get("show", ""))
        if not target and (name := anchors(part.get("key", []))):
            target = f"#section-{name}"
        yield before + (f'<a href="{escape(target)}">{text}</a>' if target else text) + after


def _button(text: str, target: str) -> str:
    """Render what decides an open question: a button, or its words in a file without links."""
    words = text[:1].upper() + text[1:]
    if target:
        words = f'<a href="{escape(target)}" class="button small">{words}</a>'
    return f' <span class="decides">{words}</span>'
