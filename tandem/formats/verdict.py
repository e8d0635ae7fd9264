"""The verdict as HTML: questions and answers, with numbers linked to their section or units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from ..figures.base import judge_css
from ..sections.sentence import HINTS, QUESTIONS
from ..sections.verdict import WHOLE
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
MOST_COLUMNS = 4
"""With more judges, their columns scroll sideways in a frame."""


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


@dataclass(frozen=True)
class Row:
    """A question with its sentences: one about all raters, or one about each of some judges.

    The answer to a `further` one can wait until after those about each judge.
    """

    question: str
    said: Sequence[VerdictSentence]
    further: bool = False

    @property
    def judges(self) -> list[str]:
        return [each.judge for each in self.said if each.judge]


def verdict_html(
    report: JSON,
    anchors: Anchors = without_anchors,
    units: Units = without_units,
    beside: str = "",
) -> str:
    """Render the verdict, one variable after the other. Empty if the report has none.

    From two judges on, questions about judges are the rows of a table with a column for each.
    `beside` is HTML for the space beside the first variable's answers.
    """
    found = report.get("verdict")
    if not found:
        return ""
    whole = [
        Row(found[key]["question"], [VerdictSentence(found[key])]) for key in WHOLE if key in found
    ]
    variables = {name: _of_variable(of, name) for name, of in found["variables"].items()}
    rankings = [row for of in found["scores"].values() for row in _of_score(of)]
    if len(variables) > 1:
        groups = [("", whole), *variables.items(), ("Systems", rankings)]
    else:
        groups = [("", [*whole, *(row for rows in variables.values() for row in rows), *rankings])]
    looks = _looks(report)
    first = next((title for title, rows in groups if any(map(_is_of_variable, rows))), None)
    blocks = [
        _block(title, rows, anchors, units, beside if title == first else "", looks)
        for title, rows in groups
        if rows
    ]
    return f'<section class="verdict" aria-label="Verdict">\n{"".join(blocks)}</section>\n'


def _looks(report: JSON) -> dict[str, str]:
    """Return the style of each judge's sign, which is that of its marks in figures."""
    judges = [each["name"] for each in report.get("raters", ()) if each["kind"] == "judge"]
    return {name: judge_css(number) for number, name in enumerate(judges)}


def _is_of_variable(row: Row) -> bool:
    return any(each.variable for each in row.said)


def _of_variable(of: JSON, name: str) -> list[Row]:
    rows = [Row(of["people"]["question"], [VerdictSentence(of["people"], name)])]
    for what in dict.fromkeys(what for sentences in of["judges"].values() for what in sentences):
        said = [
            VerdictSentence(sentences[what], name, judge)
            for judge, sentences in of["judges"].items()
        ]
        rows.append(Row(_question(said, what), said))
    among = of.get("among_judges", {}).items()
    return [
        *rows,
        *(
            Row(each["question"], [VerdictSentence(each, name)], what == "errors")
            for what, each in among
        ),
    ]


def _of_score(of: JSON) -> list[Row]:
    best = of.get("best")
    said = [VerdictSentence(each, "", judge) for judge, each in of["judges"].items()]
    rows = [Row(best["question"], [VerdictSentence(best)])] if best else []
    return [*rows, *([Row(_question(said, "rankings"), said)] if said else [])]


def _question(said: Sequence[VerdictSentence], what: str) -> str:
    only: str = said[0].sentence["question"]
    return only if len(said) == 1 else QUESTIONS.get(what, (only, only))[1]


def _block(
    title: str,
    rows: Sequence[Row],
    anchors: Anchors,
    units: Units,
    beside: str,
    looks: Mapping[str, str],
) -> str:
    head = f"<h3><bdi>{escape(title)}</bdi></h3>\n" if title else ""
    judges = list(dict.fromkeys(judge for row in rows for judge in row.judges))
    compared = [row for row in rows if row.judges] if len(judges) > 1 else []
    further = [row for row in rows if row.further and compared]
    first = [row for row in rows if row not in compared and row not in further]
    answers = _list(first, anchors, units)
    if beside:
        answers = f'<div class="with-axis">\n{answers}{beside}</div>\n'
    heads = {judge: _sign(judge, looks.get(judge, "judge")) for judge in judges}
    by_judge = _by_judge(heads, compared, anchors, units) if compared else ""
    return head + answers + by_judge + _list(further, anchors, units)


def _list(rows: Sequence[Row], anchors: Anchors, units: Units) -> str:
    """Render questions with one sentence each; empty without any."""
    answered = "".join(_answered(row, anchors, units) for row in rows)
    return f"<dl>\n{answered}</dl>\n" if answered else ""


def _answered(row: Row, anchors: Anchors, units: Units) -> str:
    """Render a question with the sentence that answers it."""
    said = row.said[0]
    answer, parts = _answer(said.sentence), "".join(_parts(said, anchors, units))
    # A hint cannot be inside a paragraph.
    line = f"{answer}: {parts}" if parts else answer
    return (
        f'<div class="{escape(said.sentence["tone"])}"><dt>{escape(row.question)}</dt>'
        f"<dd>{line}</dd></div>\n"
    )


def _by_judge(heads: Mapping[str, str], rows: Sequence[Row], anchors: Anchors, units: Units) -> str:
    """Render questions as the rows of a table with a column for each judge under its head."""
    judges = list(heads)
    head = "".join(f'<th scope="col">{each}</th>' for each in heads.values())
    body = "".join(
        f'<tr><th scope="row">{escape(row.question)}</th>'
        f"{''.join(_cells(row, judges, anchors, units))}</tr>\n"
        for row in rows
    )
    # A scrolling frame has to be reachable by keyboard.
    many = len(judges) > MOST_COLUMNS
    frame = ' many" role="group" aria-label="Verdict on each judge" tabindex="0' if many else ""
    return (
        f'<div class="by-judge{frame}"><table>\n'
        f"<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def _sign(name: str, look: str) -> str:
    return f'<span class="sign {look}" aria-hidden="true"></span><bdi>{escape(name)}</bdi>'


def _cells(row: Row, judges: Sequence[str], anchors: Anchors, units: Units) -> Iterator[str]:
    """Yield a row's cells. Neighbours with the same sentence share a cell."""
    said = {each.judge: each for each in row.said}
    for _, group in groupby(judges, lambda judge: _alike(said.get(judge), judge)):
        of = list(group)
        span = f' colspan="{len(of)}"' if len(of) > 1 else ""
        named = f' data-label="{escape(", ".join(of))}"'
        if (found := said.get(of[0])) is None:
            yield f"<td{span}{named}>–</td>"
            continue
        parts = "".join(_parts(found, anchors, units))
        detail = f'<div class="detail">{parts}</div>' if parts else ""
        tone = escape(found.sentence["tone"])
        yield f'<td class="{tone}"{span}{named}>{_answer(found.sentence)}{detail}</td>'


def _alike(said: VerdictSentence | None, judge: str) -> str:
    """Return a key that is equal for equal sentences.

    One with links to units stays alone, as its units are one judge's.
    """
    if said is None:
        return ""
    if any("cells" in part for part in said.sentence["parts"]):
        return judge
    return f" {said.sentence['text']}"


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
