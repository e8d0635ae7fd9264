"""The difference of two texts by lines, and by words within changed lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Side = Literal["both", "old", "new"]
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
MOST_TOKENS = 2000
"""Longer changed passages are shown whole, old and new, instead of word by word."""


@dataclass(frozen=True)
class Piece:
    """A part of a line that both texts have, or only one of them."""

    text: str
    side: Side


Line = tuple[Piece, ...]


def difference(old: str, new: str, around: int = 3) -> list[Line | None]:
    """Return the changed lines with some context; None stands for omitted equal lines.

    Without any change the list is empty.
    """
    one, other = old.splitlines(), new.splitlines()
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    found: list[Line | None] = []
    for number, group in enumerate(matcher.get_grouped_opcodes(around)):
        if number or group[0][1] or group[0][3]:
            found.append(None)
        for tag, a, b, c, d in group:
            if tag == "equal":
                found += [(Piece(line, "both"),) for line in one[a:b]]
            else:
                found += _changed("\n".join(one[a:b]), "\n".join(other[c:d]))
    return found


def _changed(old: str, new: str) -> Iterator[Line]:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if not old or not new or len(before) + len(after) > MOST_TOKENS:
        yield from _lines([Piece(old, "old")] if old else [])
        yield from _lines([Piece(new, "new")] if new else [])
        return
    pieces: list[Piece] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece("".join(before[a:b]), "both"))
            continue
        pieces += [Piece("".join(before[a:b]), "old")] if b > a else []
        pieces += [Piece("".join(after[c:d]), "new")] if d > c else []
    yield from _lines(pieces)


def _lines(pieces: list[Piece]) -> Iterator[Line]:
    """Break pieces at their line ends."""
    line: list[Piece] = []
    for piece in pieces:
        first, *rest = piece.text.split("\n")
        line += [Piece(first, piece.side)] if first else []
        for text in rest:
            yield tuple(line)
            line = [Piece(text, piece.side)] if text else []
    if line:
        yield tuple(line)
