"""The ladder: find the one answer within the text that a model wrote, without guessing.

Each step that was needed is named, so that a report can count it:

- `as-is`: the text is the answer.
- `thinking`: a reasoning block before the answer is set aside.
- `fence`: the answer is in a Markdown fence.
- `prose`: words before or after the answer are set aside.
- `trailing-comma`: a comma after the last member of an object or array is left out.
- `smart-quotes`: typographic quotation marks that delimit a string are replaced by plain ones.

If two different objects fit, the answer is ambiguous. Corrections replace single characters, so
offsets in the corrected text are those in the completion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from judging.parsers.base import STEPS, Step, UnreadError

Take = Literal["", "first", "last"]
IsAnswer = Callable[[Any], bool]
# A reply with megabytes of brackets must not block a run.
MAX_LENGTH = 200_000
MAX_VALUES = 100
MAX_MENDED = 8
_CLOSED = re.compile(r"</(think|thinking|reasoning|reflection)>", re.IGNORECASE)
_OPENED = re.compile(r"\s*<(think|thinking|reasoning|reflection)>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^`\n]*\n?$")
Span = tuple[int, int]
_OPENING, _CLOSING = "“„‟«", "”“‟»"
_BLANK = " \t\r\n"


@dataclass(frozen=True)
class Part:
    """A part of a text, from `start` to `end`, and the steps that led to it."""

    text: str
    start: int
    end: int
    steps: tuple[Step, ...] = ()

    @property
    def inside(self) -> str:
        return self.text[self.start : self.end]

    def narrowed(self, start: int, end: int, *steps: Step) -> Part:
        return Part(self.text, start, end, (*self.steps, *steps))


@dataclass(frozen=True)
class FoundObject:
    """An object in a text. `part` spans it, within the corrected text."""

    value: Any
    part: Part


def without_thinking(text: str) -> Part:
    """Return the part after a reasoning block. Raises UnreadError if the block never ends.

    A chat template may have opened the block, so that only its end is in the completion.
    """
    whole = Part(text, 0, len(text))
    # Everything after the first end is the answer, even if a second end follows a verdict.
    if end := _CLOSED.search(text):
        return whole.narrowed(end.end(), len(text), "thinking")
    if _OPENED.match(text):
        raise UnreadError("the reasoning block never ends, so there is no answer")
    return whole


def reasoning_in(text: str) -> str:
    """Return the reasoning block of a completion, empty if it has none."""
    try:
        start = without_thinking(text).start
    except UnreadError:
        return _OPENED.sub("", text, count=1).strip()
    return _CLOSED.sub("", _OPENED.sub("", text[:start], count=1)).strip()


def strip_fence(part: Part) -> Part:
    """Return the inside of a fence if it is the whole part, otherwise the part itself."""
    fences = list(_fences(part))
    if len(fences) != 1:
        return part
    (outer, inner) = fences[0]
    outside = part.text[part.start : outer[0]] + part.text[outer[1] : part.end]
    return part if outside.strip() else part.narrowed(*inner, "fence")


def _fences(part: Part) -> Iterator[tuple[Span, Span]]:
    """Yield the span of each Markdown fence in a part, and the span of its inside.

    Goes line by line, since a pattern would take quadratic time on many fences.
    """
    at, opened, mark = part.start, (0, 0), ""
    for line in part.inside.splitlines(keepends=True):
        begin, at = at, at + len(line)
        if mark and line.strip() == mark:
            yield (opened[0], at), (opened[1], begin)
            mark = ""
        elif not mark and (fence := _FENCE.match(line)):
            opened, mark = (begin, at), fence[1]


def body_of(text: str) -> Part:
    """Return a model's answer without its reasoning and without a fence around all of it.

    Raises UnreadError if nothing is left.
    """
    part = strip_fence(without_thinking(text))
    if not part.inside.strip():
        raise UnreadError("the completion has no text besides its reasoning")
    return part


def find_json(text: str, fits: IsAnswer, opening: str = "{", take: Take = "") -> FoundObject:
    """Return the one JSON object in a text that fits. Raises UnreadError.

    `opening` says whether an array may be the answer too. If several different ones fit, `take`
    chooses the first or the last, or the text is ambiguous.
    """
    plain = _decoded(text)
    if plain is not None:
        start = len(text) - len(text.lstrip(_BLANK))
        if text[start] not in opening:
            raise UnreadError("the completion is JSON, but not of the form that was asked for")
        return FoundObject(plain, Part(text, start, len(text), ("as-is",)))
    part = without_thinking(text)
    if part.end - part.start > MAX_LENGTH:
        raise UnreadError(f"the completion has over {MAX_LENGTH:,} characters besides its answer")
    if found := [each for each in _values(part, opening) if fits(each.value)]:
        return _only(found, take)
    if not part.inside.strip():
        raise UnreadError("the completion has no text besides its reasoning")
    raise UnreadError("the completion contains no JSON that fits")


def _decoded(text: str) -> Any:
    """Parse a whole text as JSON. Return None if it is not JSON. Raises UnreadError."""
    try:
        return _DECODER.decode(text)
    except UnreadError:
        raise
    except (ValueError, RecursionError):
        return None


def _values(part: Part, opening: str) -> Iterator[FoundObject]:
    """Yield the outermost JSON values of a part, corrected if necessary."""
    brackets = re.compile(f"[{re.escape(opening)}]")
    at, mended, fences = part.start, 0, list(_fences(part))
    for _ in range(MAX_VALUES):
        if not (bracket := brackets.search(part.text, at, part.end)):
            return
        at = bracket.start()
        found = _value_at(part, at, fences, remedies=mended < MAX_MENDED)
        if found is None:
            mended += 1
            at += 1
        else:
            yield found
            at = found.part.end


def _value_at(
    part: Part, start: int, fences: Sequence[tuple[Span, Span]], remedies: bool
) -> FoundObject | None:
    for steps in ((), *_MENDS) if remedies else ((),):
        text = part.text[: part.end]
        for step in steps:
            text = _MEND[step](text, start)
        text += part.text[part.end :]
        if steps and text == part.text:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except UnreadError:
            raise
        except (ValueError, RecursionError):
            continue
        if end <= part.end:
            steps = _around(part, (start, end), fences, steps)
            return FoundObject(value, Part(text, start, end, steps))
    return None


def _around(
    part: Part, span: Span, fences: Sequence[tuple[Span, Span]], remedies: tuple[Step, ...]
) -> tuple[Step, ...]:
    """Return all steps that led to a value: part, fence, surrounding words and corrections."""
    text, steps, (start, end) = part.text, {*part.steps, *remedies}, span
    outside = text[part.start : start] + text[end : part.end]
    for outer, inner in fences:
        if inner[0] <= start and end <= inner[1]:
            steps.add("fence")
            rest = text[inner[0] : start] + text[end : inner[1]]
            outside = text[part.start : outer[0]] + rest + text[outer[1] : part.end]
    if outside.strip():
        steps.add("prose")
    return tuple(step for step in STEPS if step in steps) or ("as-is",)


def _only(found: list[FoundObject], take: Take) -> FoundObject:
    if take:
        return found[0 if take == "first" else -1]
    if any(each.value != found[0].value for each in found):
        raise UnreadError("the completion contains two different answers", "ambiguous")
    return found[0]


def _without_trailing_commas(text: str, start: int) -> str:
    """Replace each comma before a closing bracket by a space."""
    letters = list(text)
    for at, letter in _outside_strings(text, start):
        if letter == "," and _follows(text, at, "}]"):
            letters[at] = " "
    return "".join(letters)


def _with_plain_quotes(text: str, start: int) -> str:
    """Replace the typographic marks that delimit strings."""
    letters = list(text)
    at, closing = start, ""
    while at < len(text):
        letter = text[at]
        if not closing and letter == '"':
            at = _end_of_string(text, at)
        elif not closing and letter in _OPENING + _CLOSING:
            letters[at], closing = '"', _CLOSING
        elif closing and letter == "\\":
            at += 1
        elif closing and letter in closing and _follows(text, at, ":,}]"):
            letters[at], closing = '"', ""
        at += 1
    return "".join(letters)


def _follows(text: str, at: int, letters: str) -> bool:
    """Return whether one of the letters comes next after an offset, blanks aside."""
    after = at + 1
    while after < len(text) and text[after] in _BLANK:
        after += 1
    return after < len(text) and text[after] in letters


def _outside_strings(text: str, start: int) -> Iterator[tuple[int, str]]:
    at = start
    while at < len(text):
        if text[at] == '"':
            at = _end_of_string(text, at)
        else:
            yield at, text[at]
        at += 1


def _end_of_string(text: str, at: int) -> int:
    """Return the offset of the mark that closes the string opened at `at`, or the text's end."""
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at


def _unambiguous(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadError("the completion has a key twice")
    return found


_MEND: dict[Step, Callable[[str, int], str]] = {
    "trailing-comma": _without_trailing_commas,
    "smart-quotes": _with_plain_quotes,
}
_MENDS: tuple[tuple[Step, ...], ...] = (
    ("trailing-comma",),
    ("smart-quotes",),
    ("smart-quotes", "trailing-comma"),
)
_DECODER = json.JSONDecoder(object_pairs_hook=_unambiguous)
