"""Scales that an option, a call or a file declares: a variable's codes in order, and its level."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ...protocols.base import split_codes
from ...statistics import Level
from ...statistics.estimate import LEVELS
from ..categories import coded_scale
from ..facts import Scale


@dataclass(frozen=True)
class DeclaredScale:
    """The codes of a variable in their order. Without a level they are ordinal.

    At level set, a label is a JSON list of any of them.
    """

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
    """Return whether a value is a code or an escape of a scale, or another spelling of one.

    On a scale of sets, it is a list of codes. Any word but a code may be an escape.
    """
    if scale.level == "set":
        codes = split_codes(value)
        return value not in scale.single if codes is None else codes <= {*scale.single}
    return coded_scale(scale, {(True, value)})[0].categories == scale.categories


def with_sets(
    scales: Mapping[str, Scale], values: Mapping[str, Collection[str]]
) -> dict[str, Scale]:
    """Return the scales with those of variables whose labels are sets of codes, by their `values`.

    They are declared, or nothing is declared of the variable and all of its labels are JSON lists.
    If their codes are not declared, they are those that occur.
    """
    found = dict(scales)
    for name, given in values.items():
        sets = [split_codes(value) for value in given]
        if given and name not in found and None not in sets:
            found[name] = Scale((), "set")
        if (scale := found.get(name)) and scale.level == "set" and not scale.single:
            used = set[str]().union(*(codes for codes in sets if codes is not None))
            found[name] = replace(scale, single=tuple(sorted(used)))
    return found
