"""Texts without the differences that copying makes, with the way back to their own offsets."""

from __future__ import annotations

import unicodedata
from array import array
from dataclasses import dataclass
from functools import cache, lru_cache

_LIKE = {
    "'": "‘’‚‛`´′ʼ",
    '"': "“”„‟«»″",
    "-": "‐‑‒–—―−",
}
_PLAIN = {fancy: plain for plain, fancies in _LIKE.items() for fancy in fancies}
_RUNS = (" ", "-")
_VARIATION_SELECTORS = "\ufe0e\ufe0f"


@dataclass(frozen=True)
class Folded:
    """`text` folded; `origin[i]` is the offset of its i-th code point in the original.

    Runs of blanks and of dashes are one; quotes, dashes and the ellipsis are ASCII; characters are
    in compatibility decomposition (NFKD), each for itself; invisible ones are left out.
    """

    text: str
    origin: array[int]
    original: str

    def find(self, part: str, begin: int = 0) -> tuple[int, int] | None:
        """Where `part`, itself folded, first stands from folded offset `begin` on.

        (start, end) in the folded text; only where both ends fall between whole characters of the
        original, so that no half of a ligature and no letter without its accent is found.
        """
        start = self.text.find(part, begin)
        while start >= 0:
            end = start + len(part)
            if self._is_edge(start) and self._is_edge(end) and not self._is_marked(end):
                return start, end
            start = self.text.find(part, start + 1)
        return None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Folded offsets as offsets into the original."""
        first, last = self.origin[start], self.origin[end - 1] + 1
        while last < len(self.original) and self.original[last] in _VARIATION_SELECTORS:
            last += 1
        return first, last

    def _is_edge(self, at: int) -> bool:
        return at in (0, len(self.text)) or self.origin[at - 1] != self.origin[at]

    def _is_marked(self, at: int) -> bool:
        return at < len(self.text) and unicodedata.combining(self.text[at]) > 0


@lru_cache(maxsize=8)
def fold(text: str, case: bool = False) -> Folded:
    """Folds `text`; with `case` upper and lower case too. Kept for the last few texts, since many
    quotes are looked for in the same one."""
    pieces: list[str] = []
    origin = array("I")
    last = ""
    for offset, character in enumerate(text):
        plain = _folded(character, case)
        if not plain or (plain == last and plain in _RUNS):
            continue
        pieces.append(plain)
        origin.extend([offset] * len(plain))
        last = plain
    return Folded("".join(pieces), origin, text)


@cache
def _folded(character: str, case: bool) -> str:
    if character.isspace():
        return " "
    if character in _VARIATION_SELECTORS or unicodedata.category(character) == "Cf":
        return ""
    if character in _PLAIN:
        return _PLAIN[character]
    plain = unicodedata.normalize("NFKD", character)
    # Some compatibility forms, such as the acute accent alone, hold a blank of their own.
    plain = "".join(_PLAIN.get(each, each) for each in plain if not each.isspace())
    return unicodedata.normalize("NFKD", plain.casefold()) if case else plain
