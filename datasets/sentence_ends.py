"""Sentences by plain rules: good enough to ask about one at a time, in most scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Titles and the like stand before a name or number and end no sentence.
_LEADING = _words(
    "mr mrs ms mx dr prof sr jr st mt ft gen col sgt capt lt cmdr adm maj rev hon pres gov sen rep "
    "vs cf e.g i.e viz al fig figs eq eqs ref refs no nos vol vols pp p ch sec art approx ca c "
    "ed eds est z.b d.h bzw nr bspw m mme mlle"
)
# These may end one: they do where a word follows that mostly begins one.
_CLOSING = _words(
    "inc corp ltd co llc bros etc u.s u.k u.n e.u a.m p.m b.c a.d d.c ph.d m.d b.a m.a "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun usw"
)
_OPENERS = _words(
    "The A An This That These Those It He She They We You I In On At As But And However There "
    "His Her Its Their Our After Before When While If Although Since For From By With Some Many "
    "Most Other Another What Why How Who"
)

# Possessive, and never begun within a run, so that a run of stops or closers is read once.
_CLOSERS = r"[\"'”’»›)\]}」』）】》〕*_]*+"
_STOPS = ".!?…‽؟۔।॥܀᙮⁇⁈⁉"
_STOP = re.compile(
    rf"(?P<stop>(?<![{_STOPS}])[{_STOPS}]++)(?:\[\d+\])*+{_CLOSERS}(?=\s|$)"
    rf"|(?P<wide>[。！？｡．]++){_CLOSERS}"
    r"|(?P<line>\r\n|[\n\r\v\f\x85\u2028\u2029])"
)
_WORD_BEFORE = re.compile(r"(?:[^\W\d_]+\.)*[^\W\d_]+$")
_NEXT_WORD = re.compile(r"[\s\"'“‘«(\[]*(\w*)")
_BULLET = re.compile(r"\s*(?:[-*•‣▪◦·–—]\s|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]\s|#)")
_MARKER = re.compile(r"[\s(\"“*_]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\.$")
_REACH = 40


def sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of a text as (start, end) in code points, in order, without blanks around.

    They do not overlap, and every character that is not blank is in one. A line ends a sentence
    unless it was only wrapped: a blank line, a bullet or a capital after it shows that it was not.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for end in [*_ends(text), len(text)]:
        part = text[start:end]
        if part.strip():
            begin = start + len(part) - len(part.lstrip())
            spans.append((begin, start + len(part.rstrip())))
        start = end
    return spans


def _ends(text: str) -> Iterator[int]:
    start = 0
    for match in _STOP.finditer(text):
        if match["wide"] is not None:
            ends = True
        elif match["line"] is not None:
            ends = _ends_line(text, match.end())
        else:
            ends = _ends_sentence(text, start, match)
        if ends:
            start = match.end()
            yield start


def _ends_line(text: str, after: int) -> bool:
    """Whether a line break is more than the wrapping of a long line."""
    following = text[after : after + _REACH]
    return not following[:1].islower() or _BULLET.match(following) is not None


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    stop, at = match["stop"], match.start("stop")
    if at - start < _REACH and _MARKER.match(text, start, at + 1):
        return False
    following = _NEXT_WORD.match(text, match.end())
    word = following[1] if following else ""
    if stop not in (".", "…", "..", "..."):
        return not (word[:1].islower() and match.end() - match.end("stop") > 0)
    if word[:1].islower():
        return False
    return stop != "." or _ends_word(text, max(start, at - _REACH), at, word)


def _ends_word(text: str, low: int, at: int, following: str) -> bool:
    """Whether the full stop at `at` ends a sentence and not only an abbreviation or initial."""
    before = _WORD_BEFORE.search(text, low, at)
    if before is None:
        return True
    word = before[0]
    if word.lower() in _LEADING:
        return False
    is_initial = len(word) == 1 and word.isupper()
    is_dotted = "." in word and all(len(part) == 1 for part in word.split("."))
    if is_initial or is_dotted or word.lower() in _CLOSING:
        return not following or following in _OPENERS
    return True
