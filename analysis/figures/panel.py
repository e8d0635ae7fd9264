"""Panels side by side, each a plot of its own over a y axis from 0 to 1 or what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.figures import axes, svg

WIDTH, HEIGHT = 230, 180
LEFT, HEAD, FOOT, GAP = 44, 30, 52, 24
NARROWEST = 440
"""How wide a figure of panels is at least: its key stands on one line."""
ACROSS = 2


@dataclass(frozen=True)
class Panel:
    """Where a panel's plot stands on the figure."""

    left: float
    top: float

    @property
    def right(self) -> float:
        return self.left + WIDTH

    @property
    def bottom(self) -> float:
        return self.top + HEIGHT

    def x(self, low: float, high: float) -> axes.Scale:
        return axes.Scale(low, high, self.left, self.right)

    def y(self, values: Sequence[float] = ()) -> axes.Scale:
        return axes.Scale.over(values, self.bottom, self.top)

    def heading(self, name: str) -> str:
        """The name of the judge that it is of, after the sign of judges."""
        y = self.top - 16
        return svg.square("judge", self.left + 5, y) + svg.name(
            "group", self.left + 16, y + axes.TEXT_DROP, name, WIDTH - 16
        )


def panels(number: int) -> list[Panel]:
    """So many panels in rows of two."""
    across, down = LEFT + WIDTH + GAP, HEAD + HEIGHT + FOOT + GAP / 2
    return [Panel(LEFT + across * (n % ACROSS), HEAD + down * (n // ACROSS)) for n in range(number)]


def extent(placed: Sequence[Panel]) -> tuple[float, float]:
    """The width and the height that panels take."""
    return max(NARROWEST, *(p.right + 16 for p in placed)), max(p.bottom for p in placed) + FOOT
