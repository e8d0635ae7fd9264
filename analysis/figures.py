"""Figures as SVG: people blue and round, their mean a bar, judges orange and square.

Colours come from the page's style sheet by class, so that light, dark and print follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

JSON = dict[str, Any]

ROW, GROUP, TOP, LEFT, WIDTH, RIGHT = 26, 34, 40, 250, 480, 24
BAR, POINT, SQUARE = 12, 5, 9
LONGEST = 34
DASHES = 4
MEAN_NAME = "mean of people"


@dataclass(frozen=True)
class Row:
    """One report: what people and judges gave it, by name."""

    label: str
    group: str
    people: dict[str, float] = field(default_factory=dict)
    judges: dict[str, float] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        return sum(self.people.values()) / len(self.people) if self.people else None


def coverage_figure(report: JSON, score: str = "coverage") -> str:
    """The coverage of each report: people as points, their mean as a bar, each judge as a line.

    The reports stand by system, the highest mean first.
    """
    rows = figure_rows(report, score)
    middles = _middles(rows)
    bottom = (middles[-1] if middles else TOP) + ROW
    judges = _judges(rows)
    height = bottom + ROW * len(judges)
    start = LEFT - _gutter(rows)
    width = LEFT + WIDTH + RIGHT - start
    placed = list(zip(rows, middles, strict=True))
    parts = [_axis(bottom), *_groups(placed), *(_row(row, middle) for row, middle in placed)]
    parts += [_line(placed, judge, n) for n, judge in enumerate(judges)]
    parts += [_key(judge, n, bottom + ROW * n + 6) for n, judge in enumerate(judges)]
    title = f"{score.capitalize()} of {len(rows)} reports by people and judges"
    return (
        '<svg class="figure" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="{start} 0 {width} {height}" '
        f'role="img" aria-label="{_attribute(title)}"><title>{escape(title)}</title>'
        + "".join(parts)
        + "</svg>"
    )


def figure_rows(report: JSON, score: str = "coverage") -> list[Row]:
    """The data of the figure, in its order."""
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    rows = []
    for item in report["scores"][score]["items"]:
        of: dict[str, dict[str, float]] = {"human": {}, "judge": {}, "reference": {}}
        for name, value in item["values"].items():
            of[kinds[name]][name] = value
        rows.append(Row(item["item"], item["system"] or "", of["human"], of["judge"]))
    systems = list(dict.fromkeys(row.group for row in rows))
    return sorted(rows, key=lambda row: (systems.index(row.group), -(row.mean or 0.0)))


def _gutter(rows: list[Row]) -> int:
    """The room for labels, which stand left of the axis: no more than the longest one needs."""
    longest = max((min(len(row.label), LONGEST) for row in rows), default=0)
    return min(LEFT, 24 + 7 * longest)


def _judges(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.judges))


def _middles(rows: list[Row]) -> list[float]:
    """The height of each row's middle; a system's name stands above its first row."""
    middles: list[float] = []
    y, group = float(TOP), None
    for row in rows:
        y += GROUP if row.group != group else 0
        group = row.group
        middles.append(y + ROW / 2)
        y += ROW
    return middles


def _groups(placed: list[tuple[Row, float]]) -> list[str]:
    first: dict[str, float] = {}
    for row, middle in placed:
        first.setdefault(row.group, middle)
    return [
        f'<text class="group" x="{LEFT}" y="{middle - ROW / 2 - 8}">{escape(group)}</text>'
        for group, middle in first.items()
        if group
    ]


def _x(value: float) -> float:
    return round(LEFT + value * WIDTH, 1)


def _axis(height: float) -> str:
    ticks = []
    for n in range(6):
        x = _x(n / 5)
        ticks.append(
            f'<line class="grid" x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 8}"/>'
            f'<text class="tick" x="{x}" y="{TOP - 16}" text-anchor="middle">{n / 5:.1f}</text>'
        )
    return "".join(ticks)


def _row(row: Row, middle: float) -> str:
    label = row.label if len(row.label) <= LONGEST else "…" + row.label[1 - LONGEST :]
    parts = [
        f'<text class="label" x="{LEFT - 14}" y="{middle + 4}" text-anchor="end">'
        f"<title>{escape(row.label)}</title>{escape(label)}</text>"
    ]
    if row.mean is not None:
        parts.append(
            f'<rect class="mean" x="{LEFT}" y="{middle - BAR / 2}" '
            f'width="{round(row.mean * WIDTH, 1)}" height="{BAR}">'
            f"<title>{MEAN_NAME}: {row.mean:.3f}</title></rect>"
        )
    parts += [_point(name, value, middle, n) for n, (name, value) in enumerate(row.people.items())]
    return "".join(parts)


def _point(name: str, value: float, middle: float, number: int) -> str:
    # Equal values would hide each other, so that people stand a little above and below the middle.
    y = middle + (number % 3 - 1) * 4
    return (
        f'<circle class="person" cx="{_x(value)}" cy="{y}" r="{POINT}">'
        f"<title>{escape(name)}: {value:.3f}</title></circle>"
    )


def _key(judge: str, number: int, y: float) -> str:
    """Which line is whose: judges differ in their dashes, since all are orange and square."""
    dash = f"judge dash{number % DASHES}"
    return (
        f'<line class="{dash}" x1="{LEFT}" y1="{y}" x2="{LEFT + 44}" y2="{y}"/>'
        f'<rect class="judge" x="{LEFT + 22 - SQUARE / 2}" y="{y - SQUARE / 2}" '
        f'width="{SQUARE}" height="{SQUARE}"/>'
        f'<text class="label" x="{LEFT + 54}" y="{y + 4}">{escape(judge)}</text>'
    )


def _line(placed: list[tuple[Row, float]], judge: str, number: int) -> str:
    """A judge's scores, joined within a system: between systems there is nothing to follow."""
    points = [(row.group, _x(row.judges[judge]), middle, row.judges[judge])
              for row, middle in placed if judge in row.judges]  # fmt: skip
    systems = groupby(points, key=lambda point: point[0])
    paths = [" ".join(f"{x},{y}" for _, x, y, _ in of_system) for _, of_system in systems]
    dash = f"judge dash{number % DASHES}"
    lines = "".join(f'<polyline class="{dash}" points="{path}"/>' for path in paths)
    squares = "".join(
        f'<rect class="judge" x="{x - SQUARE / 2}" y="{y - SQUARE / 2}" '
        f'width="{SQUARE}" height="{SQUARE}">'
        f"<title>{escape(judge)}: {value:.3f}</title></rect>"
        for _, x, y, value in points
    )
    return lines + squares


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})
