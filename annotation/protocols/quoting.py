"""A quote as it is given, and which words can be one. What was quoted is looked for elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Quote:
    """A piece of evidence as it was given: the words, and where they were said to start."""

    variable: str
    field: str
    quote: str
    start: int | None = None


def storable(text: str) -> bool:
    """Whether a text can be kept in every database: no NUL, no half of a surrogate pair."""
    return _NOT_STORABLE.search(text) is None


def is_text(value: object) -> bool:
    return isinstance(value, str) and storable(value) and bool(value.strip())


def quote_of(
    given: object, variable: str, place: str, lenient: bool, placed: bool = False
) -> Quote | None:
    """The quote that `{quote, start}` stands for, or None where it stands for none.

    A `placed` one may name a field of its own, a lenient one a variable too.
    """
    allowed = {"quote", "start"} | ({"field"} if placed else set())
    allowed |= {"field", "variable"} if lenient else set()
    if not isinstance(given, Mapping) or given.keys() - allowed:
        return None
    words, start, field = given.get("quote"), given.get("start"), given.get("field", place)
    names = given.get("variable", variable), place if placed and field is None else field
    if not is_text(words) or not all(isinstance(name, str) for name in names):
        return None
    if start is not None and (isinstance(start, bool) or not isinstance(start, int) or start < 0):
        return None
    return Quote(*names, str(words), start)
