"""What a process keeps in memory of what never changes: so much of it at the most."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """The things that were asked for last: `most` of them, and so much of `weight` in all."""

    def __init__(self, most: int, heaviest: int, weight: Callable[[Thing], int]) -> None:
        self._most, self._heaviest, self._weight = most, heaviest, weight
        self._kept: OrderedDict[object, tuple[Thing, int]] = OrderedDict()
        self._sum = 0
        self._lock = threading.Lock()

    def get(self, key: object) -> Thing | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: object, thing: Thing) -> Thing:
        """Keeps it, unless another thread came first, and gives it back."""
        weight = self._weight(thing)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = thing, weight
                self._sum += weight
            while len(self._kept) > self._most or self._sum > self._heaviest:
                self._sum -= self._kept.popitem(last=False)[1][1]
        return thing

    def __len__(self) -> int:
        return len(self._kept)
