"""Whether an offset of a text is inside a word, or inside a character that people see as one.

The rules are those of Unicode's text segmentation (UAX 29), with four differences. In scripts that
are written without blanks, such as Chinese, Japanese and Thai, words cannot be told without a
dictionary, so no offset between two of their characters is inside a word. A full stop or a colon
between letters ends a word, since people often forget the blank after it, and an underscore at the
end of a word is Markdown. A longer word after an apostrophe is a word of its own, as in French
*l’homme*; English endings such as *’t* are not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    r"\u3038-\u303b\u3040-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u9fff\ua9e0-\ua9ff"
    r"\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00017000-\U00018cff\U0001aff0-\U0001b2ff"
    r"\U00020000-\U0003ffff"
)
"""The characters of scripts without blanks between words, for a class of a pattern."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_APOSTROPHES = "'’‘＇"
_IN_WORDS = "·\u0387\u05f3\u05f4\u2027"
_IN_NUMBERS = ".,٫٬'’"
_ENDINGS = frozenset(["s", "t", "d", "m", "n", "re", "ve", "ll", "em"])
_SEPARATOR = "\u200b"
_JOINER = "\u200d"
_REACH = 32
"""The number of invisible characters and marks that are skipped at most, to bound the work."""


def is_inside_word(text: str, at: int) -> bool:
    """Return whether `text` has no word boundary at an offset in code points.

    An offset before a combining mark, within an emoji sequence or within a flag counts as inside a
    word, too. Neither end of the text is.
    """
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isspace() or after.isspace():
        return False
    kind = _kind(after)
    if kind in ("mark", "tag"):
        return True
    left, right = _left(text, at), _right(text, at)
    if left < 0 or right < 0:
        return False
    if _JOINER in (before, after):
        return True
    return _joins(text, left, right)


def is_whole(text: str, start: int, end: int) -> bool:
    """Return whether neither end of a range is inside a word."""
    return not is_inside_word(text, start) and not is_inside_word(text, end)


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    """Return the kind of a character: word, digit, unspaced, flag, mark, tag, hidden or other."""
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return "flag"
    if "\U0001f3fb" <= character <= "\U0001f3ff" or character in "\u0e33\u0eb3\uff9e\uff9f":
        return "mark"
    category = unicodedata.category(character)
    if category[0] == "M":
        return "mark"
    if "\U000e0020" <= character <= "\U000e007f":
        return "tag"
    if category == "Cf":
        return "other" if character == _SEPARATOR else "hidden"
    if category == "Nd":
        return "digit"
    if _UNSPACED.match(character):
        return "unspaced"
    return "word" if category[0] == "L" or category == "Nl" else "other"


def _left(text: str, at: int) -> int:
    """Return the offset of the last visible character before `at`, or -1 if there is none near."""
    for offset in range(at - 1, max(-1, at - 1 - _REACH), -1):
        if _kind(text[offset]) not in ("mark", "tag", "hidden"):
            return -1 if text[offset].isspace() else offset
    return -1


def _right(text: str, at: int) -> int:
    for offset in range(at, min(len(text), at + _REACH)):
        if _kind(text[offset]) not in ("mark", "tag", "hidden"):
            return -1 if text[offset].isspace() else offset
    return -1


def _joins(text: str, left: int, right: int) -> bool:
    """Return whether two visible characters are parts of one word or one flag."""
    a, b = _kind(text[left]), _kind(text[right])
    if a == b == "flag":
        return _flags_before(text, left) % 2 == 1
    if a in ("word", "digit") and b in ("word", "digit"):
        return True
    if a in ("word", "digit"):
        return _is_infix(text, left, right, _right(text, right + 1))
    if b in ("word", "digit"):
        return _is_infix(text, _left(text, left), left, right) and (
            b == "digit" or text[left] not in _APOSTROPHES or _ending(text, left) in _ENDINGS
        )
    return False


def _is_infix(text: str, before: int, at: int, after: int) -> bool:
    """Return whether the character at `at` joins those before and after it to one word."""
    if before < 0 or after < 0:
        return False
    a, sign, b = _kind(text[before]), text[at], _kind(text[after])
    if sign == "_":
        return {a, b} <= {"word", "digit"}
    if a == b == "digit":
        return sign in _IN_NUMBERS
    hebrew = sign == '"' and "\u05d0" <= text[before] <= "\u05ea"
    return a == b == "word" and (sign in _APOSTROPHES or sign in _IN_WORDS or hebrew)


def _ending(text: str, apostrophe: int) -> str:
    """Return the letters after an apostrophe, as far as they could be an English ending."""
    letters = ""
    for offset in range(apostrophe + 1, min(len(text), apostrophe + 4)):
        if _kind(text[offset]) != "word":
            break
        letters += text[offset].casefold()
    return letters


def _flags_before(text: str, left: int) -> int:
    """Count the flag letters up to `left`, of which two are one flag."""
    count = 0
    while left - count >= 0 and count < 2 * _REACH and _kind(text[left - count]) == "flag":
        count += 1
    return count
