"""The content words of a text, for the lexical baseline: folded, without what every text has."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_WORD = re.compile(r"\w+")
_ENDINGS = ("ings", "ing", "ies", "ed", "ly", "s")
_SHORTEST = 4
ENOUGH = 0.6
"""The share of words with which one text is said to stand in another."""
STOP_WORDS = frozenset((Path(__file__).parent / "stop_words.txt").read_text("utf-8").split())


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The set of a text's words without stop words, each cut to a rough stem."""
    words = _WORD.findall(text.casefold())
    return frozenset(_stem(word) for word in words if word not in STOP_WORDS)


def _stem(word: str) -> str:
    """The word without one ending, and then without a last e or y."""
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) >= len(e) + _SHORTEST), "")
    stem = word.removesuffix(ending)
    return stem[:-1] if stem[-1] in "ey" and len(stem) > _SHORTEST else stem
