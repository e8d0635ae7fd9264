"""JSON in the cells of a CSV file, as strict as the lines of a JSON Lines file."""

from __future__ import annotations

import json
import math
from typing import Any

from annotation.protocols.checking import storable

MAX_DIGITS = 30


def strict_json(text: str) -> Any:
    """The value of a cell.

    Raises ValueError for broken JSON, a key given twice, NaN, Infinity, a number of over
    `MAX_DIGITS` digits, and for what no text may hold; RecursionError where it nests too deep.
    """
    value = json.loads(
        text,
        object_pairs_hook=_unique,
        parse_constant=_refuse,
        parse_float=_finite,
        parse_int=_integer,
    )
    _check_texts(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice")
    return members


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _check_texts(value: Any) -> None:
    if isinstance(value, str) and not storable(value):
        raise ValueError("holds a character that no text may hold")
    if isinstance(value, dict):
        _check_texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for each in value:
            _check_texts(each)
