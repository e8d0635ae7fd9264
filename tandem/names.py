"""What a name may be: of campaigns, batches, judges, juries, teams and pseudonyms.

A name is one line that people can read and type. So it has no line end, tab or other control
character, nothing that reorders the text around it, and something that can be seen. The names of
accounts have a stricter rule of their own.
"""

from __future__ import annotations

import unicodedata

LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that look empty, although Unicode has them among letters, signs and marks."""


def why_no_name(name: str, longest: int) -> str:
    """Return what is wrong with a name, as in "has a line end"; an empty text if nothing is."""
    if len(name) > longest or not any(map(_is_seen, name)):
        return f"is blank or longer than {longest} characters"
    for character in name:
        if fault := _fault(character):
            return f"has {fault}"
    return ""


def has_controls(text: str) -> bool:
    """Return whether a text has a line end or another control character."""
    return any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text)


def _is_seen(character: str) -> bool:
    return character not in UNSEEN and unicodedata.category(character)[0] not in "CZM"


def _fault(character: str) -> str:
    if character == "\0":
        return "a NUL character"
    if character in LINE_ENDS:
        return "a line end"
    if unicodedata.category(character) in ("Cc", "Cs") or character in REORDERING:
        return f"a control character (U+{ord(character):04X})"
    return ""
