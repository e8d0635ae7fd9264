"""Match the elements of a reply with units by the sentence that each names.

A judge that splits an answer into sentences itself joins some and splits others, so that the
position of an element says little. Sentences are equal if they differ only in blanks, case,
typography, the marks of citations at their end, and the stops beside these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from datasets.quotes import fold
from judging.backends.base import AskedUnit
from tandem.grouping import grouped

MAX_MARK, MAX_MARKS = 60, 50
_STOPS = " \t\r\n\u00a0\u200b.!?‽؟۔।॥。．！？…,;:\"'“”‘’«»)*_"
_BEGINNING = " \"'(*_"
# [1], [1, 2], [^1], [Source 3], 【3†source】, and %[1]%, the marks of GaRAGe.
_MARK = re.compile(
    r"%?[\[［]\s*(?:\^|[a-z]{1,12}\s*)?\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\s*[\]］]%?|【[^【】]+】",
    re.IGNORECASE,
)
# Raised numbers after a stop or a word. That of x² or 10³ is no citation.
_RAISED = re.compile(r"(?:(?<=[\s.!?…,;:\"'”’)\]])|(?<=\w{4}))[⁰¹²³⁴-⁹]+(?:[,˒\s]*[⁰¹²³⁴-⁹]+)*$")


def sentence_key(text: str) -> str:
    """Return what is left of a sentence to compare it with another; empty if nothing is."""
    folded = fold(_without_marks(text), case=True).text
    return folded.lstrip(_BEGINNING).rstrip(_STOPS)


def _without_marks(text: str) -> str:
    """Return a text without the marks of citations at its end, and without the stops there."""
    for _ in range(MAX_MARKS):
        before, text = text, text.rstrip(_STOPS)
        if raised := _RAISED.search(text[-MAX_MARK:]):
            text = text[: len(text) - len(raised[0])]
        begin = max(text.rfind(mark, -MAX_MARK) for mark in "[［【")
        begin -= text[begin - 1 : begin] == "%"
        if begin >= 0 and _MARK.fullmatch(text, begin):
            text = text[:begin]
        if text == before:
            break
    return text


def match_units(
    units: Sequence[AskedUnit], sentences: Sequence[str | None]
) -> dict[str, tuple[int, ...]]:
    """Return for each unit, by name, the indices of the sentences that name it.

    Of equal units, each takes one of as many equal sentences, in order; otherwise all take all of
    them.
    """
    found: dict[str, list[int]] = {}
    for index, sentence in enumerate(sentences):
        if sentence and (key := sentence_key(sentence)):
            found.setdefault(key, []).append(index)
    alike = grouped((sentence_key(unit.text), unit) for unit in units)
    matched: dict[str, tuple[int, ...]] = {}
    for key, equal in alike.items():
        indices = found.get(key, [])
        one_each = len(indices) == len(equal)
        for number, unit in enumerate(equal):
            matched[unit.name] = (indices[number],) if one_each else tuple(indices)
    return matched
