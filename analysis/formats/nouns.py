"""The task's own noun in place of *unit*: questions, passages, key points, where there is one.

The sections say *unit*, as a labels file of any task needs it. A campaign's report has the noun of
each variable (`noun`), and pages and prints show that one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..document import Block, Cell, CountedText, Document, Number, Section, Table
from ..types import JSON

UNIT = ("unit", "units")
HEADS = {"unit", "units", "raters per unit"}
"""Heads of columns that are words of ours; others may be categories of the task."""
# Not a part of a name such as unit-7 or my.unit.
_UNIT = re.compile(r"(?<![\w./#-])units?(?![\w/#-])", re.IGNORECASE)
Noun = Sequence[str]


def noun_of(variable: JSON) -> Noun:
    """Return what the units of a variable are called, one and several."""
    noun: Noun = variable.get("noun", UNIT)
    return noun


def common_noun(report: JSON) -> Noun:
    """Return the noun that all variables of a report have in common, or *unit*."""
    nouns = {tuple(noun_of(variable)) for variable in report["variables"].values()}
    return nouns.pop() if len(nouns) == 1 else UNIT


def in_noun(text: str, noun: Noun) -> str:
    """Return a text of ours with a noun in place of *unit*; counts in it are kept."""

    def other(found: re.Match[str]) -> str:
        word = noun[1 if found[0].lower() == UNIT[1] else 0]
        return word[:1].upper() + word[1:] if found[0][0].isupper() else word

    made = _UNIT.sub(other, text)
    if isinstance(text, CountedText):
        return CountedText.of(made, *((_UNIT.sub(other, words), of) for words, of in text.counts))
    return made


def table_in_noun(table: Table, noun: Noun) -> Table:
    """Return a table whose caption, heads and reasons have the noun; names and words are kept."""
    header = tuple(
        in_noun(head, noun) if isinstance(head, str) and head.lower() in HEADS else head
        for head in table.header
    )
    rows = tuple(tuple(_cell(cell, noun) for cell in row) for row in table.rows)
    return replace(table, caption=in_noun(table.caption, noun), header=header, rows=rows)


def _cell(cell: Cell, noun: Noun) -> Cell:
    if not isinstance(cell, Number):
        return cell
    return replace(cell, method=in_noun(cell.method, noun), reason=in_noun(cell.reason, noun))


def block_in_noun(block: Block, noun: Noun) -> Block:
    tables = tuple(table_in_noun(table, noun) for table in block.tables)
    about = in_noun(block.about, noun)
    return replace(block, title=in_noun(block.title, noun), about=about, tables=tables)


def document_in_noun(shown: Document, noun: Noun) -> Document:
    """Return a document with a noun in place of *unit*."""
    if tuple(noun) == UNIT:
        return shown
    return replace(shown, sections=tuple(_section(each, noun) for each in shown.sections))


def _section(section: Section, noun: Noun) -> Section:
    return replace(
        section,
        about=in_noun(section.about, noun),
        paragraphs=tuple(in_noun(each, noun) for each in section.paragraphs),
        points=tuple(in_noun(each, noun) for each in section.points),
        blocks=tuple(block_in_noun(block, noun) for block in section.blocks),
    )
