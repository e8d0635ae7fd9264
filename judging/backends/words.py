"""The content words of a text, for the lexical baseline: folded, without what every text has."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\w+")
_ENDINGS = ("ingly", "edly", "ings", "ies", "ing", "ed", "es", "ly", "s")
_SHORTEST = 4
STOP_WORDS = frozenset(
    "a an and are as at be been being but by can could did do does for from had has have he her "
    "his how i if in into is it its many may might more most much must no nor not of on or our "
    "she should since so some such than that the their them then there these they this those to "
    "was we were what when where which while who whom whose why will with would you your "
    "about after also any because before between during each other over under upon within "
    "according describe explain provide report involved happened specific".split()
)


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
