"""Small multiples: a panel for each part of the data, with raters' marks on one shared axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..document import Number
from . import base, svg
from .base import Room
from .svg import Drawing

STEP, BETWEEN = 13, 9
"""The height of a rater's mark, and the room between rows."""
HEAD, FOOT, GAP = 26, 26, 28
NAMES, COUNTS, NATURAL = 120, 40, 340
"""The most room for names, the room for counts, and the width of a panel on a page."""
MOST_ROWS = 12
_OTHERS = {"human": ("person", svg.circle, 4.5), "": ("both", svg.triangle, 5.0)}
"""The style, the mark and its size of raters that are not judges, by kind."""


@dataclass(frozen=True)
class Row:
    """A row: its name, the number of its units (None: not counted), and a number by rater."""

    name: str
    units: int | None
    numbers: Mapping[str, Number]


@dataclass(frozen=True)
class Panel:
    """A panel under its title. `left_out` counts the rows in the middle that are not drawn.

    Of a panel that `is_whole`, none is left out: a system that is missing would mislead.
    """

    title: str
    rows: Sequence[Row]
    left_out: int = 0
    is_whole: bool = False

    def cut(self) -> Panel:
        """Return the panel with the first and the last rows only, if it has too many."""
        if self.is_whole or len(self.rows) <= MOST_ROWS:
            return self
        half = MOST_ROWS // 2
        kept = (*self.rows[:half], *self.rows[-half:])
        return replace(self, rows=kept, left_out=len(self.rows) - MOST_ROWS)


@dataclass(frozen=True)
class Series:
    """A rater in all panels: its key in rows, its words in the key, its kind, a judge's number."""

    name: str
    label: str
    kind: str
    number: int = 0


@dataclass(frozen=True)
class _Frame:
    """The properties that all panels share: raters, the plot's position, and the numbers' range."""

    series: Sequence[Series]
    names: float
    width: float
    scale: base.Scale
    notes: base.Notes

    def height(self, panel: Panel) -> float:
        rows = len(panel.rows) * self.row + (base.LINE if panel.left_out else 0)
        return HEAD + rows + FOOT

    @property
    def row(self) -> float:
        return STEP * len(self.series) + BETWEEN


def sorted_rows(rows: Sequence[Row], first: str) -> list[Row]:
    """Return rows sorted by one rater's number, highest first; undefined ones come last."""

    def rank(row: Row) -> float:
        value = row.numbers[first].value if first in row.numbers else None
        return float("inf") if value is None else -value

    return sorted(rows, key=rank)


def reasons(panels: Sequence[Panel], series: Sequence[Series]) -> list[str]:
    """Return a sentence for each rater without a series: why it has no number."""
    drawn = {each.name for each in series}
    found: dict[str, dict[str, None]] = {}
    for row in (row for panel in panels for row in panel.rows):
        for name, number in row.numbers.items():
            if name not in drawn:
                found.setdefault(name, {})[number.reason] = None
    return [f"No numbers of {name}: {'; '.join(why)}" for name, why in found.items()]


def spread(rows: Sequence[Row], series: Sequence[Series]) -> float:
    """Return the largest distance between the numbers of the rows by one rater."""
    reach = [0.0]
    for each in series:
        known = [row.numbers[each.name].value for row in rows if each.name in row.numbers]
        values = [value for value in known if value is not None]
        reach.append(max(values) - min(values) if values else 0.0)
    return max(reach)


def draw(
    title: str,
    panels: Sequence[Panel],
    series: Sequence[Series],
    label: str,
    room: Room,
    missing: Iterable[str] = (),
    units: str = "units",
) -> Drawing:
    """Draw panels in rows of two, one below the other in a column, until the height is used up.

    `missing` has a sentence for each rater without a number, and `units` is the noun for counts.
    """
    columns = 1 if room.is_narrow or len(panels) == 1 else 2
    wide = room.plot(8 + GAP * (columns - 1), NATURAL * columns) / columns
    cut = [panel.cut() for panel in panels]
    frame = _frame(cut, series, wide, room)
    width = 8 + columns * wide + GAP * (columns - 1)
    # Many panels would end far below what their marks mean.
    key = base.key(list(_entries(series)), 8, 4, width - 16)
    parts, y, drawn = [], 4.0, 0
    for start in range(0, len(cut), columns):
        row = cut[start : start + columns]
        height = max(frame.height(panel) for panel in row)
        if drawn and y + height > room.height:
            break
        for n, panel in enumerate(row):
            parts.append(_panel(panel, frame, 4 + n * (wide + GAP), y, units))
        y, drawn = y + height, drawn + len(row)
    middle = 4 + (frame.scale.start + frame.scale.end) / 2
    parts.append(svg.text("label", middle, y + 6, label, "middle"))
    under = frame.notes.draw(8, y + 8, width - 16)
    rest = [panel.title for panel in cut[drawn:]]
    words = f"Not drawn, but in the data: {', '.join(rest)}" if rest else ""
    left_out = _lines([*missing, words], under.bottom, width - 16)
    return Drawing(
        title,
        width,
        key.bottom + left_out.bottom + 8,
        (base.under(key, (*parts, under.markup, left_out.markup)),),
    )


def _lines(notes: Iterable[str], top: float, width: float) -> base.Key:
    parts, y = [], top
    for words in filter(None, notes):
        lines = []
        for line in svg.wrap(words, width, 11):
            y += base.LINE
            lines.append(svg.text("note", 8, y, line))
        parts.append(f"<g><title>{svg.clean(words)}</title>{''.join(lines)}</g>")
    return base.Key("".join(parts), y)


def _frame(panels: Sequence[Panel], series: Sequence[Series], wide: float, room: Room) -> _Frame:
    names = base.gutter((row.name for each in panels for row in each.rows), room.names(NAMES), 40)
    counted = any(row.units is not None for each in panels for row in each.rows)
    right = wide - (COUNTS if counted else 10)
    numbers = (number for each in panels for row in each.rows for number in row.numbers.values())
    scale = base.Scale.over(base.ends_of(numbers), names + 14, right)
    return _Frame(series, names, wide, scale, base.Notes())


def _panel(panel: Panel, frame: _Frame, left: float, top: float, units: str) -> str:
    scale = replace(frame.scale, start=frame.scale.start + left, end=frame.scale.end + left)
    bottom = top + frame.height(panel) - FOOT
    parts = [
        svg.name("group", left, top + 14, panel.title, frame.width - 6 * len(units) - 20),
        base.x_axis(scale, top + HEAD - 4, bottom, ticks=5),
    ]
    if any(row.units is not None for row in panel.rows):
        parts.append(svg.text("tick", left + frame.width, top + 14, units, "end"))
    y = top + HEAD
    for n, row in enumerate(panel.rows):
        if panel.left_out and n == len(panel.rows) // 2:
            words = f"… {panel.left_out} more in the data"
            parts.append(svg.text("note", scale.start + 4, y + 12, words))
            y += base.LINE
        parts.append(_row(row, frame, scale, left, y))
        y += frame.row
    return "".join(parts)


def _row(row: Row, frame: _Frame, scale: base.Scale, left: float, top: float) -> str:
    middle = top + frame.row / 2
    at = middle + base.TEXT_DROP
    parts = [
        svg.name("label", left + frame.names, at, row.name, frame.names, "end"),
        svg.line("grid", (scale.start, middle), (scale.end, middle)),
    ]
    if row.units is not None:
        parts.append(svg.text("tick", left + frame.width, at, f"{row.units:,}", "end"))
    for n, series in enumerate(frame.series):
        y = top + BETWEEN / 2 + STEP * (n + 0.5)
        if number := row.numbers.get(series.name):
            parts.append(_mark(series, number, row.name, scale, y, frame.notes))
    return "".join(parts)


def _mark(
    series: Series,
    number: Number,
    row: str,
    scale: base.Scale,
    y: float,
    notes: base.Notes,
) -> str:
    title = f"{row}, {series.label}: {number}"
    if number.value is None:
        letter = notes.letter(number.reason)
        cross = svg.cross(scale.start + 8, y, f"{title}, {number.reason}")
        return cross + svg.text("note", scale.start + 15, y + 4, letter)
    line, css, mark, size = _style(series)
    parts = [f"<title>{svg.clean(title)}</title>"]
    if number.low is not None and number.high is not None:
        low, high = max(scale.low, number.low), min(scale.high, number.high)
        parts.append(base.whisker(line, scale, y, low, high))
    parts.append(mark(css, scale.at(number.value), y, "", size))
    return f"<g>{''.join(parts)}</g>"


def _entries(series: Sequence[Series]) -> Iterator[tuple[base.Mark, str]]:
    for each in series:
        line, css, mark, _ = _style(each)
        yield base.sample(line, partial(mark, css)), each.label


def _style(series: Series) -> tuple[str, str, Callable[..., str], float]:
    """Return the style of a rater's line and of its mark, the mark, and its size."""
    if series.kind == "judge":
        return base.judge_line(series.number), base.judge_css(series.number), svg.square, 8
    css, mark, size = _OTHERS[series.kind]
    return css, css, mark, size
