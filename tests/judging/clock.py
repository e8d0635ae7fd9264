"""A clock that moves only when a test moves it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now
