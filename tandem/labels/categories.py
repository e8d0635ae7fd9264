"""The categories of a variable and their codes, from its scale and the values that occur."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from ..protocols.base import split_codes
from .facts import CodedVariable, Scale, number_of, scale_of

_WHOLE_NUMBER = re.compile(r"(-?[0-9]+)\.0+")


def categories_of(variable: CodedVariable, values: Iterable[str]) -> tuple[str, ...]:
    """Return a protocol's categories of a variable, for one of sets those among the `values`."""
    scale = scale_of(variable)
    if scale.level != "set":
        return scale.categories
    return coded_scale(scale, {(True, value) for value in values})[0].categories


def coded_scale(scale: Scale, used: Collection[tuple[bool, str]]) -> tuple[Scale, dict[str, int]]:
    """Return a scale like `whole_scale`, and the code of each of its categories and spellings.

    `used` pairs whether a person gave it with each value. At level set, spellings are other JSON
    texts of the same codes. Anything but a list is an escape.
    """
    if scale.level == "set":
        return _coded_sets(scale, {value for _, value in used})
    spelled = _spellings(scale, {value for _, value in used})
    whole = whole_scale(scale, {(by_people, spelled.get(v, v)) for by_people, v in used})
    code = {category: n for n, category in enumerate(whole.categories)}
    return whole, code | {v: code[category] for v, category in spelled.items()}


def _coded_sets(scale: Scale, values: set[str]) -> tuple[Scale, dict[str, int]]:
    """Return a scale of the sets that occur, the smaller ones first, and the code of each text."""
    found = {value: codes for value in values if (codes := split_codes(value)) is not None}
    others = set[str]().union(*found.values()) - {*scale.single}
    single = (*scale.single, *sorted(others))
    rank = {code: n for n, code in enumerate(single)}

    def order(codes: frozenset[str]) -> tuple[int, list[int]]:
        return len(codes), sorted(rank[code] for code in codes)

    sets = sorted(set(found.values()), key=order)
    place = {codes: n for n, codes in enumerate(sets)}
    listed = ([code for code in single if code in codes] for codes in sets)
    categories = tuple(json.dumps(codes, ensure_ascii=False) for codes in listed)
    whole = replace(scale, categories=categories, single=single)
    return whole, {value: place[codes] for value, codes in found.items()}


def _spellings(scale: Scale, values: set[str]) -> dict[str, str]:
    """Return the values that are other spellings of a category's number, with that category.

    A data frame writes 3 as 3.0 as soon as one cell of its column is empty. If the categories have
    no order, no other spelling counts as the same.
    """
    known = {*scale.categories, *scale.escapes}
    if scale.level == "nominal":
        whole = {
            value: cut[1] for value in values - known if (cut := _WHOLE_NUMBER.fullmatch(value))
        }
        return {value: to for value, to in whole.items() if to in known | values}
    first: dict[float, str] = {}
    found: dict[str, str] = {}
    for value in (*scale.categories, *sorted(values - known, key=lambda v: (len(v), v))):
        if (number := number_of(value)) is not None and first.setdefault(number, value) != value:
            found[value] = first[number]
    return found


def whole_scale(scale: Scale, used: Collection[tuple[bool, str]]) -> Scale:
    """Return a scale with every category in use: its own, people's additions, and judges' own.

    `used` pairs whether a person gave it with each value.
    """
    known = {*scale.categories, *scale.escapes}
    added = {value for by_people, value in used if by_people} - known
    rest = {value for _, value in used} - known - added
    if not known and not added:
        added, rest = rest, set()
    categories = _ranked(scale.categories, added | rest)
    declared = bool(scale.categories)
    return replace(scale, categories=categories, foreign=frozenset(rest), declared=declared)


def _ranked(declared: tuple[str, ...], others: set[str]) -> tuple[str, ...]:
    """Return declared categories in their order, then others; numbers are sorted."""
    every = [*declared, *sorted(others)]
    if others and all(number_of(category) is not None for category in every):
        every.sort(key=float)
    return tuple(every)
