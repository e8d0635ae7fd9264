"""Scales that an option, a call or a file declares: a variable's codes in order, and its level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...statistics import Level
from ..facts import Scale
from ..frame import coded_scale

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class DeclaredScale:
    """The codes of a variable in their order. Without a level they are ordinal."""

    codes: tuple[str, ...]
    level: Level | None = None


def declared_scale(given: str | Sequence[Any]) -> DeclaredScale:
    """Read a scale: `1,2,3`, perhaps with `:ordinal` at its end, or the codes as a list.

    Raises ValueError, whose message says what is wrong.
    """
    level: str = ""
    if isinstance(given, str):
        codes, _, level = given.rpartition(":")
        if level not in LEVELS:
            codes, level = given, ""
        given = codes.split(",")
    elif not isinstance(given, Sequence):
        raise ValueError("is not a list of codes, or text such as 1,2,3:ordinal")
    found = tuple(_code(each) for each in given)
    if len(found) < 2 or not all(found) or len(set(found)) < len(found):
        raise ValueError("is not two or more different codes in their order, such as 1,2,3:ordinal")
    return DeclaredScale(found, cast(Level, level) if level else None)


def _code(given: Any) -> str:
    whole = isinstance(given, float) and given.is_integer()
    return str(int(given) if whole else given).strip()


def is_on_scale(value: str, scale: Scale) -> bool:
    """Return whether a value is a code or an escape of a scale, or another spelling of one."""
    return coded_scale(scale, {(True, value)})[0].categories == scale.categories
