"""Which occurrence of a quote is meant, if a text has several.

It is the one nearest to the given start. Without a start, an occurrence between word boundaries
comes before one inside a word. Of several equal ones it is the first, and their number is returned,
so that whoever reads the quote can be told. The work grows with the text, not with its product with
the quote or with the number of occurrences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tandem.labels.word_boundaries import is_whole

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A range of a text. `equal` is the number of occurrences that fit as well, with this one."""

    start: int
    end: int
    equal: int = 1
    whole: bool = True


def occurrences(text: str, part: str, begin: int = 0) -> Iterator[int]:
    """Yield each offset of `part` from `begin` on, also of occurrences that overlap.

    Two occurrences overlap by a period of the part. So after one, either its last period repeats,
    or the next one begins at least half a part later.
    """
    at = text.find(part, begin) if part else -1
    if at < 0:
        return
    yield at
    size, period = len(part), _period(part)
    last = part[size - period :]
    while True:
        if text.startswith(last, at + size):
            at += period
        else:
            at = text.find(part, at + max(period, size - period + 1))
            if at < 0:
                return
        yield at


@lru_cache(maxsize=64)
def _period(part: str) -> int:
    """Return the smallest shift by which a text agrees with itself (Knuth, Morris, Pratt 1977)."""
    borders, size = [0] * len(part), 0
    for at in range(1, len(part)):
        while size and part[at] != part[size]:
            size = borders[size - 1]
        size += part[at] == part[size]
        borders[at] = size
    return len(part) - size


def choose(text: str, places: Iterable[Range], near: int | None = None) -> Occurrence | None:
    """Return the occurrence that is meant among `places`, ranges of the text in rising order.

    `near` is the given start. The result is None if there is no place.
    """
    found = _nearest(places, near) if near is not None else places
    counts, first = {True: 0, False: 0}, dict[bool, Range]()
    for place in found:
        whole = is_whole(text, *place)
        counts[whole] += 1
        first.setdefault(whole, place)
    for whole in (True, False):
        if whole in first:
            return Occurrence(*first[whole], counts[whole], whole)
    return None


def _nearest(places: Iterable[Range], near: int) -> list[Range]:
    """Return the nearest place, or the two that are equally near."""
    found: list[Range] = []
    for place in places:
        if found and abs(place[0] - near) > abs(found[0][0] - near):
            break
        if found and abs(place[0] - near) < abs(found[0][0] - near):
            found.clear()
        found.append(place)
    return found


def choose_next(text: str, places: Iterable[Range], at: int) -> Occurrence | None:
    """Return the next of `places`, which all begin at `at` or later, in rising order.

    It is the first one if only blanks precede it from `at` on, else the first between word
    boundaries, else the first.
    """
    first: Occurrence | None = None
    for start, end in places:
        whole = is_whole(text, start, end)
        if whole or (first is None and not text[at:start].strip()):
            return Occurrence(start, end, whole=whole)
        first = first or Occurrence(start, end, whole=False)
    return first
