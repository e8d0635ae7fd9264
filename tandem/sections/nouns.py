"""The task's own noun in a document, such as questions, passages or key points.

Our texts have slots for it (`document.UNIT` and others), which are filled here. Statistics do not
know the task, so their methods and reasons say *unit*; these phrases are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..document import (
    PLAIN,
    UNIT,
    UNITS,
    Block,
    Cell,
    Document,
    Number,
    Section,
    Table,
    in_noun,
    with_counts,
)
from ..statistics.pairwise import LEAST_SHARED
from ..types import JSON

PHRASES = (
    "no unit ",
    "every unit ",
    "such a unit",
    "share a unit",
    "two units have both",
    "these units",
    "the units of each label",
    "shared units",
    "averaged over units",
    "equally many units",
    f"{LEAST_SHARED} units",
)
"""Phrases with *unit* in methods and reasons. A test checks that the list is complete."""


_SLOTTED = {each: each.replace("units", UNITS).replace("unit", UNIT) for each in PHRASES}


Noun = Sequence[str]


def noun_of(variable: JSON) -> Noun:
    """Return the name of a variable's units, in singular and plural."""
    noun: Noun = variable.get("noun", PLAIN)
    return noun


def common_noun(report: JSON) -> Noun:
    """Return the noun common to all variables of a report, or *unit*."""
    nouns = {tuple(noun_of(variable)) for variable in report["variables"].values()}
    return nouns.pop() if len(nouns) == 1 else PLAIN


def slotted(text: str) -> str:
    """Return a method or reason from the statistics with slots for the noun."""
    for phrase, slots in _SLOTTED.items():
        text = text.replace(phrase, slots)
    return text


def table_in_noun(table: Table, noun: Noun) -> Table:
    """Return a table with the noun in its caption, headings, methods and reasons."""
    header = tuple(in_noun(head, noun) if isinstance(head, str) else head for head in table.header)
    rows = tuple(tuple(_cell(cell, noun) for cell in row) for row in table.rows)
    return replace(table, caption=in_noun(table.caption, noun), header=header, rows=rows)


def _cell(cell: Cell, noun: Noun) -> Cell:
    if not isinstance(cell, Number):
        return cell
    method, reason = (in_noun(slotted(text), noun) for text in (cell.method, cell.reason))
    return replace(cell, method=method, reason=reason)


def block_in_noun(block: Block, noun: Noun) -> Block:
    tables = tuple(table_in_noun(table, noun) for table in block.tables)
    return replace(
        block, title=in_noun(block.title, noun), about=in_noun(block.about, noun), tables=tables
    )


def document_in_noun(shown: Document, noun: Noun) -> Document:
    """Return a document with a noun in the slots that are still empty."""
    return replace(
        shown,
        about=in_noun(shown.about, noun),
        sections=tuple(_section(each, noun) for each in shown.sections),
    )


def _section(section: Section, noun: Noun) -> Section:
    return replace(
        section,
        about=in_noun(section.about, noun),
        paragraphs=tuple(in_noun(each, noun) for each in section.paragraphs),
        points=tuple(in_noun(each, noun) for each in section.points),
        blocks=tuple(block_in_noun(block, noun) for block in section.blocks),
    )


def joined(words: list[str]) -> str:
    """Join words to a list in a sentence, separated by semicolons if they contain commas."""
    comma = ";" if any("," in word for word in words) else ","
    if len(words) < 2:
        return "".join(words)
    last = f"{comma} and " if comma == ";" else " and "
    return f"{f'{comma} '.join(words[:-1])}{last}{words[-1]}"


def named_blocks(blocks: Sequence[Block], name: str, report: JSON) -> Iterator[Block]:
    """Yield a variable's blocks under its name, if the report has several variables.

    The first block of a single variable has no title, and so is not folded.
    """
    several, noun = len(report["variables"]) > 1, noun_of(report["variables"][name])
    for n, each in enumerate(blocks):
        block = block_in_noun(of_variable(each, name), noun)
        if several:
            yield replace(block, title=f"{name}: {within(block.title)}")
        else:
            yield replace(block, title="" if n == 0 else block.title)


def of_variable(block: Block, name: str) -> Block:
    return with_counts(block, lambda count: count.within(variable=name))


def within(title: str) -> str:
    """Return a title in lower case, to follow a name; people's names in it keep their capitals."""
    return title[:1].lower() + title[1:]
