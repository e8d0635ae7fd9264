"""The ladder: find the one answer within the text that a model wrote, without guessing.

Each step that was needed is named, so that a report can count it:

- `as-is`: the text is the answer.
- `thinking`: reasoning blocks are set aside (`judging.parsers.reasoning`).
- `fence`: the answer is in a Markdown fence.
- `prose`: words before or after the answer are set aside.
- `trailing-comma`: a comma after the last member of an object or array is left out.
- `smart-quotes`: typographic quotation marks that delimit a string are replaced by plain ones.
- `line-breaks`: line breaks and tabs within strings are taken as they are.
- `comments`: comments within the JSON are left out.
- `python`: the answer is written as Python writes a dict.
- `boolean`: true and false are read as 1 and 0, or as yes and no.
- `keys`: keys that differ in case, blanks or hyphens are read as the ones that were asked for.
- `wrapper`: the answer is the only one within another object or array.

Each brace that holds a key of the answer must be readable, and if two different objects fit, the
answer is ambiguous. Corrections replace single characters, so offsets in the corrected text are
those in the completion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from judging.parsers.base import STEPS, Step, UnreadError
from judging.parsers.reasoning import blank, reasoning_spans

Take = Literal["", "first", "last"]
IsAnswer = Callable[[Any], bool]
Mend = Callable[[str, int], str]
"""Returns the text with what comes from an offset on corrected, and of the same length."""
# A reply with megabytes of brackets must not block a run.
MAX_LENGTH = 200_000
MAX_VALUES = 100
MAX_MENDED = 8
MAX_KEY_DISTANCE = 2_000
_PLACEHOLDER = re.compile(r"\s*(?:…|\.\.\.|<[^<>]+>)\s*")
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


def without_thinking(text: str, own: Sequence[str] = ()) -> Part:
    """Return a text with its reasoning blocks blanked out. Raises UnreadError if one never ends.

    `own` are the marks and patterns of the judge file.
    """
    if spans := reasoning_spans(text, own):
        return Part(blank(text, spans), 0, len(text), ("thinking",))
    return Part(text, 0, len(text))


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


def body_of(text: str, own: Sequence[str] = ()) -> Part:
    """Return a model's answer without its reasoning and without a fence around all of it.

    `own` are the marks and patterns of the judge file. Raises UnreadError if nothing is left.
    """
    part = strip_fence(without_thinking(text, own))
    if not part.inside.strip():
        raise UnreadError("the completion has no text besides its reasoning")
    return part


def find_json(
    text: str, fits: IsAnswer, keys: Sequence[str], opening: str = "{", take: Take = ""
) -> FoundObject:
    """Return the one JSON object in a text that fits. Raises UnreadError.

    `keys` are names of which an answer has at least one: every brace that holds one of them must
    be readable. `opening` says whether an array may be the answer too. If several different ones
    fit, `take` chooses the first or the last, or the text is ambiguous.
    """
    plain = _decoded(text)
    if plain is not None and not _is_form(plain):
        start = len(text) - len(text.lstrip(_BLANK))
        if text[start] not in opening:
            raise UnreadError("the completion is JSON, but not of the form that was asked for")
        return FoundObject(plain, Part(text, start, len(text), ("as-is",)))
    part = without_thinking(text)
    if part.end - part.start > MAX_LENGTH:
        raise UnreadError(f"the completion has over {MAX_LENGTH:,} characters besides its answer")
    search = _Search(part, opening, keys)
    values = list(search.values())
    found = [each for each in values if fits(each.value) and not _is_form(each.value)]
    unfit = any(_has_key(each.value, keys) for each in values if each not in found)
    if found and (search.broken or unfit):
        raise UnreadError("one of the answers in the completion cannot be read", "ambiguous")
    if found:
        return _only(found, take)
    if not part.inside.strip():
        raise UnreadError("the completion has no text besides its reasoning")
    raise UnreadError("the completion contains no JSON that fits")


def _is_form(value: Any) -> bool:
    """Return whether a value is the form of an answer, as a prompt shows it: "reason": "…"."""
    return isinstance(value, dict) and any(
        isinstance(each, str) and _PLACEHOLDER.fullmatch(each)
        for given in value.values()
        for each in (given if isinstance(given, list) else [given])
    )


def _has_key(value: Any, keys: Sequence[str]) -> bool:
    return isinstance(value, dict) and any(key in value for key in keys)


def _decoded(text: str) -> Any:
    """Parse a whole text as JSON. Return None if it is not JSON. Raises UnreadError."""
    try:
        return _DECODER.decode(text)
    except UnreadError:
        raise
    except (ValueError, RecursionError):
        return None


@dataclass
class _Search:
    """Finds the outermost JSON values of a part, corrected if necessary.

    `broken` tells whether a bracket that holds one of the keys could not be read.
    """

    part: Part
    opening: str
    keys: Sequence[str]
    broken: bool = False
    mended: int = field(default=0, init=False)

    def values(self) -> Iterator[FoundObject]:
        part, brackets = self.part, re.compile(f"[{re.escape(self.opening)}]")
        at, fences = part.start, list(_fences(part))
        for _ in range(MAX_VALUES):
            if not (bracket := brackets.search(part.text, at, part.end)):
                return
            at = bracket.start()
            found = _value_at(part, at, fences, remedies=self._may_mend(at))
            if found is None:
                self.mended += 1
                at += 1
                self.broken = self.broken or self._holds_key(at)
            else:
                self.mended += any(step in _MEND for step in found.part.steps)
                yield found
                at = found.part.end

    def _may_mend(self, at: int) -> bool:
        """Return whether corrections may still be tried, since each reads the rest of the text."""
        return self.mended < MAX_MENDED and self.mended * (self.part.end - at) < MAX_LENGTH

    def _holds_key(self, at: int) -> bool:
        """Return whether a key follows a bracket that cannot be read, before the next bracket."""
        end = self.part.text.find("{", at, self.part.end)
        end = min(end if end >= 0 else self.part.end, at + MAX_KEY_DISTANCE)
        names = "|".join(map(re.escape, self.keys))
        pattern = rf"(?<!\w)(?:{names})(?!\w)[\"'”’“]?\s*[:=]"
        return bool(names and re.search(pattern, self.part.text[at:end], re.IGNORECASE))


def _value_at(
    part: Part, start: int, fences: Sequence[tuple[Span, Span]], remedies: bool
) -> FoundObject | None:
    for steps in ((), *_MENDS) if remedies else ((),):
        text = part.text[: part.end]
        for step in steps:
            if (mended := _MEND[step](text, start)) == text:
                break
            text = mended
        else:
            text += part.text[part.end :]
            for decoder, breaks in ((_DECODER, ()), (_LENIENT, ("line-breaks",))):
                try:
                    value, end = decoder.raw_decode(text, start)
                except UnreadError:
                    raise
                except (ValueError, RecursionError):
                    continue
                if end <= part.end:
                    needed = _around(part, (start, end), fences, (*steps, *breaks))
                    value = _without_stand_ins(value) if "python" in steps else value
                    return FoundObject(value, Part(text, start, end, needed))
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
    if take == "first":
        return found[0]
    if not take and any(each.value != found[0].value for each in found):
        raise UnreadError("the completion contains two different answers", "ambiguous")
    return found[-1]


def _outside_strings(inner: str, by: Callable[[re.Match[str]], str]) -> Mend:
    """Return a correction that replaces what `inner` matches, except within plain strings."""
    pattern = re.compile(rf"{_STRING}|(?P<inner>{inner})", re.DOTALL)

    def mend(text: str, start: int) -> str:
        found = pattern.sub(lambda each: by(each) if each["inner"] else each[0], text[start:])
        return text[:start] + found

    return mend


def _spaces(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _plain_width(found: re.Match[str]) -> str:
    """Return a full-width character as a plain one. Strings in typographic marks stay."""
    return found[0] if found[0][0] in "“„" else found[0].translate(_WIDE)


def _plain_marks(found: re.Match[str]) -> str:
    """Return a string in typographic marks with plain ones around it."""
    return f'"{found["inside"]}' + (found["end"] and '"')


def _json_of(found: re.Match[str]) -> str:
    """Return a constant or a string of Python as one of JSON.

    Marks within a string, which JSON would have to escape, get stand-ins of the same length.
    """
    if constant := _CONSTANTS.get(found[0]):
        return constant
    inside = found["inside"].replace("\\'", _DROPPED + "'").replace('"', _QUOTE)
    return f'"{inside}' + (found["end"] and '"')


def _without_stand_ins(value: Any) -> Any:
    """Return a value that was read from a Python dict with the marks of its strings put back."""
    if isinstance(value, str):
        return value.replace(_DROPPED, "").replace(_QUOTE, '"')
    if isinstance(value, list):
        return [_without_stand_ins(each) for each in value]
    if isinstance(value, dict):
        return {_without_stand_ins(key): _without_stand_ins(each) for key, each in value.items()}
    return value


def _unambiguous(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadError("the completion has a key twice")
    return found


# Characters that no model writes, of the private use area.
_QUOTE, _DROPPED = "\ue0f0", "\ue0f1"
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_WIDE = str.maketrans("：，｛｝［］０１２３４５６７８９", ":,{}[]0123456789")
# A string may lack its end.
_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_MEND: dict[Step, Mend] = {
    "trailing-comma": _outside_strings(rf",(?=[{_BLANK}]*[}}\]])", _spaces),
    "smart-quotes": _outside_strings(
        rf"[{_OPENING}{_CLOSING}](?P<inside>(?:[^\\{_CLOSING}]++|\\.|\\\Z|"
        rf"[{_CLOSING}](?![{_BLANK}]*[:,}}\]]))*+)(?P<end>[{_CLOSING}]?)",
        _plain_marks,
    ),
    "comments": _outside_strings(r"//[^\n]*|/\*.{0,2000}?\*/|#[^\n]*", _spaces),
    "python": _outside_strings(
        r"'(?P<inside>(?:[^'\\]++|\\.|\\\Z)*+)(?P<end>'?)|\b(?:True|False|None)\b", _json_of
    ),
    "width": _outside_strings(
        rf"[“„](?:[^”]|(?<=\\)”)*+”?|[{''.join(map(chr, _WIDE))}]", _plain_width
    ),
}
_MENDS: tuple[tuple[Step, ...], ...] = (
    ("trailing-comma",),
    ("smart-quotes",),
    ("comments",),
    ("python",),
    ("smart-quotes", "trailing-comma"),
    ("comments", "trailing-comma"),
    ("python", "trailing-comma"),
    ("width",),
    ("width", "smart-quotes"),
    ("smart-quotes", "comments", "trailing-comma"),
)
_DECODER = json.JSONDecoder(object_pairs_hook=_unambiguous)
_LENIENT = json.JSONDecoder(object_pairs_hook=_unambiguous, strict=False)
