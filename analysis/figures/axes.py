"""What figures share: scales, ticks, axes, keys, and notes under a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from analysis.figures import svg

MARK_ROOM, KEY_GAP, LINE = 46, 18, 16
TEXT_DROP = 4
"""How far below the middle of a text its base line stands."""
STEPS = (1, 2, 5, 10)
Mark = Callable[[float, float], str]


@dataclass(frozen=True)
class Scale:
    """From numbers to places along an axis, in pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 7) -> list[float]:
        """Round numbers on the scale, both ends among them where they are round."""
        step = _step((self.high - self.low) / max(1, most - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> Scale:
        """From 0 to 1, or as much more as some of the values need, to a whole fifth."""
        low = min((0.0, *values_of(values)))
        high = max((1.0, *values_of(values)))
        return cls(math.floor(low * 5) / 5, math.ceil(high * 5) / 5, start, end)


def values_of(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(values)


def _step(least: float) -> float:
    if least <= 0:
        return 1.0
    size: float = 10.0 ** math.floor(math.log10(least))
    return next(step * size for step in STEPS if step * size >= least * (1 - 1e-9))


def said(value: float) -> str:
    """A tick in words: no more digits than it needs."""
    return f"{round(value, 6) + 0.0:g}"


def x_axis(scale: Scale, top: float, bottom: float, label: str = "", whole: bool = False) -> str:
    """Lines from top to bottom at the ticks, their numbers under them, and what they measure."""
    parts = []
    ticks = [t for t in scale.ticks() if not whole or t == round(t)]
    for tick in ticks:
        x = scale.at(tick)
        parts.append(svg.line("grid", (x, top), (x, bottom)))
        parts.append(svg.text("tick", x, bottom + 14, _tick(tick, ticks), "middle"))
    if label:
        middle = (scale.start + scale.end) / 2
        parts.append(svg.text("label", middle, bottom + 31, label, "middle"))
    return "".join(parts)


def y_axis(scale: Scale, left: float, right: float) -> str:
    """Lines from left to right at the ticks, their numbers before them."""
    parts = []
    ticks = scale.ticks()
    for tick in ticks:
        y = scale.at(tick)
        parts.append(svg.line("grid", (left, y), (right, y)))
        words = _tick(tick, ticks)
        parts.append(svg.text("tick", left - 7, y + TEXT_DROP, words, "end"))
    return "".join(parts)


def _tick(tick: float, ticks: Sequence[float]) -> str:
    """All ticks of an axis with equally many digits."""
    digits = max(len(said(each).partition(".")[2]) for each in ticks)
    return f"{round(tick, 6) + 0.0:.{digits}f}"


def whisker(css: str, scale: Scale, y: float, low: float, high: float) -> str:
    """An interval along the x axis, with ends that show in grey too."""
    x1, x2 = scale.at(low), scale.at(high)
    ends = [svg.line(css, (x, y - 3), (x, y + 3)) for x in (x1, x2)]
    return svg.line(css, (x1, y), (x2, y)) + "".join(ends)


def key(entries: Sequence[tuple[Mark, str]], left: float, top: float, width: float) -> Key:
    """What each mark means, in as many lines as it takes."""
    parts, x, y = [], left, top + LINE / 2
    for mark, words in entries:
        shown = svg.fitted(words, width - MARK_ROOM)
        wide = MARK_ROOM + svg.width_of(shown)
        if x > left and x + wide > left + width:
            x, y = left, y + LINE + 2
        parts.append(mark(x + MARK_ROOM / 2 - 3, y))
        title = words if shown != words else ""
        parts.append(svg.text("label", x + MARK_ROOM, y + TEXT_DROP, shown, title=title))
        x += wide + KEY_GAP
    return Key("".join(parts), y + LINE / 2 if entries else top)


@dataclass(frozen=True)
class Key:
    """A key as drawn, and where it ends."""

    drawn: str
    bottom: float


@dataclass
class Notes:
    """Why values are missing: each reason once, under a letter that stands where they would."""

    reasons: list[str] = field(default_factory=list)

    def letter(self, reason: str) -> str:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return _letter(self.reasons.index(reason))

    def drawn(self, left: float, top: float, width: float) -> Key:
        """The reasons with their letters; where they end."""
        parts, y = [], top
        for reason in self.reasons:
            words = f"({_letter(self.reasons.index(reason))}) not defined: {reason}"
            for each in svg.wrapped(words, width, 11):
                y += LINE
                parts.append(svg.text("note", left, y, each))
        return Key("".join(parts), y + 4 if parts else top)


def _letter(index: int) -> str:
    letters = ""
    while index >= 0:
        letters = chr(ord("a") + index % 26) + letters
        index = index // 26 - 1
    return letters


def gutter(names: Iterable[str], most: float, least: float = 0) -> float:
    """The room that names need, within bounds."""
    return max(least, min(most, max((svg.width_of(each) for each in names), default=0)))
