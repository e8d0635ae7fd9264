"""Reasoning blocks: found by their marks, and set aside before a verdict is read.

The list of marks is open: those of a new model are one more line here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from judging.parsers.base import UnreadError

Span = tuple[int, int]

TAGS = (
    "think", "thinking", "thought", "thoughts", "analysis", "reasoning", "reflection", "reason",
    "rationale", "scratchpad", "scratch_pad", "inner_thoughts", "inner_monologue", "antthinking",
    "chain_of_thought", "cot", "deliberation", "plan", "planning", "draft", "seed:think",
)  # fmt: skip
"""Names of tags such as `<think>` … `</think>`, in any case."""

PAIRS = (
    (r"\[think(?:ing)?\]", r"\[/think(?:ing)?\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|channel\|>\s*(?:analysis|commentary)\b[^<]{0,100}<\|message\|>", r"<\|end\|>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<unused94>", r"<unused95>"),
    (r"\Aanalysis(?-i:(?=[A-Z“\"]))", r"assistantfinal"),
)
"""Other marks, as patterns; the last is harmony's channels without their special tokens."""

FRAMES = (
    r"<\|start\|>\s*assistant",
    r"<\|channel\|>\s*final\b[^<]{0,100}<\|message\|>",
    r"<\|(?:begin|end)_of_solution\|>",
    r"<\|(?:START|END)_RESPONSE\|>",
    r"<\|(?:return|im_end|eot_id|endoftext|end_of_text)\|>",
    r"(?:</s>|<eos>|<end_of_turn>)(?=\s*\Z)",
)
"""Marks around the answer itself, which belong neither to the reasoning nor to the answer."""


def reasoning_spans(text: str, own: Sequence[str] = ()) -> list[Span]:
    """Return the spans of the reasoning blocks in a text, and of marks around the answer.

    A chat template may have opened the first block, so that only its end is in the text. `own` are
    the marks and patterns of the judge file: a tag that occurs in them is not reasoning. Raises
    UnreadError if a block never ends.
    """
    spans: list[Span] = []
    if not any(letter in text for letter in "<[◁") and not text.startswith("analysis"):
        return spans
    waiting, start, first = "", 0, True
    for span, kind, is_end in _marks(text, tuple(mark.casefold() for mark in own)):
        if kind == "frame":
            spans.append(span)
        elif waiting:
            if is_end and kind == waiting:
                spans.append((start, span[1]))
                waiting = ""
        elif not is_end:
            waiting, start, first = kind, span[0], False
        elif first:
            # Everything before the first end is reasoning; a later end belongs to the answer.
            spans.append((0, span[1]))
            first = False
    if waiting:
        raise UnreadError("the reasoning block never ends, so there is no answer")
    return sorted(spans)


def _marks(text: str, own: tuple[str, ...]) -> Iterator[tuple[Span, str, bool]]:
    """Yield each mark in order: its span, its kind, and whether it ends a block."""
    for mark in _scanner(own).finditer(text):
        group = str(mark.lastgroup)
        if group == "tag":
            yield mark.span(), mark["name"].casefold(), mark["tag"].startswith("</")
        elif group == "frame":
            yield mark.span(), group, False
        else:
            yield mark.span(), group[1:], group[0] == "e"


@lru_cache(maxsize=64)
def _scanner(own: tuple[str, ...]) -> re.Pattern[str]:
    """Compile one pattern of all marks, without the tags that occur in a judge file."""
    names = [name for name in TAGS if not any(f"<{name}>" in mark for mark in own)]
    kinds = [rf"(?P<tag></?(?P<name>{'|'.join(map(re.escape, names))})(?:\s[^<>]{{0,200}})?>)"]
    for number, (opening, closing) in enumerate(PAIRS):
        if not any(re.search(opening, mark, re.IGNORECASE) for mark in own):
            kinds += [f"(?P<s{number}>{opening})", f"(?P<e{number}>{closing})"]
    kinds.append(f"(?P<frame>{'|'.join(FRAMES)})")
    return re.compile("|".join(kinds), re.IGNORECASE)


def blank(text: str, spans: Sequence[Span]) -> str:
    """Return the text with spans replaced by blanks, so that all offsets stay."""
    parts, at = [], 0
    for start, end in spans:
        if end > at:
            parts += [text[at : max(at, start)], " " * (end - max(at, start))]
            at = end
    return "".join([*parts, text[at:]])
