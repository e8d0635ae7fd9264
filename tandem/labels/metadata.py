"""Strata from the metadata of a batch's rows, and from lengths of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .selection import Strata

OF_META = ("domain", "kind", "category", "source", "sensitivity", "complexity", "popularity")
"""The members of `meta` that are strata."""
MOST_VALUES = 30
"""GaRAGe has 25 categories, the longest list of the papers."""
LENGTHS = ("short", "middle", "long")


def meta_strata(metas: Iterable[tuple[str, Mapping[str, Any] | None]]) -> Strata:
    """Return the strata in the `meta` of labels files, by item."""
    found: dict[str, dict[str, str]] = {}
    for item, meta in metas:
        for name in OF_META:
            if meta and name in meta and (value := text_of(meta, name)) is not None:
                found.setdefault(name, {}).setdefault(item, value)
    return dividing_strata(found)


def length_strata(lengths: Mapping[str, int]) -> dict[str, str]:
    """Return the tertile of each item's length. Equal lengths share a tertile."""
    if not lengths:
        return {}
    low, high = np.quantile(list(lengths.values()), (1 / 3, 2 / 3), method="lower")
    return {item: LENGTHS[int(n > low) + int(n > high)] for item, n in lengths.items()}


def dividing_strata(strata: Strata) -> Strata:
    """Return the strata with more than one value and not too many."""
    return {name: of for name, of in strata.items() if 1 < len(set(of.values())) <= MOST_VALUES}


def in_order(values: Iterable[str]) -> list[str]:
    """Sort lengths by their rank, and leave other values in their order."""
    given = list(values)
    return sorted(given, key=LENGTHS.index) if set(given) <= set(LENGTHS) else given


def text_of(meta: Any, name: str) -> str | None:
    """Return a member of `meta` as text, or None."""
    value = meta.get(name) if isinstance(meta, dict) else None
    if value is None:
        return None
    return str(value) if isinstance(value, str | bool | int) and str(value) else None
