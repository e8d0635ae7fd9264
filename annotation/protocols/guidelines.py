"""Trim a protocol's guideline to the variables that a campaign asks.

A section is about a variable if its heading is the variable's question, or if the protocol says so
(`Protocol.sections`). In the remaining sections, list entries and paragraphs are removed if they
name only variables that are not asked. Nothing is reworded, and a campaign that asks everything has
exactly the protocol's text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from annotation.protocols.base import Protocol

_HEADING = re.compile(r"^(#+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"[-*][ \t]")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
EXAMPLES = "Examples"


def trim_guideline(protocol: Protocol, asked: Collection[str], translation: str = "") -> str:
    """Return the protocol's guideline without parts that are only about variables not asked.

    `asked` are the names of variables. The whole text is returned if nothing is left out. A
    translation has the same sections in the same order, and is trimmed by the original's headings.
    """
    text = translation or protocol.guideline
    left_out = {v.name for v in protocol.variables} - set(asked)
    if not left_out:
        return text
    return _Trimming(protocol, set(asked), left_out).of(text)


class _Trimming:
    """The names that stay: variables that are asked, and their codes."""

    def __init__(self, protocol: Protocol, asked: set[str], left_out: set[str]) -> None:
        self.protocol, self.asked, self.left_out = protocol, asked, left_out
        codes: dict[bool, set[str]] = {True: set(), False: set()}
        for variable in protocol.variables:
            codes[variable.name in asked].update(variable.answers)
        self.kept = asked | codes[True]
        self.gone = left_out | (codes[False] - codes[True])

    def of(self, text: str) -> str:
        headings = [heading for heading, _ in _sections(self.protocol.guideline)]
        sections = zip(headings, (part for _, part in _sections(text)), strict=True)
        kept = (self._section(heading, part) for heading, part in sections)
        return "".join(kept).rstrip("\n") + "\n" * text.endswith("\n")

    def _section(self, heading: str, part: str) -> str:
        """Return the remaining part of a section, with its heading; empty if nothing remains."""
        about = self._about(heading)
        if about and not about & self.asked:
            return ""
        first, *blocks = part.rstrip("\n").split("\n\n")
        stay: list[str] = []
        for block in blocks:
            left = self._block(heading, block)
            if left:
                stay.append(left)
            elif stay and _is_list(block) and stay[-1].endswith(":"):
                # A sentence that introduces a list is removed with it.
                stay.pop()
        if blocks and not stay:
            return ""
        return "\n\n".join([first, *stay]) + "\n\n"

    def _about(self, heading: str) -> set[str]:
        declared = self.protocol.sections.get(heading)
        if declared is not None:
            return set(declared)
        return {v.name for v in self.protocol.variables if v.question == heading}

    def _block(self, heading: str, block: str) -> str:
        if not _is_list(block):
            named = set(_BOLD.findall(block))
            return "" if named & self.left_out and not named & self.kept else block
        entries = re.split(r"\n(?=[-*][ \t])", block)
        goes = self._is_foreign_example if heading == EXAMPLES else self._is_foreign_entry
        return "\n".join(entry for entry in entries if not goes(entry))

    def _is_foreign_entry(self, entry: str) -> bool:
        """Whether an entry explains a variable that is not asked."""
        lead = _BOLD.match(entry[1:].lstrip())
        return lead is not None and lead[1] in self.left_out

    def _is_foreign_example(self, entry: str) -> bool:
        """Whether an example shows only variables, or codes of variables, that are not asked."""
        words = set(_BOLD.findall(entry)) | set(re.findall(r"\w+", entry)) & (
            self.asked | self.left_out
        )
        return bool(words & self.gone) and not words & self.kept


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield each heading with its section, which ends before the next heading of any level."""
    starts = [(match[2], match.start()) for match in _HEADING.finditer(text)]
    if not starts or starts[0][1]:
        starts.insert(0, ("", 0))
    ends = [start for _, start in starts[1:]] + [len(text)]
    for (heading, begin), end in zip(starts, ends, strict=True):
        yield heading, text[begin:end]


def _is_list(block: str) -> bool:
    return _ENTRY.match(block) is not None
