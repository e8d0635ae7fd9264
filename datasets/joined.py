"""Quotes that are several stretches of a text, written one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from datasets.folding import Folded, fold
from datasets.fuzzy import tokens

LEAST_CHARACTERS = 12
LEAST_WORDS = 3
WORDS_OF_ONE_CHARACTER = 8
WORDS_BESIDE_LOST = 5
MOST_LOST = 200
MOST_SWALLOWED = 3
STOPS = (".", "!", "?", ";", ":")

# A piece may end before a blank, or after a stop that the next piece was put right behind.
_BREAK = re.compile(r"(?= )|(?<=[.!?,;:)\]\"'])(?=\w)")


@dataclass(frozen=True)
class Piece:
    """A part of the quote [begin, end) and where it stands in the text; None: nowhere."""

    begin: int
    end: int
    place: tuple[int, int] | None


def pieces(text: str, quote: str) -> list[Piece]:
    """Takes `quote` apart into the longest stretches of `text`, from its beginning on.

    Case, blanks and typography count nothing. A stretch has at least `LEAST_WORDS` words and
    `LEAST_CHARACTERS` characters, since a shorter one stands somewhere by chance, and
    `WORDS_BESIDE_LOST` words where most of the quote is in none. What is in no stretch comes back
    without a place, neighbours together.
    """
    there, wanted = fold(text, True), fold(quote, True)
    cuts = _cuts(wanted.text)
    found: list[Piece] = []
    at, behind, lost = 0, 0, 0
    while at < len(cuts) - 1 and lost < MOST_LOST:
        longest = _longest(there, wanted.text, cuts, at, behind)
        if longest is None:
            at, lost = at + 1, lost + 1
            continue
        upto, (start, behind) = _at_stop(there, wanted.text, cuts, at, longest)
        begin, end = wanted.span(_skip(wanted.text, cuts[at]), cuts[upto])
        found.append(Piece(begin, end, there.span(start, behind)))
        at = upto
    if lost and 2 * sum(piece.end - piece.begin for piece in found) < len(quote):
        found = [piece for piece in found if _stands_out(quote[piece.begin : piece.end])]
    return list(_with_rest(found, quote))


def _cuts(folded: str) -> list[int]:
    """Folded offsets at which a piece may begin or end, both ends of the quote among them."""
    end = len(folded.rstrip())
    begin = len(folded) - len(folded.lstrip())
    return sorted({begin, end, *(each.start() for each in _BREAK.finditer(folded, begin, end))})


def _longest(
    there: Folded, wanted: str, cuts: list[int], at: int, behind: int
) -> tuple[int, tuple[int, int]] | None:
    """(cut, place) of the longest piece from `cuts[at]`: what stands longer, stands shorter too."""
    begin = _skip(wanted, cuts[at])
    low = next((n for n in range(at + 1, len(cuts)) if _is_long(wanted[begin : cuts[n]])), None)
    if low is None:
        return None
    place = _place(there, wanted[begin : cuts[low]], behind)
    if place is None:
        return None
    high = len(cuts)
    while high - low > 1:
        middle = (low + high) // 2
        longer = _place(there, wanted[begin : cuts[middle]], behind)
        low, high, place = (low, middle, place) if longer is None else (middle, high, longer)
    return low, place


def _at_stop(
    there: Folded, wanted: str, cuts: list[int], at: int, longest: tuple[int, tuple[int, int]]
) -> tuple[int, tuple[int, int]]:
    """The piece without the next one's first words, where these stand in front of both.

    The longest piece may swallow them by chance; then it ended at a stop, and the next piece goes
    as far with them as without.
    """
    upto, (start, _) = longest
    begin = _skip(wanted, cuts[at])
    for cut in range(upto - 1, max(at, upto - 1 - MOST_SWALLOWED), -1):
        part = wanted[begin : cuts[cut]]
        if upto == len(cuts) - 1 or part[-1:] not in STOPS or not _is_long(part):
            continue
        without = _longest(there, wanted, cuts, upto, start)
        with_them = _longest(there, wanted, cuts, cut, start)
        if with_them and with_them[0] >= (without[0] if without else upto + 1):
            return cut, (start, start + len(part))
    return longest


def _place(there: Folded, part: str, behind: int) -> tuple[int, int] | None:
    """The first place behind the last piece, else the first of all."""
    return there.find(part, behind) or there.find(part)


def _is_long(part: str) -> bool:
    if len(part) < LEAST_WORDS:
        return False
    words = len(tokens(part).words)
    return words >= WORDS_OF_ONE_CHARACTER or (
        words >= LEAST_WORDS and len(part) >= LEAST_CHARACTERS
    )


def _stands_out(part: str) -> bool:
    return len(tokens(fold(part, True).text).words) >= WORDS_BESIDE_LOST


def _skip(folded: str, at: int) -> int:
    return at + 1 if folded[at : at + 1] == " " else at


def _with_rest(found: list[Piece], quote: str) -> Iterator[Piece]:
    at = 0
    for piece in [*found, Piece(len(quote), len(quote), None)]:
        if quote[at : piece.begin].strip():
            rest = quote[at : piece.begin]
            begin = at + len(rest) - len(rest.lstrip())
            yield Piece(begin, at + len(rest.rstrip()), None)
        if piece.place:
            yield piece
        at = piece.end
