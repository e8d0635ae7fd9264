"""Draws of queries and cells from a committed seed, the same on every machine and in any language.

A number is the first eight bytes of SHA-256 of the seed and the names of what is drawn, joined by
the unit separator, as a fraction of 2^64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import log

import numpy as np

from ..statistics import Ints


def uniform(seed: str, *names: object) -> float:
    """Return a number in (0, 1)."""
    text = "\x1f".join((seed, *map(str, names))).encode()
    return (int.from_bytes(sha256(text).digest()[:8], "big") + 0.5) / 2**64


def order_by_size(sizes: Mapping[int, int], left: Iterable[int], seed: str, cut: int) -> list[int]:
    """Return queries in the order of their draw, with chances proportional to their sizes.

    `left` are the queries that are not labelled yet. Those without accepted cells are left out. The
    keys -ln u / size give a draw without replacement (Efraimidis and Spirakis 2006).
    """
    keys = {q: -log(uniform(seed, "whole", cut, q)) / sizes[q] for q in left if sizes[q]}
    return sorted(keys, key=lambda query: (keys[query], query))


def even_order(queries: int, seed: str) -> list[int]:
    """Return all queries in random order, each with the same chance at each place."""
    return sorted(range(queries), key=lambda query: (uniform(seed, "even", query), query))


def draw_cells(
    sizes: Sequence[int] | Ints, seed: str, cut: int, draw: int, k: int
) -> tuple[int, list[int]]:
    """Return the query of one draw with replacement by size, and the positions of `k` cells of it.

    A query with fewer cells gives all of them.
    """
    ends = np.cumsum(sizes)
    at = uniform(seed, "cells", cut, draw) * ends[-1]
    query = int(np.searchsorted(ends, at, side="right"))
    cells = range(int(sizes[query]))
    return query, sorted(cells, key=lambda c: (uniform(seed, "cell", cut, draw, c), c))[:k]
