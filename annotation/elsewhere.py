"""Quotes that stand in another text than the one that was judged: pure, over plain texts.

A rater who quotes the report beside the rating of a passage may have rated the report (as in the
CRUX study, where most rationales of one annotator do).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

HERE, NOWHERE = "here", "nowhere"
Texts = Sequence[tuple[str, str]]
"""Kind and text of each of the other texts, in the order in which they are looked at."""


def place_of(quote: str, judged: str, others: Texts) -> str:
    """`here` where a quote stands in the judged text, else the kind of the first other text that
    holds it, else `nowhere`. Word for word, but for blanks.
    """
    wanted = _folded(quote)
    if not wanted or wanted in _folded(judged):
        return HERE
    return next((kind for kind, text in others if wanted in _folded(text)), NOWHERE)


def place_of_all(quotes: Iterable[str], judged: str, others: Texts) -> str:
    """The same of a rationale of several quotes: `here` if one of them is, else where the first of
    them stands that stands anywhere.
    """
    found = [place_of(quote, judged, others) for quote in quotes]
    if not found or HERE in found:
        return HERE
    return next((place for place in found if place != NOWHERE), NOWHERE)


@lru_cache(maxsize=512)
def _folded(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Misplaced:
    """How many of a rater's rationales stand in other texts alone, by the kind of text."""

    rater: str
    rater_kind: str
    variable: str
    rationales: int
    elsewhere: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.elsewhere.values())

    @property
    def places(self) -> str:
        """How many stand in which kind of text, in words."""
        return " and ".join(f"{n} in {_ARTICLES[kind]}" for kind, n in self.elsewhere.items())

    def __str__(self) -> str:
        verb = "does" if self.total == 1 else "do"
        return (
            f"rater {self.rater!r}: of {self.rationales} rationales for {self.variable}, "
            f"{self.total} {verb} not stand in the text that was judged, but word for word "
            f"elsewhere ({self.places}); look whether that text was judged at all"
        )


_ARTICLES = {
    "report": "a report of the same query",
    "passage": "another passage of the same query",
    "reference": "a reference of the same query",
}
