"""Normal text: what a verdict is read from, without the dress that models put around it.

Only verdicts are read from it. Quotes, reasons and written answers stay as they are in the
completion, and each place in the normal text leads back to its place there. The steps, in order:

- `invisible`: zero-width and bidirectional marks, soft hyphens and keycaps are left out.
- `struck-out`: words that are struck out are left out, since their author withdrew them.
- `width`: full-width forms, the digits of other scripts, mathematical letters and unusual blanks
  are replaced by plain ones. Superscripts are not digits.
- `html`: entities and tags that only format or name the answer are left out.
- `latex`: `\\boxed{…}`, `\\text{…}`, `$…$` and the like are opened.
- `markdown`: emphasis, code marks, headings, quotes, bullets and escapes are left out.

A judge file's own marks, such as `[[` and `<verdict>`, are found first and stay.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from judging.parsers.base import Step

Span = tuple[int, int]
NORMAL_STEPS: tuple[Step, ...] = ("invisible", "struck-out", "width", "html", "latex", "markdown")

_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe0e\ufe0f\u20e3\ufeff]+"
)
_STRUCK = re.compile(
    r"~~(?=\S)[^~\n]{1,300}~~|<(?P<tag>s|del|strike)>[^<>]{0,300}</(?P=tag)>", re.IGNORECASE
)
_UNUSUAL = re.compile(r"[^\x00-\x7f]")
_ENTITY = re.compile(r"&(?:#\d{1,6}|#x[0-9a-f]{1,6}|[a-z]{2,8}\d?);", re.IGNORECASE)
_LINE_TAGS = "p|div|br|li|tr|h[1-6]|pre|hr|blockquote|ul|ol|table"
_TAG = re.compile(
    rf"</?(?:(?P<line>{_LINE_TAGS})|b|strong|i|em|u|mark|span|font|big|small|code|tt|kbd|samp|"
    r"center|tbody|thead|td|th|answer|final_?answer|verdict|rating|score|label|result|response|"
    r"output|final|choice|option|judge?ment)(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_LATEX = (
    re.compile(
        r"\\(?:d?boxed|fbox|text(?:bf|it|rm|sf|tt)?|math(?:bf|it|rm|sf|tt)|bm|bf|rm|emph)\s*"
        r"\{(?P<kept>[^{}]{0,300})\}"
    ),
    re.compile(r"(?<![\\\w$])\${1,2}(?P<kept>[^\s$](?:[^$\n]{0,100}[^\s$])?)\${1,2}(?![\w$])"),
    re.compile(r"\\(?:[ ,;!]|quad\b|(?:left|right)\b)"),
)
_NO_NUMBER = r"(?=[^\W\d]|[\[<(\"'*]|\d{1,4}[.):]\s)"
_MARKDOWN = (
    ("`~", re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+-]*[ \t]*$", re.MULTILINE)),
    ("\\", re.compile(r"\\(?P<kept>[\\`*_{}\[\]()#.!|>\"'])")),
    ("`", re.compile(r"`+")),
    ("*_", re.compile(r"(?<!\d)\*{2,}|\*{2,}(?!\d)|(?<!\w)_{2,}|_{2,}(?!\w)")),
    ("*", re.compile(r"(?<![\w*])\*(?P<kept>[^\s*](?:[^*\n]{0,300}?[^\s*])?)\*(?![\w*])")),
    ("_", re.compile(r"(?<!\w)_(?P<kept>[^\s_](?:[^_\n]{0,300}?[^\s_])?)_(?!\w)")),
    ("#", re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)),
    # Before a number, > may be a comparison, and a dash or a plus its sign.
    (">", re.compile(rf"^[ \t]*(?:>[ \t]?)+{_NO_NUMBER}", re.MULTILINE)),
    ("*•‣·●▪◦", re.compile(r"^[ \t]*[*•‣·●▪◦][ \t]+", re.MULTILINE)),
    ("-+–—", re.compile(rf"^[ \t]*[-+–—][ \t]+{_NO_NUMBER}", re.MULTILINE)),
)
"""Each pattern with the characters of which a text must have one."""


@dataclass(frozen=True)
class Normal:
    """A normal text. `origins` has each character's offset in the completion, and the end's.

    `edits` are the steps that changed something, with the span of the completion that they changed.
    """

    text: str
    origins: Sequence[int]
    edits: Sequence[tuple[Step, Span]] = ()

    def place(self, start: int, end: int) -> Span:
        """Return the span of the completion that a span of this text comes from."""
        if start >= end:
            return self.origins[start], self.origins[start]
        return self.origins[start], self.origins[end - 1] + 1

    def steps(self, start: int, end: int) -> tuple[Step, ...]:
        """Return the steps that were needed to read a span: those that changed it or its edges."""
        before = self.origins[start - 1] + 1 if start else 0
        after = self.origins[end] if end < len(self.origins) else self.origins[-1]
        needed = {
            step
            for step, (begin, stop) in self.edits
            if begin < max(after, before + 1) and stop > before
        }
        return tuple(step for step in NORMAL_STEPS if step in needed)


def normalise(text: str, start: int, end: int, own: Sequence[str] = ()) -> Normal:
    """Return the normal text of a part of a completion. `own` are the judge file's own marks."""
    draft = _Draft(text[start:end], list(range(start, end + 1)))
    marks = _own_marks(tuple(own))
    draft.replace("invisible", _INVISIBLE, lambda found: "")
    if "~~" in draft.text or "<" in draft.text:
        draft.replace("struck-out", _STRUCK, lambda found: "")
    if not draft.text.isascii():
        draft.replace("width", _UNUSUAL, _plain)
    if "&" in draft.text:
        draft.replace("html", _ENTITY, _entity)
    if "<" in draft.text:
        draft.replace("html", _TAG, lambda tag: "\n" if tag["line"] else "", marks)
    if "\\" in draft.text or "$" in draft.text:
        for pattern in (_LATEX[0], *_LATEX):
            draft.replace("latex", pattern, None, marks)
    for letters, pattern in _MARKDOWN:
        if any(letter in draft.text for letter in letters):
            draft.replace("markdown", pattern, None, marks)
    return Normal(draft.text, draft.origins, draft.edits)


class _Draft:
    """A text that is being changed, with the origin of each of its characters."""

    def __init__(self, text: str, origins: list[int]) -> None:
        self.text, self.origins = text, origins
        self.edits: list[tuple[Step, Span]] = []

    def replace(
        self,
        step: Step,
        pattern: re.Pattern[str],
        by: Callable[[re.Match[str]], str | None] | None,
        marks: re.Pattern[str] | None = None,
    ) -> None:
        """Replace each match by at most one character, or by its group `kept` if `by` is None.

        Matches that would change a judge file's own mark are left.
        """
        changes = list(self._changes(pattern, by, marks))
        if not changes:
            return
        parts, origins, at = [], [], 0
        for start, end, letters in changes:
            self.edits.append((step, (self.origins[start], self.origins[end - 1] + 1)))
            parts += [self.text[at:start], letters]
            origins += [*self.origins[at:start], *self.origins[start : start + len(letters)]]
            at = end
        self.text = "".join([*parts, self.text[at:]])
        self.origins = [*origins, *self.origins[at:]]

    def _changes(
        self,
        pattern: re.Pattern[str],
        by: Callable[[re.Match[str]], str | None] | None,
        marks: re.Pattern[str] | None,
    ) -> Iterator[tuple[int, int, str]]:
        if (first := pattern.search(self.text)) is None:
            return
        own = [mark.span() for mark in marks.finditer(self.text)] if marks else []
        for found in pattern.finditer(self.text, first.start()):
            start, end = found.span()
            if by is not None:
                letters = by(found)
                if letters is not None and not _overlaps((start, end), own):
                    yield start, end, letters
                continue
            kept = found.span("kept") if "kept" in pattern.groupindex else (end, end)
            around = [span for span in ((start, kept[0]), (kept[1], end)) if span[0] < span[1]]
            if not any(_overlaps(span, own) for span in around):
                for begin, stop in around:
                    yield begin, stop, ""


def _overlaps(span: Span, own: Sequence[Span]) -> bool:
    """Return whether a span overlaps one of several, which are in order and apart."""
    after = bisect_left(own, (span[1], 0))
    return after > 0 and own[after - 1][1] > span[0]


@lru_cache(maxsize=256)
def _own_marks(own: tuple[str, ...]) -> re.Pattern[str] | None:
    marks = sorted({mark for mark in own if mark}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, marks)), re.IGNORECASE) if marks else None


@lru_cache(maxsize=4096)
def _plain_letter(letter: str) -> str | None:
    """Return the plain form of a character, or None if it has none."""
    if letter in "【】":
        return "[" if letter == "【" else "]"
    category = unicodedata.category(letter)
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.digit(letter))
    if unicodedata.decomposition(letter).startswith(("<wide>", "<font>")):
        plain = unicodedata.normalize("NFKC", letter)
        return plain if len(plain) == 1 else None
    return None


def _plain(found: re.Match[str]) -> str | None:
    return _plain_letter(found[0])


def _entity(found: re.Match[str]) -> str | None:
    plain = html.unescape(found[0])
    plain = " " if plain == "\xa0" else plain
    return plain if len(plain) == 1 else None
