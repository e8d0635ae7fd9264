"""Recognise what the offsets of a file count, and convert them to code points.

JavaScript and Java count UTF-16 units, and some tools count the bytes of UTF-8. A file is read in
such units only if all of it agrees: at least one highlight fits only there, and none fits only in
code points. A highlight that comes with its words fits where the text has them. One without words
fits where the text has an offset for both of its ends and, in other units than code points, no word
is cut. That says less, so it counts only in a file in which no highlight has words that decide.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from annotation.answers.evidence import fields_for
from tandem.labels.file.grouping import Group
from tandem.labels.file.rows import SpanRow
from tandem.labels.word_boundaries import is_whole

Texts = Mapping[str, str]
Width = Callable[[str], int]


def _in_utf16(character: str) -> int:
    return 2 if character > "\uffff" else 1


def _in_utf8(character: str) -> int:
    return 1 + (character > "\x7f") + (character > "\u07ff") + (character > "\uffff")


@dataclass(frozen=True)
class Units:
    """What offsets may count. `width` is the number of units of a character."""

    name: str
    width: Width

    def to_code_points(self, text: str, offset: int) -> int | None:
        """Return an offset in code points, or None if it is within a character or after the end."""
        if text.isascii():
            return offset if offset <= len(text) else None
        bounds = _bounds(text, self.width)
        at = bisect_left(bounds, offset)
        return at if at < len(bounds) and bounds[at] == offset else None

    def nearest(self, text: str, offset: int) -> int:
        """Return an offset in code points, rounded up to a whole character."""
        return offset if text.isascii() else bisect_left(_bounds(text, self.width), offset)


@lru_cache(maxsize=8)
def _bounds(text: str, width: Width) -> array[int]:
    return array("I", accumulate(map(width, text), initial=0))


UTF16 = Units("UTF-16 units, as in JavaScript", _in_utf16)
BYTES = Units("bytes of UTF-8", _in_utf8)
OTHERS = (UTF16, BYTES)


@dataclass(frozen=True)
class Mark:
    """A highlight of the file: its offsets, and its words if the file has them."""

    field: str
    start: int
    end: int | None
    words: str

    @property
    def has_words(self) -> bool:
        return bool(self.words.strip())

    def fits(self, texts: Sequence[str], units: Units | None) -> bool:
        """Return whether one of the texts has the highlight; `units` None are code points."""
        return any(self._fits(text, units) for text in texts)

    def _fits(self, text: str, units: Units | None) -> bool:
        start: int | None = self.start
        end = self.end
        if units:
            start = units.to_code_points(text, self.start)
            end = None if self.end is None else units.to_code_points(text, self.end)
            if start is None or (end is None and self.end is not None):
                return False
        if self.has_words:
            there = start is not None and text.startswith(self.words, start)
            return there and (end is None or end == (start or 0) + len(self.words))
        if end is None or end > len(text) or not text[start:end].strip():
            return False
        # Any offset is in some text, so others than code points must not cut a word either.
        return units is None or is_whole(text, start or 0, end)


def marks_in(group: Group) -> Iterator[Mark]:
    """Yield the highlights of a group that have a start."""
    for checked in group.rows:
        for span in checked.row.spans or ():
            if span.start is not None:
                yield Mark(span.field, span.start, span.end, span.text)


Walk = Callable[[], Iterable[tuple[Group, Texts]]]
"""Yields the groups of a file with the texts of their items, as often as it is called."""


def recognise(walk: Walk) -> Units | None:
    """Return what the offsets of a file count, or None for code points."""
    found: dict[bool, Counter[Units]] = {True: Counter(), False: Counter()}
    for mark, texts in _marks(walk):
        if not mark.fits(texts, None):
            found[mark.has_words].update(units for units in OTHERS if mark.fits(texts, units))
    # Only now, since most files count code points, and other offsets take long to find.
    for has_words, several in found.items():
        for units, _ in several.most_common():
            if not any(
                (mark.has_words or not has_words)
                and mark.fits(texts, None)
                and not mark.fits(texts, units)
                for mark, texts in _marks(walk)
            ):
                return units
        if several:
            return None
    return None


def _marks(walk: Walk) -> Iterator[tuple[Mark, list[str]]]:
    """Yield the highlights in texts in which it matters what their offsets count."""
    for group, texts in walk():
        for mark in marks_in(group):
            there = texts_of(mark.field, texts)
            if not all(map(str.isascii, there)):
                yield mark, there


def texts_of(field: str, texts: Texts) -> list[str]:
    return [texts[name] for name in fields_for(field or next(iter(texts), ""), texts)]


def convert(group: Group, texts: Texts, units: Units) -> None:
    """Convert the offsets of a group's highlights to code points."""
    for n, checked in enumerate(group.rows):
        if checked.row.spans:
            spans = tuple(_converted(span, texts, units) for span in checked.row.spans)
            group.rows[n] = replace(checked, row=replace(checked.row, spans=spans))


def _converted(span: SpanRow, texts: Texts, units: Units) -> SpanRow:
    there = texts_of(span.field, texts)
    if span.start is None or not there:
        return span
    mark = Mark(span.field, span.start, span.end, span.text)
    text = next((text for text in there if mark.fits([text], units)), there[0])
    end = None if span.end is None else units.nearest(text, span.end)
    return replace(span, start=units.nearest(text, span.start), end=end)
