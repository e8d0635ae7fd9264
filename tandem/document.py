"""The document that formats print: sections, tables and cells, with counts of units as links.

The document is independent of formats. Numbers are rounded here, so that all formats print the same
digits.

Tables of the report and tables below figures count the same units, so both link to that list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from .messages import percent
from .types import JSON

DIGITS = 3
DASH = "–"
UNIT, UNITS, UNIT_HEAD, UNITS_HEAD = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
"""Slots for the task's noun in texts: one, several, and both with a capital.

They are noncharacters, which cannot occur in names. `sections.nouns` fills them.
"""
PLAIN = ("unit", "units")
"""The noun if the task has none of its own, as in a labels file."""


@dataclass(frozen=True)
class Format:
    """A way to write a report: its name on the command line, its file's suffix, its media type."""

    name: str
    label: str
    suffix: str
    media_type: str
    render: Callable[[JSON], str]


@dataclass(frozen=True, slots=True)
class RaterName:
    """A name with the sign of its kind: human, judge or reference; none if the kind is empty."""

    name: str
    kind: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Number:
    """A printed number, or a dash if `value` is None; `reason` says why.

    `above` are the letters of the rows whose value is significantly lower. With `is_p`, a small p
    is not printed as 0. `judged` is the rated share of the cells that the number depends on, and
    `bounds` are its values with the other cells no and yes.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    reason: str = ""
    digits: int = DIGITS
    above: tuple[str, ...] = ()
    is_p: bool = False
    judged: float | None = None
    bounds: tuple[float | None, float | None] | None = None

    @classmethod
    def p(cls, value: float | None, reason: str = "") -> Number:
        return cls(value, reason=reason, is_p=True)

    @classmethod
    def from_estimate(cls, estimate: Mapping[str, Any]) -> Number:
        """Return the number of an estimate of the report."""
        value, low, high = (estimate[name] for name in ("value", "low", "high"))
        no, yes = estimate.get("bounds", (None, None))
        return cls(
            value,
            low,
            high,
            estimate["method"],
            estimate.get("reason", ""),
            judged=estimate.get("judged"),
            bounds=(no, yes) if "bounds" in estimate else None,
        )

    @property
    def text(self) -> str:
        if self.value is None and self.bounds:
            return " to ".join(
                DASH if each is None else rounded(each, self.digits) for each in self.bounds
            )
        if self.value is None:
            return DASH
        least: float = 10**-self.digits
        if self.is_p and self.value < least:
            return f"<{least:.{self.digits}f}"
        return rounded(self.value, self.digits)

    @property
    def ends(self) -> tuple[str, str] | None:
        """Both ends of the interval, or None without one."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return rounded(self.low, self.digits), rounded(self.high, self.digits)

    @property
    def rated(self) -> str:
        """The rated share of the cells that the number depends on, if it is not all of them."""
        if self.judged is None or self.judged >= 1:
            return ""
        return f"{percent(self.judged)} rated"

    def __str__(self) -> str:
        shown = f"{self.text} [{', '.join(self.ends)}]" if self.ends else self.text
        shown = f"{shown} > {', '.join(self.above)}" if self.above else shown
        return f"{shown}, {self.rated}" if self.rated else shown


class UnitCount(int):
    """A count of units, with the filters of the list of disagreements that shows these units.

    On a page, `address` leads to that list. `about` says what is counted if the list has fewer
    units, such as pairs of labels.
    """

    filters: Mapping[str, str] = {}
    address = ""
    about = ""

    @classmethod
    def of(cls, number: int, **filters: str) -> UnitCount:
        made = cls(number)
        made.filters = filters
        return made

    def within(self, **filters: str) -> UnitCount:
        """Return the same count with further filters; its own take precedence."""
        return UnitCount.of(int(self), **(filters | dict(self.filters))).counting(self.about)

    def counting(self, about: str) -> UnitCount:
        made = UnitCount.of(int(self), **self.filters)
        made.about = about
        return made

    def at(self, address: str) -> UnitCount:
        made = self.within()
        made.address = address
        return made


class CountedText(str):
    """A text with counts of units: each count with its words, in the order of the text."""

    counts: tuple[tuple[str, UnitCount], ...] = ()

    @classmethod
    def of(cls, text: str, *counts: tuple[str, UnitCount]) -> CountedText:
        made = cls(text)
        made.counts = counts
        return made


Cell = str | int | RaterName | Number


@dataclass(frozen=True)
class Table:
    """Rows under a header; a row's first cell names it. The last `apart` rows are set apart."""

    caption: str
    header: tuple[str | RaterName, ...]
    rows: tuple[tuple[Cell, ...], ...]
    apart: int = 0

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError(f"{self.caption}: a row must have as many cells as the header")

    def is_numeric(self, column: int) -> bool:
        """Return whether a column holds only numbers, and so is aligned right.

        Empty cells do not count.
        """
        cells = [row[column] for row in self.rows if row[column] != ""]
        numeric = all(isinstance(cell, int | Number) for cell in cells)
        return column > 0 and numeric and bool(cells or not self.rows)

    def reasons(self) -> dict[str, str]:
        """Return why numbers of this table are undefined: each reason and its mark, a, b, c …"""
        found = dict.fromkeys(
            cell.reason
            for row in self.rows
            for cell in row
            if isinstance(cell, Number) and cell.value is None and cell.reason
        )
        return {reason: letter_of(n) for n, reason in enumerate(found)}


@dataclass(frozen=True)
class Block:
    """Tables under a title that may be empty; `kind` is the sign before it."""

    title: str
    tables: tuple[Table, ...]
    about: str = ""
    kind: str = ""


def with_counts(block: Block, change: Callable[[UnitCount], UnitCount]) -> Block:
    """Return a block with its counts of units mapped."""
    about = block.about
    if isinstance(about, CountedText):
        about = CountedText.of(about, *((words, change(of)) for words, of in about.counts))
    tables = tuple(table_with_counts(table, change) for table in block.tables)
    return replace(block, tables=tables, about=about)


def table_with_counts(table: Table, change: Callable[[UnitCount], UnitCount]) -> Table:
    """Return a table with its counts of units mapped."""
    rows = (
        tuple(change(cell) if isinstance(cell, UnitCount) else cell for cell in row)
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


@dataclass(frozen=True)
class Section:
    """Blocks under a title. Text comes first: `paragraphs`, then `points` as a list.

    On pages, each paragraph but the first has a fold of its own if there are `heads` for them.
    `name` is its address on a page; if empty, the address is made from the title. The figures of
    `place` are drawn for each of `subjects`, which are variables or scores.
    """

    title: str
    blocks: tuple[Block, ...]
    about: str = ""
    paragraphs: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    name: str = ""
    place: str = ""
    subjects: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return self.name or slug(self.title)


@dataclass(frozen=True)
class Document:
    """The whole report. `origin` is the version and the time, which differs between runs."""

    title: str
    about: str
    origin: str
    sections: tuple[Section, ...]

    def linked(self, address: Callable[[Mapping[str, str]], str]) -> Document:
        """Return the document with an address for each count of units, built from its filters."""

        def at(count: UnitCount) -> UnitCount:
            return count.at(address(count.filters))

        sections = tuple(
            replace(each, blocks=tuple(with_counts(block, at) for block in each.blocks))
            for each in self.sections
        )
        return replace(self, sections=sections)

    def tables(self) -> Iterator[tuple[Section, Block, Table]]:
        """Yield every table with its section and block."""
        for section in self.sections:
            for block in section.blocks:
                for table in block.tables:
                    yield section, block, table


def rounded(value: float, digits: int = DIGITS) -> str:
    """Format a number with this many decimals, without the sign of a zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def slug(text: str) -> str:
    """Return the letters and digits of a text in lower case, with hyphens between them."""
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"


def computed_by(report: Mapping[str, Any]) -> str:
    """Name the version of Tandem that computed a report, and its commit if it is known."""
    commit = report.get("commit")
    return f"Tandem {report['version']}" + (f" (commit {commit[:12]})" if commit else "")


def join_words(parts: Sequence[str]) -> str:
    """Join parts like a list in a sentence: a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def count(number: int, one: str, many: str = "") -> str:
    """Format a count with its noun, and a comma before thousands: 1 tie, 1,200 ties."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def count_units(number: int) -> str:
    """Format a count of units with the slot of their noun."""
    return count(number, UNIT, UNITS)


def in_noun(text: str, noun: Sequence[str] = PLAIN) -> str:
    """Return a text with a noun, one and several, in its slots; counts in it are kept."""
    made = text.translate(_slots(tuple(noun)))
    if isinstance(text, CountedText):
        return CountedText.of(made, *((in_noun(words, noun), of) for words, of in text.counts))
    return made


@cache
def _slots(noun: tuple[str, ...]) -> dict[int, str]:
    heads = (word[:1].upper() + word[1:] for word in noun)
    slots = (UNIT, UNITS, UNIT_HEAD, UNITS_HEAD)
    return {ord(slot): word for slot, word in zip(slots, (*noun, *heads), strict=True)}


def letter_of(number: int) -> str:
    """Return the letter of a number from 0: a to z, then aa, as of a note or a column."""
    letters = ""
    while number >= 0:
        letters = chr(ord("a") + number % 26) + letters
        number = number // 26 - 1
    return letters


COUNTED_PAIRS = "a label counts once for each other person, but the list shows it only once"


def shared_units(units: int, one: str, other: str) -> UnitCount:
    """Return the count of the units that two raters labelled."""
    return UnitCount.of(units, show="all", one=one, other=other)


def of_several(units: int, rater: str) -> UnitCount:
    """Return the count of the units that several people and a rater labelled."""
    return UnitCount.of(units, show="several", one=rater)


def pairs_of_labels(labels: int, who: str) -> UnitCount:
    """Return the count of a person's labels paired with those of each other person."""
    return of_several(labels, who).counting(COUNTED_PAIRS)


def compared_units(block: JSON, judge: str, units: int) -> int:
    """Return the count of all units on which a judge is compared with people together."""
    if units != block["units"]:
        return units
    return UnitCount.of(units, show=_of_reference(block), judge=judge, one=judge)


def units_in_bin(block: JSON, judge: str, bin_: JSON) -> int:
    """Return the count of a bin's units, linked to their list for a probability of yes.

    Only the probability of yes is the score of a label. Older snapshots have no range.
    """
    if block["calibration"].get("of", "yes") != "yes" or "lowest" not in bin_:
        units: int = bin_["units"]
        return units
    score = f"{bin_['lowest']!r}:{bin_['highest']!r}"
    return UnitCount.of(bin_["units"], show=_of_reference(block), judge=judge, score=score)


def units_of_slice(units: int, names: str, group: str) -> UnitCount:
    """Return the count of the units that several people labelled in one value of a stratum.

    If several strata are alike, `names` has the first one's name before a comma.
    """
    name = names.split(", ")[0]
    of = {"system": group} if name == "system" else {"slice": f"{name}:{group}"}
    return UnitCount.of(units, show="several", **of)


def units_of_cell(number: int, people: str, said: str) -> UnitCount:
    """Return the count of a cell's units: people's majority and the judge's label, as codes."""
    return UnitCount.of(number, show="judge", people=people, said=said)


def _of_reference(block: JSON) -> str:
    """Return the filter for all units with a joint label from people."""
    return "labelled" if block["reference"] == "mean" else "decided"
