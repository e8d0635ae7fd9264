"""Figure: the number of missing labels of each judge, by reason."""

from __future__ import annotations

from itertools import groupby

from ..document import RaterName, Table
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Subject
from .svg import Drawing

NAMES, WIDTH, RIGHT, TOP = 170, 340, 60, 8
ROW, HEAD, BAR = 24, 28, 14


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    counts = _counts(subject)
    names = base.gutter((reason for _, reason, _ in counts), room.names(NAMES), 60)
    left = 20 + names
    wide = room.plot(left + RIGHT, WIDTH)
    scale = base.Scale(0, max(count for *_, count in counts), left, left + wide)
    rows, y = [], float(TOP)
    for judge, of_judge in groupby(counts, key=lambda each: each[0]):
        rows.append(svg.square("judge", left + 5, y + 12))
        rows.append(svg.name("group", left + 16, y + 16, judge, wide - 16))
        y += HEAD
        for _, reason, count in of_judge:
            rows.append(_bar(reason, count, scale, y, names))
            y += ROW
    axis = base.x_axis(scale, TOP + HEAD, y + 2, "missing labels", whole=True)
    title = f"Missing labels of judges on {subject.name}, by reason"
    return Drawing(title, left + wide + RIGHT, y + 44, (axis, *rows))


def data(subject: Subject) -> Table:
    rows = tuple(
        (RaterName(judge, "judge"), reason, count) for judge, reason, count in _counts(subject)
    )
    return Table(f"Missing labels on {subject.name}", ("Judge", "Reason", "Missing labels"), rows)


def _counts(subject: Subject) -> list[tuple[str, str, int]]:
    """Return judge, reason and count, with the most frequent reason of each judge first."""
    return [
        (judge, reason, count)
        for judge, of in subject.judges.items()
        for reason, count in sorted(of["missing"].items(), key=lambda each: -each[1])
    ]


def _bar(reason: str, count: int, scale: base.Scale, y: float, names: float) -> str:
    wide = scale.at(count) - scale.start
    title = f"{reason}: {count}"
    middle = y + ROW / 2 + base.TEXT_DROP
    return (
        svg.name("label", scale.start - 10, middle, reason, names, "end")
        + svg.rectangle("bar", scale.start, y + (ROW - BAR) / 2, wide, BAR, title)
        + svg.text("label", scale.start + wide + 6, middle, f"{count}")
    )


def chart(subject: Subject) -> JSON:
    view = {
        "width": vega.COLUMN,
        "mark": {"type": "bar", "color": vega.JUDGE},
        "encoding": {
            "y": vega.name("reason", None),
            "x": vega.number("missing_labels", "Missing labels"),
        },
    }
    return {"facet": vega.rows("judge"), "spec": view}


FIGURE = Figure(
    "missing",
    "Missing labels by reason",
    "variables",
    "Labels that a judge was asked for and did not give. They count neither as right nor as wrong, "
    "except as a loss in the alternative annotator test.",
    lambda subject: bool(_counts(subject)),
    data,
    draw,
    chart,
)
