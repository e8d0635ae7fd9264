"""What takes long to count is not counted for every look at it.

Small counts are always made anew. Of large ones the last result is shown until it is old, and
while one look makes the next, the others are still given it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import caches

T = TypeVar("T")
MANY = 20_000
"""Items, answers or labels from which on a result is kept."""
FRESH, LONGEST_WORK, STALE = 60, 60, 3600  # seconds


def kept(key: str, make: Callable[[], tuple[T, int]]) -> T:
    """What `make` gives with its size, or what it gave in the last minute where that is large."""
    cache = caches["reports"]
    found: tuple[float, T] | None = cache.get(key)
    if found is not None:
        is_fresh = time.time() - found[0] < FRESH
        if is_fresh or not cache.add(f"{key}-at-work", 1, LONGEST_WORK):
            return found[1]
    made, size = make()
    if size > MANY:
        cache.set(key, (time.time(), made), STALE)
        cache.delete(f"{key}-at-work")
    return made
