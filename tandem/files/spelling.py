"""Texts that are probably meant to be the same: nearly equal ids, values and names.

There is one rule for the ids of a batch, and for the values, variables and raters of labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from tandem.files.jsonl import excerpt
from tandem.grouping import grouped

_MISSING = (
    "nan na n/a #n/a #na #null! #value! #ref! #div/0! #name? #num! <na> nat none null nil missing "
    "undefined * - -- --- – — . .. ? / \\n"
)
MISSING_WORDS = frozenset(_MISSING.split())
"""Words for *missing*, in lower case: those of pandas, R, databases, spreadsheets and people."""
DIGITS = 12
"""Numbers that are equal to so many digits differ only by the arithmetic of floats."""

_ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?=[\d.]*[.eE])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


def _without_surplus_blanks(text: str) -> str:
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(text.split())


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _without_case(text: str) -> str:
    # Folding case may take a composed character apart.
    return text.lower() if text.isascii() else _composed(_composed(text).casefold())


def _without_zeros(text: str) -> str:
    return _ZEROS.sub("", text) if "0" in text else text


def _rounded(text: str) -> str:
    if _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if _DECIMAL.fullmatch(text):
        # Adding zero turns -0.0 into 0.0.
        return f"{float(text) + 0.0:.{DIGITS}g}"
    return text[1:] if text.startswith("+") and text[1:].isdecimal() else text


_STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("blanks", _without_surplus_blanks),
    ("Unicode form", _composed),
    ("case", _without_case),
    ("leading zeros", _without_zeros),
)
_OF_NUMBERS = (*_STEPS, ("how a number is written", _rounded))
OF_IDS = "case, blanks, Unicode form or leading zeros"
"""All that `folded` disregards, in words."""


def folded(text: str) -> str:
    """Return a text without case, surplus blanks, leading zeros and differences of Unicode form.

    Blanks include no-break and invisible ones.
    """
    return _apply(_STEPS, text)


def is_blank(text: str) -> bool:
    """Return whether a text has only blanks, no-break and invisible ones among them, or nothing."""
    return not text.strip() or not (text.isascii() or _without_surplus_blanks(text))


def means_missing(text: str) -> bool:
    """Return whether a value is a word that usually means that there is none."""
    return folded(text) in MISSING_WORDS


def base_form(text: str) -> str:
    """Return the form that similar values share: `folded`, with numbers written alike."""
    return _apply(_OF_NUMBERS, text)


def similar(texts: Iterable[str]) -> list[list[str]]:
    """Return the groups of two or more distinct texts that differ only as `difference` can say.

    Beside what `folded` disregards, this is the last digits and the spelling of numbers. Groups and
    their texts are in the order of `texts`.
    """
    groups = grouped((base_form(text), text) for text in dict.fromkeys(texts))
    return [group for group in groups.values() if len(group) > 1]


def difference(texts: Sequence[str]) -> str:
    """Say in what similar texts differ, such as `case and blanks`."""
    needed = {name for pair in combinations(texts, 2) for name in _needed(*pair)}
    names = [name for name, _ in _OF_NUMBERS if name in needed]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _needed(one: str, other: str) -> list[str]:
    """Return the steps without which two similar texts would stay different."""
    steps = list(_OF_NUMBERS)
    # Folding case composes characters, so it is left out first.
    for step in sorted(_OF_NUMBERS, key=lambda each: each[0] != "case"):
        rest = [each for each in steps if each is not step]
        if _apply(rest, one) == _apply(rest, other):
            steps = rest
    return [name for name, _ in steps]


def _apply(steps: Iterable[tuple[str, Callable[[str], str]]], text: str) -> str:
    for _, step in steps:
        text = step(text)
    return text


def visible(text: str) -> str:
    """Quote a text for a message. Blanks, and accents that are characters of their own, show."""
    parts = (f"\\u{ord(c):04x}" if unicodedata.combining(c) else c for c in text)
    return excerpt("".join(parts))


def listed(group: Sequence[str], counts: Mapping[str, int]) -> str:
    """Return similar texts for a message, each with its number of labels."""
    parts = [f"{visible(each)} ({_labels(counts[each])})" for each in group]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _labels(count: int) -> str:
    return f"{count} label{'s' * (count != 1)}"


def similar_names(what: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield a warning for each group of similar names; `what` is their noun, such as `rater`."""
    for group in similar(counts):
        yield (
            f"The {what}s {listed(group, counts)} differ only in {difference(group)}, and count "
            f"as {len(group)} {what}s. If they are one, write it alike everywhere."
        )
