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


def quote_of(given: object, variable: str, place: str, lenient: bool) -> Quote | None:
    """The quote that `{quote, start}` stands for, or None where it stands for none.

    A lenient one may name a variable and a field of its own.
    """
    allowed = {"quote", "start"} | ({"field", "variable"} if lenient else set())
    if not isinstance(given, Mapping) or given.keys() - allowed:
        return None
    words, start = given.get("quote"), given.get("start")
    names = given.get("variable", variable), given.get("field", place)
    if not is_text(words) or not all(isinstance(name, str) for name in names):
        return None
    if start is not None and (isinstance(start, bool) or not isinstance(start, int) or start < 0):
        return None
    return Quote(*names, str(words), start)
