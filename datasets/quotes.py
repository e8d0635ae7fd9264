"""Find a quote in a text even if it was not copied exactly, and which occurrence is meant.

`datasets.text.find_quote` tries the exact words first. *Folding* removes the differences that
copying causes, and keeps a map to the text's own offsets. *Fuzzy* finds the part of a text that a
quote was most likely copied from. *Pieces* are several parts of a text in sequence.

It is the one nearest to the given start. Without a start, an occurrence between word boundaries
comes before one inside a word. Of several equal ones it is the first, and their number is returned,
so that whoever reads the quote can be told. The work grows with the text, not with its product with
the quote or with the number of occurrences.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, lru_cache

from tandem.grouping import grouped
from tandem.labels.word_boundaries import UNSPACED, is_whole

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A range of a text. `equal` is the number of occurrences that fit as well, with this one."""

    start: int
    end: int
    equal: int = 1
    whole: bool = True


def occurrences(text: str, part: str, begin: int = 0) -> Iterator[int]:
    """Yield each offset of `part` from `begin` on, also of occurrences that overlap.

    Two occurrences overlap by a period of the part. So after one, either its last period repeats,
    or the next one begins at least half a part later.
    """
    at = text.find(part, begin) if part else -1
    if at < 0:
        return
    yield at
    size, period = len(part), _period(part)
    last = part[size - period :]
    while True:
        if text.startswith(last, at + size):
            at += period
        else:
            at = text.find(part, at + max(period, size - period + 1))
            if at < 0:
                return
        yield at


@lru_cache(maxsize=64)
def _period(part: str) -> int:
    """Return the smallest shift by which a text agrees with itself (Knuth, Morris, Pratt 1977)."""
    borders, size = [0] * len(part), 0
    for at in range(1, len(part)):
        while size and part[at] != part[size]:
            size = borders[size - 1]
        size += part[at] == part[size]
        borders[at] = size
    return len(part) - size


def choose(text: str, places: Iterable[Range], near: int | None = None) -> Occurrence | None:
    """Return the occurrence that is meant among `places`, ranges of the text in rising order.

    `near` is the given start. The result is None if there is no place.
    """
    found = _nearest(places, near) if near is not None else places
    counts, first = {True: 0, False: 0}, dict[bool, Range]()
    for place in found:
        whole = is_whole(text, *place)
        counts[whole] += 1
        first.setdefault(whole, place)
    for whole in (True, False):
        if whole in first:
            return Occurrence(*first[whole], counts[whole], whole)
    return None


def _nearest(places: Iterable[Range], near: int) -> list[Range]:
    """Return the nearest place, or the two that are equally near."""
    found: list[Range] = []
    for place in places:
        if found and abs(place[0] - near) > abs(found[0][0] - near):
            break
        if found and abs(place[0] - near) < abs(found[0][0] - near):
            found.clear()
        found.append(place)
    return found


def choose_next(text: str, places: Iterable[Range], at: int) -> Occurrence | None:
    """Return the next of `places`, which all begin at `at` or later, in rising order.

    It is the first one if only blanks precede it from `at` on, else the first between word
    boundaries, else the first.
    """
    first: Occurrence | None = None
    for start, end in places:
        whole = is_whole(text, start, end)
        if whole or (first is None and not text[at:start].strip()):
            return Occurrence(start, end, whole=whole)
        first = first or Occurrence(start, end, whole=False)
    return first


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
    """A folded text; `origin[i]` is the offset of its i-th code point in the original.

    A run of blanks or of dashes becomes one. Quotes, dashes and the ellipsis become ASCII. Each
    character is in compatibility decomposition (NFKD), and invisible ones are removed.
    """

    text: str
    origin: array[int]
    original: str

    def places(self, part: str, begin: int = 0) -> Iterator[tuple[int, int]]:
        """Yield each (start, end) of a folded `part` in the folded text, from `begin` on.

        Both ends are between whole characters of the original, so that no half of a ligature and no
        letter without its accent is found.
        """
        for start in occurrences(self.text, part, begin):
            end = start + len(part)
            if self._is_edge(start) and self._is_edge(end) and not self._is_marked(end):
                yield start, end

    def has(self, part: str, begin: int = 0) -> bool:
        return next(self.places(part, begin), None) is not None

    def choose(self, part: str, near: int | None = None) -> Occurrence | None:
        """Return the occurrence of a folded `part` that is meant, in offsets of the original."""
        return choose(self.original, self._spans(part), near)

    def choose_next(self, part: str, at: int) -> Occurrence | None:
        """Like `choose`, for the next occurrence from the offset `at` of the original on."""
        return choose_next(self.original, self._spans(part, self.offset(at)), at)

    def _spans(self, part: str, begin: int = 0) -> Iterator[tuple[int, int]]:
        return (self.span(*place) for place in self.places(part, begin))

    def offset(self, at: int) -> int:
        """Translate an offset of the original into the folded text."""
        return bisect_left(self.origin, at)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Translate folded offsets into offsets of the original."""
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
    """Fold a text; `case` also ignores case. The last few texts are cached, since many quotes are
    searched for in the same text."""
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
    # Some compatibility forms, such as the acute accent alone, contain a blank.
    plain = "".join(_PLAIN.get(each, each) for each in plain if not each.isspace())
    return unicodedata.normalize("NFKD", plain.casefold()) if case else plain


RATIO = 0.9
LEAST_CHARACTERS = 20
LEAST_TOKENS = 4
MOST_TOKENS = 2000

_COMMON = 500
_WINDOWS = 4
_SHORT = 200

# In scripts without blanks, each character is a token.
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}][\w\u0300-\u036f]*")


@dataclass(frozen=True)
class Tokens:
    """The words of a folded text, their offsets, and the indices at which each word occurs."""

    words: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    at: dict[str, list[int]]


def tokens(folded: str) -> Tokens:
    """Return the words of a folded text, without punctuation."""
    found = [(match[0], match.span()) for match in _TOKEN.finditer(folded)]
    at = grouped((word, number) for number, (word, _) in enumerate(found))
    return Tokens(tuple(word for word, _ in found), tuple(span for _, span in found), at)


@lru_cache(maxsize=8)
def _text_tokens(text: str) -> tuple[Folded, Tokens]:
    folded = fold(text, True)
    return folded, tokens(folded.text)


def closest(text: str, quote: str, near: int | None = None) -> tuple[int, int] | None:
    """Return the offsets of the part of `text` most like `quote`, or None below a ratio of `RATIO`.

    The ratio is difflib's, 2 M / T over characters. Words are aligned whole, except where a few
    words replace a few others; punctuation and case do not count. The rarer words vote for
    candidate windows, so the cost grows with the text and not with its product with the quote.
    Short quotes, and quotes of more than `MOST_TOKENS` words, are not searched for. Of equally
    similar parts it is the one nearest to `near`, the given start, or else the first.
    """
    words = tokens(fold(quote, True).text).words
    if not LEAST_TOKENS <= len(words) <= MOST_TOKENS or len(quote) < LEAST_CHARACTERS:
        return None
    folded, there = _text_tokens(text)
    shared = sum(_weight([word]) for word in words if word in there.at)
    if shared < RATIO / 2 * _weight(words):
        return None
    found = [(_ratio(words, there.words[a:b]), a, b) for a, b in _windows(words, there)]
    best = max((ratio for ratio, _, _ in found), default=0.0)
    if best < RATIO:
        return None
    ranges = [(there.ends[a][0], there.ends[b - 1][1]) for ratio, a, b in found if ratio == best]
    spans = [folded.span(*each) for each in ranges]
    return min(spans, key=lambda each: abs(each[0] - (near or 0)))


def _windows(words: Sequence[str], there: Tokens) -> Iterator[tuple[int, int]]:
    """Yield candidate windows as token indices (first, last exclusive)."""
    width = max(4, len(words) // 8)
    votes: Counter[int] = Counter()
    for number, word in enumerate(words):
        places = there.at.get(word, ())
        if len(places) <= _COMMON:
            for place in places:
                bucket = (place - number) // width
                votes[bucket] += 1
                votes[bucket + 1] += 1
    for bucket, _ in votes.most_common(_WINDOWS):
        low = max(0, (bucket - 1) * width - width)
        high = min(len(there.words), (bucket + 1) * width + len(words) + width)
        yield from _trimmed(words, there.words, low, high)


def _trimmed(
    quoted: Sequence[str], words: Sequence[str], low: int, high: int
) -> Iterator[tuple[int, int]]:
    """Yield the aligned part of a window, alone and with room for changed words at its ends."""
    blocks = SequenceMatcher(None, quoted, words[low:high]).get_matching_blocks()[:-1]
    if not blocks:
        return
    first, last = blocks[0], blocks[-1]
    begin, end = low + first.b, low + last.b + last.size
    yield begin, end
    room = len(quoted) - last.a - last.size
    if first.a or room:
        yield max(0, begin - first.a), min(len(words), end + room)


def _ratio(quoted: Sequence[str], found: Sequence[str]) -> float:
    same = 0.0
    for tag, a, b, c, d in SequenceMatcher(None, quoted, found).get_opcodes():
        if tag == "equal":
            same += _weight(quoted[a:b])
        elif tag == "replace":
            same += _common_characters(" ".join(quoted[a:b]), " ".join(found[c:d]))
    return 2 * same / (_weight(quoted) + _weight(found))


def _common_characters(a: str, b: str) -> int:
    if len(a) > _SHORT or len(b) > _SHORT:
        return 0
    return sum(block.size for block in SequenceMatcher(None, a, b).get_matching_blocks())


def _weight(words: Sequence[str]) -> int:
    return sum(len(word) + 1 for word in words)


LEAST_CHARACTERS_JOINED = 12
LEAST_WORDS = 3
WORDS_OF_ONE_CHARACTER = 8
WORDS_BESIDE_LOST = 5
MOST_LOST = 200
MOST_SWALLOWED = 3
STOPS = (".", "!", "?", ";", ":")

# A piece may end before a blank, or after a stop that directly precedes the next piece.
_BREAK = re.compile(r"(?= )|(?<=[.!?,;:)\]\"'])(?=\w)")


@dataclass(frozen=True)
class Piece:
    """A part [begin, end) of the quote and its location in the text, or None.

    `equal` is the number of locations that fit as well, with this one.
    """

    begin: int
    end: int
    place: tuple[int, int] | None
    equal: int = field(default=1, compare=False)


def pieces(text: str, quote: str, near: int | None = None) -> list[Piece]:
    """Split `quote` into the longest parts that occur in `text`, from its beginning on.

    Case, blanks and typography do not count. A part has at least `LEAST_WORDS` words and
    `LEAST_CHARACTERS_JOINED` characters, since shorter ones occur by chance, and at least
    `WORDS_BESIDE_LOST` words if most of the quote was not found. The rest of the quote is returned
    as pieces without a location. `near` is the given start, and applies to the first piece; each
    further piece is searched for after the one before it first.
    """
    there, quoted = fold(text, True), fold(quote, True)
    cuts = _cuts(quoted.text)
    found: list[Piece] = []
    at, behind, lost = 0, 0, 0
    while at < len(cuts) - 1 and lost < MOST_LOST:
        longest = _longest(there, quoted.text, cuts, at)
        if longest is None:
            at, lost = at + 1, lost + 1
            continue
        upto = _at_stop(there, quoted.text, cuts, at, longest)
        first = _skip(quoted.text, cuts[at])
        part = quoted.text[first : cuts[upto]]
        if one := _place(there, part, behind, near):
            place = one.start, one.end
            found.append(Piece(*quoted.span(first, cuts[upto]), place, one.equal))
            behind, near = there.offset(one.start) + len(part), None
        at = upto
    if lost and 2 * sum(piece.end - piece.begin for piece in found) < len(quote):
        found = [piece for piece in found if _has_enough_words(quote[piece.begin : piece.end])]
    return list(_fill_gaps(found, quote))


def _cuts(folded: str) -> list[int]:
    """Return the folded offsets at which a piece may begin or end, including the quote's ends."""
    end = len(folded.rstrip())
    begin = len(folded) - len(folded.lstrip())
    return sorted({begin, end, *(each.start() for each in _BREAK.finditer(folded, begin, end))})


def _longest(there: Folded, quoted: str, cuts: list[int], at: int) -> int | None:
    """Return the cut at which the longest piece from `cuts[at]` ends, by binary search."""
    begin = _skip(quoted, cuts[at])
    low = next((n for n in range(at + 1, len(cuts)) if _is_long(quoted[begin : cuts[n]])), None)
    if low is None or not there.has(quoted[begin : cuts[low]]):
        return None
    high = len(cuts)
    while high - low > 1:
        middle = (low + high) // 2
        longer = there.has(quoted[begin : cuts[middle]])
        low, high = (middle, high) if longer else (low, middle)
    return low


def _at_stop(there: Folded, quoted: str, cuts: list[int], at: int, upto: int) -> int:
    """Shorten the longest piece to a stop if the words after the stop fit the next piece better.

    The longest piece may include the next one's first words by chance. They belong to the next
    piece if it extends equally far with them.
    """
    begin = _skip(quoted, cuts[at])
    for cut in range(upto - 1, max(at, upto - 1 - MOST_SWALLOWED), -1):
        part = quoted[begin : cuts[cut]]
        if upto == len(cuts) - 1 or part[-1:] not in STOPS or not _is_long(part):
            continue
        without = _longest(there, quoted, cuts, upto)
        with_them = _longest(there, quoted, cuts, cut)
        if with_them and with_them >= (without or upto + 1):
            return cut
    return upto


def _place(there: Folded, part: str, behind: int, near: int | None) -> Occurrence | None:
    """Return the next location after the last piece, or else the one that is meant in the text."""
    follows = 0 < behind < len(there.text)
    after = there.choose_next(part, there.origin[behind]) if follows else None
    return after or there.choose(part, near)


def _is_long(part: str) -> bool:
    if len(part) < LEAST_WORDS:
        return False
    words = len(tokens(part).words)
    return words >= WORDS_OF_ONE_CHARACTER or (
        words >= LEAST_WORDS and len(part) >= LEAST_CHARACTERS_JOINED
    )


def _has_enough_words(part: str) -> bool:
    return len(tokens(fold(part, True).text).words) >= WORDS_BESIDE_LOST


def _skip(folded: str, at: int) -> int:
    return at + 1 if folded[at : at + 1] == " " else at


def _fill_gaps(found: list[Piece], quote: str) -> Iterator[Piece]:
    at = 0
    for piece in [*found, Piece(len(quote), len(quote), None)]:
        if quote[at : piece.begin].strip():
            rest = quote[at : piece.begin]
            begin = at + len(rest) - len(rest.lstrip())
            yield Piece(begin, at + len(rest.rstrip()), None)
        if piece.place:
            yield piece
        at = piece.end
