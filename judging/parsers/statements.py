"""Statements: a verdict counts only as the whole of what a model says about it.

A statement is a place where a reply announces a verdict. Its word must be delimited on both sides:
a sign, a comparison, a range or a fraction of another scale is no code, and the *no* in *not* is no
word. After the verdict that is taken nothing may follow that could be another one: a code, a number
of the scale, a negation, or words that withdraw it. A negation may follow if the verdict itself
negates, since it then only gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from judging.parsers.words import (
    EXPLICIT,
    HEDGES,
    LACKING,
    NEGATED_CLAIM,
    NEGATING,
    NEGATIONS,
    NUMERALS,
    PREDICATE,
    WITHDRAWALS,
)

Span = tuple[int, int]

_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_FRACTION = re.compile(
    r"\s*(?P<open>\()?\s*(?:/|÷|\bout\s+of\b|\bof\b|\bon\s+a\s+scale\s+of\b|\bvon\b|"
    r"\bsur\b|\bsobre\b|\bsu\b|满分|分之)"
    r"\s*(?:(?:0|1)\s*(?:-|–|to)\s*)?(?P<of>\d+(?:[.,]\d+)?)(?(open)\s*\)?|)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"[.,]0+(?![\d])")
_NUMBER_AHEAD = re.compile(r"\d+")
_LEAD = re.compile(
    r"(?:(?:the|my|final|overall)\s+){0,5}(?:verdict|answer|label|score|rating|grade|result|option|choice|"
    r"decision|judge?ment|assessment|level|category|support)\s*(?:\bis\b\s*)?[:=]\s*[\"'“‘«(\[{]*\s*",
    re.IGNORECASE,
)
_OPTION = re.compile(r"(?:answer|option|assistant|response|choice)\s+(?=\w[\W_]*$)", re.IGNORECASE)
_OPENERS, _STOPS = " \t\r\n\"'“‘«([{", ".,;:!。，、！"
_CLOSERS = "\"'”’»)]}"
_POINTS = "分点點점"
_SIGNS = "+-−–—<>≤≥≦≧≪≫~≈≃≅±.,/^#$€£@*_≠¬\\|&%"
_FAR_SIGNS = "+<>≤≥≦≧≪≫~≈≃≅±≠¬−^"
"""Signs that belong to a number even if a blank stands between."""

_PARTIAL = re.compile(r"part", re.IGNORECASE)
SENTENCE = re.compile(r"[.!。！](?=\s|$)|[;；\n]|。")


@dataclass(frozen=True)
class Word:
    """A word of a verdict within a text, where `end` is after all that belongs to it: `3/3`."""

    text: str
    start: int
    end: int


@lru_cache(maxsize=256)
def marker_pattern(marker: str) -> re.Pattern[str]:
    """Compile the words that announce a verdict, in any case and spelling: Final-Score =."""
    tokens = re.findall(r"[^\W_]+|[^\w\s]", marker)
    kinds = ["[:=|]" if token == ":" else re.escape(token) for token in tokens]
    begin = r"(?<![^\W_])" if tokens and tokens[0].isalnum() else ""
    end = r"(?![^\W_])" if tokens and tokens[-1].isalnum() else ""
    return re.compile(begin + r"[\s_-]*".join(kinds) + end, re.IGNORECASE)


def delimited(text: str, start: int, end: int, words: Iterable[str]) -> Word | None:
    """Return the word at a span of a text, or None if it is a part of something else.

    `words` are all words of the variable. The largest number among them is the denominator that a
    fraction may have.
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    if start == end:
        return None
    said = text[start:end]
    if not said[0].isdigit() or not said[-1].isdigit():
        inside = (start and _joins(text, start - 1, said[0], -1)) or _joins(text, end, said[-1], 1)
        return None if inside else Word(said, start, end)
    if not _is_free_before(text, start):
        return None
    stop = end
    if whole := _WHOLE.match(text, stop):
        stop = whole.end()
    if fraction := _FRACTION.match(text, stop):
        if fraction["of"] != _largest(words):
            return None
        stop = fraction.end()
    while text[stop : stop + 1] and text[stop] in _POINTS:
        stop += 1
    return Word(said, start, stop) if _is_free_after(text, stop) else None


def sole_word(text: str, words: Iterable[str]) -> str | None:
    """Return the word that a short text consists of, or None if it says more or something else.

    Quotation marks, brackets and a final period may surround it, and a word such as *Verdict:* may
    precede it.
    """
    bare = text.strip().lstrip(_OPENERS)
    if lead := _LEAD.match(bare) or _OPTION.match(bare):
        bare = bare[lead.end() :].lstrip(_OPENERS)
    known, end = tuple(words), len(bare.rstrip(_CLOSERS + _STOPS + " \t\r\n"))
    if number := _NUMBER_AHEAD.match(bare):
        found = delimited(bare, 0, number.end(), known)
        whole = found is not None and found.end >= end and found.text in known
        return found.text if whole and found is not None else None
    folded = bare[:end].casefold()
    return bare[:end] if any(word.casefold() == folded for word in known) else None


def _joins(text: str, at: int, edge: str, way: int) -> bool:
    """Return whether the character beside a word makes it a part of a longer one."""
    letter = text[at : at + 1]
    if letter.isalnum() or letter == "_":
        return edge.isalnum()
    if letter and letter in "'’-/|&":
        beyond = text[at + way : at + way + 1] if at + way >= 0 else ""
        return edge.isalnum() and beyond.isalnum()
    return letter in ("+", "*", "~", "?", "？") and way > 0


def _is_free_before(text: str, start: int) -> bool:
    """Return whether nothing before a number belongs to it."""
    at = start - 1
    while at >= 0 and text[at] in "\"'“‘«([{":
        at -= 1
    if at < 0:
        return True
    if text[at] in "-–—" and at and text[at - 1].isalpha():
        return True  # as in Rating-3
    if text[at].isalnum() or text[at] in _SIGNS:
        return False
    while at >= 0 and text[at] in " \t":
        at -= 1
    far = text[at] if at >= 0 else ""
    if far and far in "-–—":
        # A dash after a word separates; after a colon, or at the beginning, it may be a sign.
        while at >= 0 and text[at] in " \t-–—":
            at -= 1
        return at >= 0 and text[at].isalpha()
    if far == "=":
        return at == 0 or text[at - 1] not in "<>!~"
    return not far or far not in _FAR_SIGNS


def _is_free_after(text: str, end: int) -> bool:
    """Return whether nothing after a number belongs to it."""
    while text[end : end + 1] and text[end] in _CLOSERS:
        end += 1
    near, beyond = text[end : end + 1], text[end + 1 : end + 2]
    if near.isalnum() or (near and near in "+*^_%‰°?？≤≥<>~≈±/\\=$€£½¼¾-−–—"):
        # A dash that is followed by a word separates, and 3= is not a code.
        return (
            near in "-–—" and bool(near) and beyond.isalpha() and text[end + 2 : end + 3].isalpha()
        )
    if near and near in ".,:" and beyond.isdigit():
        return False
    rest = text[end:].lstrip(" \t\xa0")
    if rest[:1] and rest[0] in "+<>≤≥~≈±½¼¾%^/?":
        return False
    return not re.match(r"[-−–—]\s*\d", rest)


@lru_cache(maxsize=256)
def _largest_of(words: tuple[str, ...]) -> str:
    numbers = [word for word in words if word.isdecimal()]
    return max(numbers, key=int, default="")


def _largest(words: Iterable[str]) -> str:
    return _largest_of(tuple(words))


@dataclass(frozen=True)
class Vocabulary:
    """The words of the variables that an answer is read for, with their codes.

    `texts` are the options' own texts, as the judge's prompt has them, by word.
    """

    codes: Mapping[str, frozenset[str]]
    texts: Mapping[str, str]

    def contradiction(self, rest: str, words: Iterable[str], *, first: bool = False) -> str | None:
        """Return what follows a verdict and could be another one, or None if nothing does.

        `words` are the words of the verdict. `first` says that a reason follows by design.
        """
        chosen = list(words)
        if first:
            found = EXPLICIT.search(rest)
            return found[0] if found else None
        if found := PREDICATE.match(rest):
            return found[0].strip()
        rest = self._without_own_text(rest, chosen)
        if found := WITHDRAWALS.search(rest) or NEGATED_CLAIM.search(rest):
            return found[0]
        sentence = SENTENCE.split(rest, maxsplit=1)[0]
        if not any(self._negates(word) for word in chosen) and (
            found := NEGATIONS.search(rest) or LACKING.search(sentence)
        ):
            return found[0]
        # That only a part is there is the reason for such a verdict.
        if not any(_PARTIAL.match(word) for word in chosen) and (found := HEDGES.search(sentence)):
            return found[0]
        return self._other_code(rest, chosen)

    def _without_own_text(self, rest: str, chosen: list[str]) -> str:
        for word in chosen:
            own = self.texts.get(word.casefold(), "")
            bare = rest.lstrip(" \t\"'”’)]}:.,=–—-")
            if own and bare.casefold().startswith(own.casefold()):
                return bare[len(own) :]
        return rest

    def _negates(self, word: str) -> bool:
        """Return whether a verdict is itself a negation, by its word, its code or its own text."""
        codes = " ".join(sorted(self.codes.get(word.casefold(), ())))
        own = self.texts.get(word.casefold(), "")
        return bool(NEGATING.search(f"{word} {codes} {own}"))

    def _other_code(self, rest: str, chosen: list[str]) -> str | None:
        mine = frozenset().union(*(self.codes.get(w.casefold(), frozenset()) for w in chosen))
        folded = {word.casefold() for word in chosen}
        for word, text in self.texts.items():
            if word not in folded and text.count(" ") > 2 and text.casefold() in rest.casefold():
                return text
        for match in self._pattern.finditer(rest):
            word = match[0]
            codes = self.codes.get(word.casefold(), frozenset())
            if word.casefold() not in folded and not (codes and codes <= mine):
                return word
        numbers = [float(word) for word in self.codes if word.isdecimal()]
        if numbers:
            if numeral := NUMERALS.search(rest):
                return numeral[0]
            for match in _NUMBER.finditer(rest):
                value = float(match[0].replace(",", "."))
                if min(numbers) <= value <= max(numbers) and match[0] not in chosen:
                    return match[0]
        return None

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _words_pattern(tuple(sorted(self.codes)))


@lru_cache(maxsize=256)
def _words_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a pattern of the words of a vocabulary that are no numbers.

    A single letter counts only as a capital, since *a* is also an article.
    """
    kinds = []
    for word in sorted(words, key=len, reverse=True):
        if len(word) == 1 and word.isalpha():
            kinds.append(re.escape(word.upper()))
        elif not word.isdecimal():
            kinds.append(f"(?i:{re.escape(word)})")
    return re.compile(rf"(?<!\w)(?:{'|'.join(kinds)})(?!\w)" if kinds else r"(?!)")
