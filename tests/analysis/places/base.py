"""The declaration of places, and functions that all of them use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tests.analysis.kit import Kit

JSON = dict[str, Any]
Place = Callable[[Kit], Any]

PLACES: dict[str, Place] = {}
"""Functions by the id of their entry."""


def gives(name: str, *parts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function that computes the entry `name`, or an entry for each part of it."""

    def declare(place: Callable[..., Any]) -> Callable[..., Any]:
        if not parts:
            PLACES[name] = place
        for part in parts:
            PLACES[f"{name}.{part}"] = partial(_of_part, place, part)
        return place

    return declare


def _of_part(place: Callable[..., Any], part: str, kit: Kit) -> Any:
    return place(kit, part)


def value(estimate: JSON) -> float | None:
    found: float | None = estimate["value"]
    return found


def values(block: JSON, keys: Mapping[str, str]) -> JSON:
    """The values of some estimates of a block, by the kit's names."""
    return {name: value(block[key]) for name, key in keys.items()}


def of_pairs(pairs: Iterable[JSON], key: str) -> JSON:
    """One estimate of each pair of people."""
    return {f"{pair['a']}-{pair['b']}": value(pair[key]) for pair in pairs}
