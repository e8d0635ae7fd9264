"""Figure: each judge's labels against the majority of people, one table for each judge."""

from __future__ import annotations

from ..document import UNITS_HEAD, Number, RaterName, Table, units_of_cell
from ..types import JSON
from . import base, svg, vega
from .base import Cell, Figure, Grid, Subject
from .svg import Drawing

NAMES, TOP, GAP, HEAD = 130, 10, 26, 36
NARROWEST, ROOM = 250, 640
"""The smallest width of a judge's table, and the largest width of all in one row."""
NEVER_GIVEN = "people never give this category"


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    tables = _tables(subject)
    labels = (label for of in tables.values() for label in of["confusion"]["labels"])
    names = base.gutter(labels, room.names(NAMES), 24)
    within = room.within(names + 26)
    grids = {judge: _grid(of["confusion"], within) for judge, of in tables.items()}
    most = ROOM if room.width is None else room.width
    parts, x, y, width, height = [], 0.0, float(TOP), 0.0, 0.0
    for judge, grid in grids.items():
        wide = max(NARROWEST, names + 18 + grid.width + 8)
        if x and x + wide > most:
            x, y, height = 0.0, y + height + GAP, 0.0
        parts.append(_panel(judge, grid, x, y, names, wide))
        height = max(height, HEAD + grid.height)
        x += wide
        width = max(width, x)
    title = f"Confusion of judges with people together on {subject.name}"
    return Drawing(title, width + 8, y + height + 8, tuple(parts))


def _panel(judge: str, grid: Grid, x: float, y: float, names: float, wide: float) -> str:
    left = x + names + 18
    return (
        svg.square("judge", left + 5, y + 8)
        + svg.name("group", left + 16, y + 12, judge, x + wide - left - 16)
        + svg.text("note", left, y + 30, "people in rows, judge in columns")
        + grid.draw(left, y + HEAD, names)
    )


def data(subject: Subject) -> Table:
    rows = tuple(
        (
            RaterName(judge, "judge"),
            label,
            judged,
            units_of_cell(count, people, said).within(judge=judge),
            _share(count, row),
        )
        for judge, of in _tables(subject).items()
        for words in [of["confusion"]["labels"]]
        for codes in [of["confusion"].get("codes") or words]
        for label, people, row in zip(words, codes, of["confusion"]["matrix"], strict=True)
        for judged, said, count in zip(words, codes, row, strict=True)
    )
    header = ("Judge", "People say", "Judge says", UNITS_HEAD, "Share of what people say")
    return Table(f"Judges against people together on {subject.name}", header, rows)


def _tables(subject: Subject) -> JSON:
    return {judge: of for judge, of in subject.judges.items() if of["confusion"]["labels"]}


def _grid(confusion: JSON, room: float | None) -> Grid:
    labels, matrix = confusion["labels"], confusion["matrix"]
    cells = [
        [_cell(label, judged, count, row) for judged, count in zip(labels, row, strict=True)]
        for label, row in zip(labels, matrix, strict=True)
    ]
    return Grid(labels, labels, cells, ["judge-cell"] * len(labels), room)


def _cell(label: str, judged: str, count: int, row: list[int]) -> Cell:
    share = _share(count, row)
    title = f"people {label}, judge {judged}: {count} of {sum(row)}"
    if share.value is None:
        return Cell(f"{count}", "–", None, f"{title}; {NEVER_GIVEN}")
    return Cell(f"{count}", f"{share.value:.0%}", share.value, title)


def _share(count: int, row: list[int]) -> Number:
    total = sum(row)
    return Number(count / total) if total else Number(None, reason=NEVER_GIVEN)


def chart(subject: Subject) -> JSON:
    share = "share_of_what_people_say"
    shade = vega.shade(share, "Share of row", "oranges", (0, 1))
    view = vega.matrix(
        vega.name("people_say", "People say"),
        vega.name("judge_says", "Judge says"),
        {"color": shade},
        vega.number("units", "Units"),
    )
    return vega.small_multiples("judge", view)


FIGURE = Figure(
    "confusion",
    "Judges against people together",
    "variables",
    f"{UNITS_HEAD} by most people's label, in rows, and the judge's label, in columns, with each "
    "cell's share of its row. A stronger colour is a larger share.",
    lambda subject: bool(_tables(subject)),
    data,
    draw,
    chart,
)
