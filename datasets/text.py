"""Offsets, quotes and sentences of texts that are stored verbatim; offsets count code points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from datasets.folding import fold
from datasets.fuzzy import closest
from datasets.joined import pieces
from datasets.sentence_ends import sentences

__all__ = [
    "Found",
    "codepoints_to_utf16",
    "find_quote",
    "number_of_words",
    "sentences",
    "utf16_to_codepoints",
]

Method: TypeAlias = Literal["exact", "folded", "joined", "fuzzy", "none"]


@dataclass(frozen=True, slots=True)
class Found:
    """Where a quote stands: text[start:end] == quote; with method "none" it stands nowhere.

    Then `start` and `end` are None, and `quote` is what was looked for.
    """

    start: int | None
    end: int | None
    quote: str
    method: Method


def find_quote(text: str, quote: str, start: int | None = None) -> list[Found]:
    """The places of a quote in a text, at least one entry, by the first of these that succeeds:

    1. exact: at `start` if it stands there, else its first occurrence;
    2. folded: but for blanks, typography and Unicode form, then also but for case;
    3. joined: as several stretches of the text one after the other, one entry each;
    4. fuzzy: as a stretch that differs a little (see `fuzzy.closest`);
    5. joined in part: the stretches that stand somewhere, and the rest with method "none".

    A quote that stands nowhere, or a blank one, is one entry with method "none".
    """
    if not quote.strip():
        return [_nowhere(quote)]
    whole = _exact(text, quote, start) or _folded(text, quote)
    if whole:
        return [whole]
    parts = pieces(text, quote)
    if not all(part.place for part in parts):
        near = closest(text, quote)
        if near:
            return [_at(text, near, "fuzzy")]
    if not any(part.place for part in parts):
        return [_nowhere(quote)]
    return [
        _at(text, part.place, "joined") if part.place else _nowhere(quote[part.begin : part.end])
        for part in parts
    ]


def number_of_words(text: str) -> int:
    """How many words stand between blanks. In a script without blanks they are far too few, so
    that nobody who reads one is taken for too fast.
    """
    return len(text.split())


def utf16_to_codepoints(text: str, offset: int) -> int:
    """An offset in UTF-16 units, as JavaScript counts, in code points.

    Raises ValueError if it lies outside the text or inside a character.
    """
    units = text.encode("utf-16-le")
    if not 0 <= 2 * offset <= len(units):
        raise ValueError(f"offset {offset} lies outside the text")
    return len(units[: 2 * offset].decode("utf-16-le"))


def codepoints_to_utf16(text: str, offset: int) -> int:
    """An offset in code points in UTF-16 units. Raises ValueError if it lies outside the text."""
    if not 0 <= offset <= len(text):
        raise ValueError(f"offset {offset} lies outside the text")
    return len(text[:offset].encode("utf-16-le")) // 2


def _exact(text: str, quote: str, start: int | None) -> Found | None:
    given = start is not None and start >= 0 and text.startswith(quote, start)
    begin = start if given and start is not None else text.find(quote)
    return Found(begin, begin + len(quote), quote, "exact") if begin >= 0 else None


def _folded(text: str, quote: str) -> Found | None:
    for case in (False, True):
        there, wanted = fold(text, case), fold(quote, case).text.strip()
        place = there.find(wanted) if wanted else None
        if place:
            return _at(text, there.span(*place), "folded")
    return None


def _at(text: str, place: tuple[int, int], method: Method) -> Found:
    start, end = place
    return Found(start, end, text[start:end], method)


def _nowhere(quote: str) -> Found:
    return Found(None, None, quote, "none")
