"""Types that reports, figures and formats share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

JSON = dict[str, Any]

Progress = Callable[[int, int], None]
"""Called with the number of finished steps of a computation, and of all."""
Value = TypeVar("Value")


def ignore_progress(done: int, total: int) -> None:
    """Ignore the progress."""


Publish = Callable[[JSON, bool], None]
"""Shows a part of a result before the rest exists, and whether only its check is missing."""


def ignore_part(part: JSON, is_whole: bool) -> None:
    """A `Publish` for callers that wait for the whole result."""


Beside = Callable[[Callable[[], JSON]], Callable[[], JSON]]
"""Begins a computation, perhaps in another process; what it returns waits for the value."""


def compute_later(work: Callable[[], JSON]) -> Callable[[], JSON]:
    """A `Beside` that computes when the value is asked for."""
    return work


class Steps:
    """Counts the steps of a computation, for a display of its progress."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.number = progress, total, 0
        progress(0, total)

    def done(self, number: int = 1) -> None:
        self.number += number
        self.progress(min(self.number, self.total), self.total)

    def after(self, value: Value) -> Value:
        """Record that the step with this value is done."""
        self.done()
        return value
