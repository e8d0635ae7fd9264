"""The value of a variable that takes several codes: a JSON list of codes in declared order.

Such a value is one label, so exports and statistics handle it like any other value. The empty set
is `[]`. An escape stands alone and is stored as itself, not as a list.
"""

from __future__ import annotations

import json
from collections.abc import Collection

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
    except ValueError:
        return None
    if not isinstance(found, list) or not all(isinstance(code, str) for code in found):
        return None
    return frozenset(found)
