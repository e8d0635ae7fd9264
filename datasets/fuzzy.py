"""The stretch of a text that a quote was most likely copied from with small changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from datasets.folding import Folded, fold

RATIO = 0.9
LEAST_CHARACTERS = 20
LEAST_TOKENS = 4
MOST_TOKENS = 2000

_COMMON = 500
_WINDOWS = 4
_SHORT = 200

# Scripts that are written without blanks give one token a character.
_TOKEN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    r"\U00020000-\U0003ffff][\w\u0300-\u036f]*"
)


@dataclass(frozen=True)
class Tokens:
    """Words of a folded text, where each stands in it, and at which numbers each word comes."""

    words: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    at: dict[str, list[int]]


def tokens(folded: str) -> Tokens:
    """The words of a folded text, punctuation left out."""
    found = [(match[0], match.span()) for match in _TOKEN.finditer(folded)]
    at: dict[str, list[int]] = {}
    for number, (word, _) in enumerate(found):
        at.setdefault(word, []).append(number)
    return Tokens(tuple(word for word, _ in found), tuple(span for _, span in found), at)


@lru_cache(maxsize=8)
def _text_tokens(text: str) -> tuple[Folded, Tokens]:
    folded = fold(text, True)
    return folded, tokens(folded.text)


def closest(text: str, quote: str) -> tuple[int, int] | None:
    """Offsets of the stretch of `text` most like `quote`, or None below a ratio of `RATIO`.

    The ratio is difflib's, 2 M / T over characters, with words as the smallest aligned parts but
    where a few stand for a few others; punctuation and case count nothing. Windows are proposed by
    votes of the rarer words for their place, so the cost grows with the text and not with its
    product with the quote. Quotes that are short or over `MOST_TOKENS` words are not looked for.
    """
    wanted = tokens(fold(quote, True).text).words
    if not LEAST_TOKENS <= len(wanted) <= MOST_TOKENS or len(quote) < LEAST_CHARACTERS:
        return None
    folded, there = _text_tokens(text)
    shared = sum(_weight([word]) for word in wanted if word in there.at)
    if shared < RATIO / 2 * _weight(wanted):
        return None
    best, place = RATIO, None
    for first, last in _windows(wanted, there):
        ratio = _ratio(wanted, there.words[first:last])
        if ratio > best or (place is None and ratio >= RATIO):
            best, place = ratio, (first, last)
    if place is None:
        return None
    return folded.span(there.ends[place[0]][0], there.ends[place[1] - 1][1])


def _windows(wanted: Sequence[str], there: Tokens) -> Iterator[tuple[int, int]]:
    """Proposed stretches as token numbers (first, last exclusive)."""
    width = max(4, len(wanted) // 8)
    votes: Counter[int] = Counter()
    for number, word in enumerate(wanted):
        places = there.at.get(word, ())
        if len(places) <= _COMMON:
            for place in places:
                bucket = (place - number) // width
                votes[bucket] += 1
                votes[bucket + 1] += 1
    for bucket, _ in votes.most_common(_WINDOWS):
        low = max(0, (bucket - 1) * width - width)
        high = min(len(there.words), (bucket + 1) * width + len(wanted) + width)
        yield from _trimmed(wanted, there.words, low, high)


def _trimmed(
    wanted: Sequence[str], words: Sequence[str], low: int, high: int
) -> Iterator[tuple[int, int]]:
    """The part of a window that aligns, alone and with room for changed words at its ends."""
    blocks = SequenceMatcher(None, wanted, words[low:high]).get_matching_blocks()[:-1]
    if not blocks:
        return
    first, last = blocks[0], blocks[-1]
    begin, end = low + first.b, low + last.b + last.size
    yield begin, end
    room = len(wanted) - last.a - last.size
    if first.a or room:
        yield max(0, begin - first.a), min(len(words), end + room)


def _ratio(wanted: Sequence[str], found: Sequence[str]) -> float:
    same = 0.0
    for tag, a, b, c, d in SequenceMatcher(None, wanted, found).get_opcodes():
        if tag == "equal":
            same += _weight(wanted[a:b])
        elif tag == "replace":
            same += _common_characters(" ".join(wanted[a:b]), " ".join(found[c:d]))
    return 2 * same / (_weight(wanted) + _weight(found))


def _common_characters(a: str, b: str) -> int:
    if len(a) > _SHORT or len(b) > _SHORT:
        return 0
    return sum(block.size for block in SequenceMatcher(None, a, b).get_matching_blocks())


def _weight(words: Sequence[str]) -> int:
    return sum(len(word) + 1 for word in words)
