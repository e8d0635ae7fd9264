"""Offsets, exact quotes and sentences of texts that are stored verbatim.

Offsets count Unicode code points. Sentences follow simple rules that are good enough, in most
scripts, to ask about one sentence at a time. `find_in_order` finds parts of a text in a given
order. It searches for each part after the previous one, so that repeated words are found in the
right location, and prefers words to parts of words. It ignores only differences in blanks,
typography, Unicode form and case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from datasets.quotes import Occurrence, choose, choose_next, closest, fold, occurrences, pieces
from tandem.files.rows import Report


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Titles and similar abbreviations precede a name or number and do not end a sentence.
_LEADING = _words(
    "mr mrs ms mx dr prof sr jr st mt ft gen col sgt capt lt cmdr adm maj rev hon pres gov sen rep "
    "vs cf e.g i.e viz al fig figs eq eqs ref refs no nos vol vols pp p ch sec art approx ca c "
    "ed eds est z.b d.h bzw nr bspw m mme mlle"
)
# These end a sentence only before a word that usually begins one.
_CLOSING = _words(
    "inc corp ltd co llc bros etc u.s u.k u.n e.u a.m p.m b.c a.d d.c ph.d m.d b.a m.a "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun usw"
)
_OPENERS = _words(
    "The A An This That These Those It He She They We You I In On At As But And However There "
    "His Her Its Their Our After Before When While If Although Since For From By With Some Many "
    "Most Other Another What Why How Who"
)

# Possessive, and never started within a run, so that a run of stops or closers is read once.
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


def number_in(text: str) -> int:
    """Return the whole number that a form or an address gives, or 0 for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def as_sentence(message: object) -> str:
    """Return a message, such as an error, with a capital and a full stop, or its question mark."""
    text = str(message)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def cut(start: int, end: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range between all points at which spans begin or end, in order."""
    inside = {at for span in spans for at in span if start < at < end}
    yield from pairwise(sorted({start, end, *inside}))


def sentences_of(report: Report) -> tuple[str, ...]:
    """Return the sentences of a report: those of the batch, or else those found in its text."""
    if report.sentences is not None:
        return report.sentences
    return tuple(report.text[start:end] for start, end in sentences(report.text))


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text as (start, end) in code points, without blanks around them.

    Sentences do not overlap, and cover every character that is not blank. A line break ends a
    sentence, unless the line was wrapped. A blank line, a bullet or a capital after the break shows
    that it was not.
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
    """Return whether a line break is more than the wrapping of a long line."""
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
    """Return whether the full stop at `at` ends a sentence, not only an abbreviation."""
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


Method: TypeAlias = Literal["exact", "folded", "joined", "fuzzy", "none"]


@dataclass(frozen=True, slots=True)
class QuoteLocation:
    """The location of a quote: text[start:end] == quote.

    With method "none" it was not found: `start` and `end` are None, and `quote` is the one sought.
    `equal` is the number of locations that fit as well, with this one, which is the first of them.
    `whole` tells whether it is between word boundaries.
    """

    start: int | None
    end: int | None
    quote: str
    method: Method
    equal: int = field(default=1, compare=False)
    whole: bool = field(default=True, compare=False)


def find_quote(text: str, quote: str, start: int | None = None) -> list[QuoteLocation]:
    """Return the locations of a quote in a text by the first of these methods that succeeds:

    1. exact: word for word;
    2. folded: ignoring blanks, typography and Unicode form, then also case;
    3. joined: as several parts of the text in sequence, one entry each;
    4. fuzzy: as a part that differs a little (see `quotes.closest`);
    5. joined in part: the parts that are found, and the rest with method "none".

    If a method finds several, the location is the one nearest to `start`. Without a start, one
    between word boundaries comes before one inside a word. Of equal ones the first is returned,
    with their number. A quote that is blank or not found gives one entry with method "none".
    """
    if not quote.strip():
        return [_not_found(quote)]
    whole = find_exact(text, quote, start) or _folded(text, quote, start)
    if whole:
        return [whole]
    parts = pieces(text, quote, start)
    if not all(part.place for part in parts):
        near = _fuzzy(text, quote, start)
        if near:
            return [near]
    if not any(part.place for part in parts):
        return [_not_found(quote)]
    return [
        _at(text, Occurrence(*part.place, part.equal), "joined")
        if part.place
        else _not_found(quote[part.begin : part.end])
        for part in parts
    ]


def find_exact(text: str, quote: str, start: int | None = None) -> QuoteLocation | None:
    """Return the location of a quote word for word, by the same rule as `find_quote`, or None."""
    if start is not None and start >= 0 and quote and text.startswith(quote, start):
        return QuoteLocation(start, start + len(quote), quote, "exact")
    places = ((at, at + len(quote)) for at in occurrences(text, quote))
    found = choose(text, places, start)
    return _at(text, found, "exact") if found else None


def number_of_words(text: str) -> int:
    """Count the words between blanks.

    In a script without blanks the count is far too low, so its readers are never flagged as too
    fast.
    """
    return len(text.split())


def _folded(text: str, quote: str, start: int | None) -> QuoteLocation | None:
    # A given start is that of the whole quote, with the blanks that folding removes.
    near = None if start is None else start + len(quote) - len(quote.lstrip())
    for case in (False, True):
        quoted = fold(quote, case).text.strip()
        found = fold(text, case).choose(quoted, near)
        if found:
            return _at(text, found, "folded")
    return None


def _fuzzy(text: str, quote: str, start: int | None) -> QuoteLocation | None:
    place = closest(text, quote, start)
    if place is None:
        return None
    # The same words may occur again.
    words = fold(text[slice(*place)], True).text.strip()
    return _at(text, fold(text, True).choose(words, start) or Occurrence(*place), "fuzzy")


def _at(text: str, place: Occurrence, method: Method) -> QuoteLocation:
    start, end = place.start, place.end
    return QuoteLocation(start, end, text[start:end], method, place.equal, place.whole)


def _not_found(quote: str) -> QuoteLocation:
    return QuoteLocation(None, None, quote, "none")


_VARIATION_SELECTORS = "\ufe0e\ufe0f"


@dataclass(frozen=True)
class Gap:
    """Words before, between or after the parts that were found.

    `before` and `after` are the numbers, from 1, of the parts around them. At the beginning of the
    text `before` is None, and at its end `after` is None.
    """

    words: str
    before: int | None
    after: int | None


def find_in_order(text: str, parts: Iterable[str]) -> list[QuoteLocation]:
    """Return the location of each part after the previous one, or method "none".

    Blanks around a part do not count. Invisible characters, such as marks of direction, belong to
    the adjacent part.
    """
    found, at = list[QuoteLocation](), 0
    for part in parts:
        each = _next(text, part.strip(), at)
        found.append(each)
        at = at if each.end is None else each.end
    return _with_hidden(text, found)


def gaps(text: str, found: Sequence[QuoteLocation]) -> Iterator[Gap]:
    """Yield the visible words before, between and after the parts that `find_in_order` found."""
    at, before = 0, None
    for number, each in enumerate(found, start=1):
        if each.start is not None and each.end is not None:
            yield from _gap(text[at : each.start], before, number)
            at, before = each.end, number
    yield from _gap(text[at:], before, None)


def _gap(words: str, before: int | None, after: int | None) -> Iterator[Gap]:
    if not all(each.isspace() or _is_hidden(each) for each in words):
        yield Gap(words.strip(), before, after)


def _next(text: str, words: str, at: int) -> QuoteLocation:
    """Return the next location from `at` on; of two equal ones, that of the stricter method."""
    places = ((start, start + len(words)) for start in occurrences(text, words, at))
    exact = choose_next(text, places, at)
    if exact and not text[at : exact.start].strip():
        return _at(text, exact, "exact")
    near = [_at(text, exact, "exact")] if exact else []
    for case in (False, True):
        folded = fold(words, case).text.strip()
        if found := fold(text, case).choose_next(folded, at):
            near.append(_at(text, found, "folded"))
    return min(near, key=lambda each: (not each.whole, each.start), default=_not_found(words))


def _with_hidden(text: str, found: Sequence[QuoteLocation]) -> list[QuoteLocation]:
    """Extend the parts by adjacent invisible characters, first by those after each part."""
    starts = [each.start for each in found if each.start is not None]
    bounds = iter([*starts[1:], len(text)])
    made, at = list[QuoteLocation](), 0
    for each in found:
        start, end = each.start, each.end
        if start is None or end is None:
            made.append(each)
            continue
        bound = next(bounds)
        while start > at and _is_hidden(text[start - 1]):
            start -= 1
        while end < bound and _is_hidden(text[end]):
            end += 1
        made.append(replace(each, start=start, end=end, quote=text[start:end]))
        at = end
    return made


def _is_hidden(character: str) -> bool:
    return character in _VARIATION_SELECTORS or unicodedata.category(character) == "Cf"


def lines_of(text: str) -> list[str]:
    """Split a text into lines, with any line ends, since browsers use their own."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
