"""The value of a variable that takes several codes: a JSON list of codes in declared order.

Such a value is one label, so exports and statistics handle it like any other value. The empty set
is `[]`. An escape stands alone and is stored as itself, not as a list. In an answer, which is JSON
itself, a set is a list of its codes in any order.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem.protocols.base import Variable


def join_codes(variable: Variable, codes: Collection[str]) -> str:
    """Return the value of a set of codes. `codes` must be codes of the variable."""
    return json.dumps([code for code in variable.codes if code in codes], ensure_ascii=False)


def split_codes(value: str) -> frozenset[str] | None:
    """Return the codes in a value; None for an escape, or what is no list of codes."""
    if not value.startswith("["):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(code, str) for code in found):
        return None
    return frozenset(found)


def shown_codes(value: str) -> str:
    """Return a value for people who read codes: those of a set joined by commas."""
    if split_codes(value) is None:
        return value
    return ", ".join(json.loads(value)) or "none of these"


def names_code(value: object, codes: Collection[str | None]) -> bool:
    """Whether a value is one of the codes, or is a set with one of them.

    `value` is that of a label or of an answer; None is no value.
    """
    if isinstance(value, list):
        return any(code in codes for code in value if isinstance(code, str))
    if value is None or isinstance(value, str):
        return value in codes or bool(value and (split_codes(value) or set()) & set(codes))
    return False


def in_answer(variable: Variable, value: str) -> Any:
    """Return a label's value as an answer has it: the codes of a set as a list."""
    if not variable.several or value in variable.escapes:
        return value
    codes = split_codes(value)
    return value if codes is None else [code for code in variable.codes if code in codes]
