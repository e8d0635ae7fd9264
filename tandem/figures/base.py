"""The declaration of a figure, and scales, axes, keys, panels and grids of figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from ..document import PLAIN, Number, Table, in_noun, letter_of
from ..types import JSON
from . import svg
from .svg import Drawing

Part = Literal["variables", "scores", "measures", "metrics", "sampled"]
"""The part of a report with a figure's subjects. The last three belong to the report of measures.
"""
Place = Literal["people", "judges", "systems", "slices"]
"""The section that a figure is in."""
MARK_ROOM, KEY_GAP, LINE = 46, 18, 16
TEXT_DROP = 4
"""The distance from the middle of a text down to its baseline."""
STEPS = (1, 2, 5, 10)
Mark = Callable[[float, float], str]
WIDTH, HEIGHT = 230, 180
LEFT, HEAD, FOOT, GAP = 44, 30, 52, 24
NARROWEST = 440
"""The smallest width of a figure of panels, whose key is on one line."""
ACROSS = 2
NAMES_SHARE = 0.34
CELL, CELL_GAP = 40, 2
NARROWEST_CELL, WIDEST, LEAST_CELL = 48, 104, 33
NUMBER_ROOM, SIGN_ROOM = 8, 14
"""The free space in a cell beside its words."""
COLOURS, DASHES = 3, 4
"""After this many judges, colours and dashes begin again; a dozen still differ in one of them."""
DARKEST = 0.45
"""The share of colour in the darkest cell, chosen to keep letters readable in light and dark mode.
"""


@dataclass(frozen=True)
class Subject:
    """One variable or one score of a report: its name, its object, and the raters' kinds."""

    name: str
    block: JSON
    kinds: Mapping[str, str]

    @property
    def noun(self) -> Sequence[str]:
        """The name of its units, in singular and plural."""
        found: Sequence[str] = self.block.get("noun", PLAIN)
        return found

    @property
    def judges(self) -> JSON:
        """The variable's block of each judge."""
        return dict(self.block["judges"])

    def judge_number(self, name: str) -> int:
        """Return a judge's number in the report, so that it looks alike in all figures."""
        judges = [each for each, kind in self.kinds.items() if kind == "judge"]
        return judges.index(name) if name in judges else 0


@dataclass(frozen=True)
class Room:
    """The space for a drawing, in pixels. `width` is None on a page, which sets no limit.

    `height` limits drawings of many parts, to two screens or a page of a paper.
    """

    width: float | None = None
    height: float = 1480

    def names(self, most: float) -> float:
        """Return the largest width that names beside a plot may take."""
        return most if self.width is None else min(most, NAMES_SHARE * self.width)

    def plot(self, beside: float, natural: float) -> float:
        """Return the width of a plot that leaves `beside` for names and margins."""
        return natural if self.width is None else self.width - beside

    def within(self, beside: float) -> float | None:
        """Return the width of a matrix that leaves `beside` for names and margins."""
        return None if self.width is None else self.width - beside

    @property
    def is_narrow(self) -> bool:
        return self.width is not None and self.width < 2 * WIDTH


PAGE, TELEPHONE = Room(), Room(340)


class Draw(Protocol):
    """Draws a subject into the given room."""

    def __call__(self, subject: Subject, room: Room = PAGE) -> Drawing: ...


@dataclass(frozen=True)
class Figure:
    """A figure: its name in addresses, its title, and the part of the report that it shows.

    `place` is its section. `suits` says whether there is anything to draw. `data` has the drawn
    numbers in full precision, `chart` is its Vega-Lite view of them, and `caption` explains how to
    read the figure. `size` is the number of things along the axis that grows; a page leaves out a
    drawing with too many. One that `turns` is drawn a second time for pages as narrow as a column.
    """

    name: str
    title: str
    part: Part
    caption: str
    suits: Callable[[Subject], bool]
    data: Callable[[Subject], Table]
    draw: Draw
    chart: Callable[[Subject], JSON]
    place: Place = "judges"
    size: Callable[[Subject], int] = lambda subject: 0
    turns: bool = False

    def caption_of(self, subject: Subject) -> str:
        """Return the caption with the subject's noun for units."""
        return in_noun(self.caption, subject.noun)

    @property
    def of_measures(self) -> bool:
        """Whether it shows the report of measures instead of the agreement report."""
        return self.part in ("measures", "metrics", "sampled")


class Series(NamedTuple):
    """A kind of number in a figure: its key in the report, its name, its lines' style, its mark.

    The specification takes its colour from the style. A `banded` one has its intervals as a band.
    """

    key: str
    label: str
    css: str
    mark: Mark
    banded: bool = True


@dataclass(frozen=True)
class Scale:
    """Maps numbers to positions along an axis, in pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def width(self) -> float:
        return abs(self.end - self.start)

    def ticks(self, most: int = 7) -> list[float]:
        """Return round numbers on the scale, including round ends."""
        step = _step((self.high - self.low) / max(1, most - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> Scale:
        """Return a scale from 0 to 1, extended in steps of one fifth if values lie outside."""
        return cls(*bounds_of(values), start, end)


def ends_of(numbers: Iterable[Number]) -> list[float]:
    """Return the values and the ends of intervals that there are, for the range of an axis."""
    return [n for each in numbers for n in (each.value, each.low, each.high) if n is not None]


def ends_of_score(subject: Subject) -> tuple[float, float] | None:
    """Return the ends of a score's scale, None if they are unknown. A measure is from 0 to 1."""
    if "about" not in subject.block:
        return 0.0, 1.0
    ends = subject.block["bounds"]
    return None if ends is None else (ends[0], ends[1])


def bounds_of(values: Iterable[float]) -> tuple[float, float]:
    """Return the ends of an axis from 0 to 1, extended by fifths if values lie outside."""
    known = tuple(values)
    low, high = min((0.0, *known)), max((1.0, *known))
    return math.floor(low * 5) / 5, math.ceil(high * 5) / 5


def _step(least: float) -> float:
    if least <= 0:
        return 1.0
    size: float = 10.0 ** math.floor(math.log10(least))
    return next(step * size for step in STEPS if step * size >= least * (1 - 1e-9))


def format_tick(value: float) -> str:
    """Format a tick with as few digits as it needs."""
    return f"{round(value, 6) + 0.0:g}"


def x_axis(
    scale: Scale, top: float, bottom: float, label: str = "", whole: bool = False, ticks: int = 7
) -> str:
    """Draw a vertical grid line at each tick, with its number below, and the axis label."""
    parts = []
    marked = [t for t in scale.ticks(ticks) if not whole or t == round(t)]
    for tick in marked:
        x = scale.at(tick)
        parts.append(svg.line("grid", (x, top), (x, bottom)))
        parts.append(svg.text("tick", x, bottom + 14, _tick(tick, marked), "middle"))
    if label and svg.width_of(label) > scale.width:
        parts.append(svg.text("label", scale.end, bottom + 31, label, "end"))
    elif label:
        middle = (scale.start + scale.end) / 2
        parts.append(svg.text("label", middle, bottom + 31, label, "middle"))
    return "".join(parts)


def y_axis(scale: Scale, left: float, right: float) -> str:
    """Draw a horizontal grid line at each tick, with its number to the left."""
    parts = []
    ticks = scale.ticks()
    for tick in ticks:
        y = scale.at(tick)
        parts.append(svg.line("grid", (left, y), (right, y)))
        words = _tick(tick, ticks)
        parts.append(svg.text("tick", left - 7, y + TEXT_DROP, words, "end"))
    return "".join(parts)


def _tick(tick: float, ticks: Sequence[float]) -> str:
    """Format a tick with as many digits as all ticks of its axis."""
    digits = max(len(format_tick(each).partition(".")[2]) for each in ticks)
    return f"{round(tick, 6) + 0.0:.{digits}f}"


def whisker(css: str, scale: Scale, y: float, low: float, high: float) -> str:
    """Draw an interval along the x axis, with ends that are visible without colour."""
    x1, x2 = scale.at(low), scale.at(high)
    ends = [svg.line(css, (x, y - 3), (x, y + 3)) for x in (x1, x2)]
    return svg.line(css, (x1, y), (x2, y)) + "".join(ends)


def key(entries: Sequence[tuple[Mark, str]], left: float, top: float, width: float) -> Key:
    """Draw the key of the marks, in as many lines as needed."""
    parts, x, y = [], left, top + LINE / 2
    for mark, words in entries:
        shown = svg.shorten(words, width - MARK_ROOM)
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
    """A drawn key, and the position of its lower edge."""

    markup: str
    bottom: float


@dataclass
class Notes:
    """The distinct reasons for missing values, each under a letter shown in place of the value."""

    reasons: list[str] = field(default_factory=list)

    def letter(self, reason: str) -> str:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return letter_of(self.reasons.index(reason))

    def draw(self, left: float, top: float, width: float) -> Key:
        """Draw the reasons with their letters, as a key."""
        parts, y = [], top
        for reason in self.reasons:
            words = f"({letter_of(self.reasons.index(reason))}) not defined: {reason}"
            for each in svg.wrap(words, width, 11):
                y += LINE
                parts.append(svg.text("note", left, y, each))
        return Key("".join(parts), y + 4 if parts else top)


def gutter(names: Iterable[str], most: float, least: float = 0) -> float:
    """Return the width needed for names, within bounds."""
    return max(least, min(most, max((svg.width_of(each) for each in names), default=0)))


@dataclass(frozen=True)
class Panel:
    """The position of a panel's plot on the figure, and its width."""

    left: float
    top: float
    width: float = WIDTH

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + HEIGHT

    def x(self, low: float, high: float) -> Scale:
        return Scale(low, high, self.left, self.right)

    def y(self, values: Sequence[float] = ()) -> Scale:
        return Scale.over(values, self.bottom, self.top)

    def heading(self, name: str) -> str:
        """Draw the judge's name after the sign of judges."""
        y = self.top - 16
        return svg.square("judge", self.left + 5, y) + svg.name(
            "group", self.left + 16, y + TEXT_DROP, name, self.width - 16
        )


def panels(number: int, room: Room = PAGE) -> list[Panel]:
    """Return this many panels in rows of two, or one below the other in a column."""
    columns = 1 if room.is_narrow else ACROSS
    wide = room.plot((LEFT + GAP) * columns, WIDTH * columns) / columns
    across, down = LEFT + wide + GAP, HEAD + HEIGHT + FOOT + GAP / 2
    return [
        Panel(LEFT + across * (n % columns), HEAD + down * (n // columns), wide)
        for n in range(number)
    ]


def extent(placed: Sequence[Panel], room: Room = PAGE) -> tuple[float, float]:
    """Return the width and the height that panels take."""
    least = NARROWEST if room.width is None else 0
    return max(least, *(p.right + 16 for p in placed)), max(p.bottom for p in placed) + FOOT


@dataclass(frozen=True)
class Cell:
    """The content of a cell; `share` from 0 to 1 is its darkness, and None leaves it empty.

    `edge` is a further class of its frame. A `short` cell keeps the text below its words only if it
    is the letter of a reason.
    """

    words: str
    below: str = ""
    share: float | None = None
    title: str = ""
    edge: str = ""

    def short(self) -> Cell:
        return self if self.words == "–" else replace(self, below="")


@dataclass(frozen=True)
class Grid:
    """Rows of cells under the names of columns; None leaves a cell out.

    In a narrow `room`, cells are narrower, and first lose the text below their words. `kinds` has
    the raters' kinds, one for each row or none at all, shown as signs after the names.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell | None]]
    css: Sequence[str]
    room: float | None = None
    kinds: Sequence[str] = ()

    @property
    def cell_width(self) -> float:
        natural = max(
            NARROWEST_CELL, 4 + self._for_all_words, 12 + gutter(self.columns, WIDEST - 12)
        )
        if self.room is None:
            return natural
        return max(LEAST_CELL, min(natural, self.room / max(1, len(self.columns))))

    @property
    def _for_all_words(self) -> float:
        """The width of a cell with its words and those below them."""
        below = (c.below for cells in self.cells for c in cells if c)
        widest = max((svg.width_of(words, 10.5) for words in below), default=0)
        return NUMBER_ROOM + widest

    @property
    def width(self) -> float:
        return self.cell_width * len(self.columns)

    @property
    def height(self) -> float:
        return 24 + CELL * len(self.rows)

    def draw(self, left: float, top: float, names: float) -> str:
        """Draw the grid with its cells from `left` on; `names` is the room for its rows' names."""
        wide = self.cell_width
        is_whole = wide >= self._for_all_words
        parts = [
            svg.name("label", left + wide * (n + 0.5), top + 14, each, wide - 4, "middle")
            for n, each in enumerate(self.columns)
        ]
        for n, (row, cells) in enumerate(zip(self.rows, self.cells, strict=True)):
            y = top + 24 + CELL * n
            middle = y + CELL / 2 + TEXT_DROP
            aside = SIGN_ROOM if self.kinds else 0
            parts.append(svg.name("label", left - 10 - aside, middle, row, names, "end"))
            parts.append(sign(self.kinds[n], left - 13, y + CELL / 2 - 1) if self.kinds else "")
            for m, cell in enumerate(cells):
                if cell:
                    shown = cell if is_whole else cell.short()
                    parts.append(_cell(shown, left + wide * m, y, wide, self.css[n]))
        return "".join(parts)


def judge_css(number: int) -> str:
    """Return the style of a judge's squares: its colour; every other judge's are hollow."""
    colour = ("", "-2", "-3")[number % COLOURS]
    return f"judge hollow{colour}" if number % 2 else f"judge{colour and f' judge{colour}'}"


def judge_line(number: int) -> str:
    """Return the style of a judge's lines: its colour and its dashes."""
    colour = ("", " judge-2", " judge-3")[number % COLOURS]
    return f"judge{colour} dash{number % DASHES}"


def judge_mark(number: int) -> Mark:
    """Return a judge's mark for a key: all are squares, which differ in more than colour."""
    css = judge_css(number)
    return sample(judge_line(number), lambda x, y: svg.square(css, x, y))


def sample(css: str, mark: Mark) -> Mark:
    """Return a mark with a piece of its line, for a key."""
    return lambda x, y: svg.line(css, (x - 20, y), (x + 16, y)) + mark(x, y)


def judges_mark(numbers: Sequence[int]) -> Mark:
    """Return the mark for a key of a series that each judge draws in its own colour."""
    shown = sorted(set(numbers), key=list(numbers).index)[:COLOURS] or [0]

    def mark(x: float, y: float) -> str:
        start = x - 6 * (len(shown) - 1)
        return "".join(
            svg.square(judge_css(number), start + 12 * n, y) for n, number in enumerate(shown)
        )

    return mark


def under(key: Key, parts: Iterable[str]) -> str:
    """Return what was drawn from the top on, moved down to the lower edge of a key."""
    moved = "".join(parts)
    return f'{key.markup}<g transform="translate(0 {svg.number(key.bottom)})">{moved}</g>'


def sign(kind: str, x: float, y: float) -> str:
    """Draw the sign of a kind of rater: people round, judges square, nothing for others."""
    if kind == "human":
        return svg.circle("person", x, y)
    return svg.square("judge", x, y) if kind == "judge" else ""


def _cell(cell: Cell, x: float, y: float, wide: float, css: str) -> str:
    share = min(1.0, max(0.0, cell.share or 0.0))
    opacity = f' fill-opacity="{svg.number(share * DARKEST * 100)}%"'
    size = wide - CELL_GAP, CELL - CELL_GAP
    middle, centre = x + (wide - CELL_GAP) / 2, y + CELL / 2
    frame = f"frame {cell.edge}" if cell.edge else "frame"
    parts = [
        svg.rectangle(css, x, y, *size, more=opacity),
        svg.rectangle(frame, x, y, *size),
        svg.text("cell", middle, centre + (-1 if cell.below else 4), cell.words, "middle"),
        svg.text("share", middle, centre + 12, cell.below, "middle") if cell.below else "",
    ]
    title = f"<title>{svg.clean(cell.title)}</title>" if cell.title else ""
    return f"<g>{title}{''.join(parts)}</g>"
