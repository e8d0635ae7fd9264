"""The content words of a text, for the lexical baseline: folded, without what every text has."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_WORD = re.compile(r"\w+")
_ENDINGS = ("ingly", "edly", "ings", "ies", "ing", "ed", "es", "ly", "s")
_SHORTEST = 4
STOP_WORDS = frozenset((Path(__file__).parent / "stop_words.txt").read_text("utf-8").split())


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The set of a text's words without stop words, each cut to a rough stem."""
    words = _WORD.findall(text.casefold())
    return frozenset(_stem(word) for word in words if word not in STOP_WORDS)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word.removesuffix(ending)
    return word
