"""Stretches of a text, given one after the other: where each stands, and what none of them holds.

Each is looked for behind the one before it, so that words which the text says twice are found where
they are meant. What differs in blanks, typography, Unicode form or case is the same; whatever
differs more is not found.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from datasets.folding import fold
from datasets.text import Found

_VARIATION_SELECTORS = "\ufe0e\ufe0f"


@dataclass(frozen=True)
class Gap:
    """Words that no stretch holds. `before` and `after` are the numbers, from 1, of the stretches
    around them that were found; None at the beginning and at the end.
    """

    words: str
    before: int | None
    after: int | None


def find_in_order(text: str, parts: Iterable[str]) -> list[Found]:
    """The place of each part behind the one before it; method "none" where it stands nowhere there.

    Blanks around a part count nothing. Characters that show nothing, such as marks of direction,
    belong to the part that they touch.
    """
    found, at = list[Found](), 0
    for part in parts:
        each = _next(text, part.strip(), at)
        found.append(each)
        at = at if each.end is None else each.end
    return _with_hidden(text, found)


def gaps(text: str, found: Sequence[Found]) -> Iterator[Gap]:
    """What can be read of a text and stands in none of the parts that were found in order."""
    at, before = 0, None
    for number, each in enumerate(found, start=1):
        if each.start is not None and each.end is not None:
            yield from _gap(text[at : each.start], before, number)
            at, before = each.end, number
    yield from _gap(text[at:], before, None)


def _gap(words: str, before: int | None, after: int | None) -> Iterator[Gap]:
    if not all(each.isspace() or _is_hidden(each) for each in words):
        yield Gap(words.strip(), before, after)


def _next(text: str, words: str, at: int) -> Found:
    """The nearest place from `at` on; where two ways of looking find the same, the stricter."""
    exact = text.find(words, at) if words else -1
    if exact >= 0 and not text[at:exact].strip():
        return Found(exact, exact + len(words), words, "exact")
    places = [_folded(text, words, at, case) for case in (False, True)]
    near = [Found(*place, text[slice(*place)], "folded") for place in places if place]
    if exact >= 0:
        near.insert(0, Found(exact, exact + len(words), words, "exact"))
    return min(near, key=lambda each: each.start or 0, default=Found(None, None, words, "none"))


def _folded(text: str, words: str, at: int, case: bool) -> tuple[int, int] | None:
    there, wanted = fold(text, case), fold(words, case).text.strip()
    place = there.find(wanted, bisect_left(there.origin, at)) if wanted else None
    return there.span(*place) if place else None


def _with_hidden(text: str, found: Sequence[Found]) -> list[Found]:
    """The parts with the hidden characters beside them: with those behind them first."""
    starts = [each.start for each in found if each.start is not None]
    bounds = iter([*starts[1:], len(text)])
    made, at = list[Found](), 0
    for each in found:
        start, end = each.start, each.end
        if start is None or end is None:
            made.append(each)
            continue
        bound = next(bounds)
        while start > at and _is_hidden(text[start - 1]):
            start -= 1
        while end < bound and _is_hidden(text[end]):
            end += 1
        made.append(replace(each, start=start, end=end, quote=text[start:end]))
        at = end
    return made


def _is_hidden(character: str) -> bool:
    return character in _VARIATION_SELECTORS or unicodedata.category(character) == "Cf"
