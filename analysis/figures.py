"""Figures as SVG: people blue and round, their mean a bar, judges orange and square.

Colours come from the page's style sheet by class, so that light, dark and print follow; a figure
that stands alone brings the light ones with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

JSON = dict[str, Any]

ROW, TOP, LEFT, WIDTH, RIGHT = 26, 40, 250, 480, 24
BAR, POINT, SQUARE = 12, 5, 9
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
    height = TOP + ROW * len(rows) + 30
    width = LEFT + WIDTH + RIGHT
    parts = [_axis(height), *(_row(row, TOP + n * ROW) for n, row in enumerate(rows))]
    parts += [_line(rows, judge) for judge in _judges(rows)]
    title = f"{score.capitalize()} of {len(rows)} reports by people and judges"
    return (
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
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


def _judges(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.judges))


def _x(value: float) -> float:
    return round(LEFT + value * WIDTH, 1)


def _axis(height: int) -> str:
    ticks = []
    for n in range(6):
        x = _x(n / 5)
        ticks.append(
            f'<line class="grid" x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 26}"/>'
            f'<text class="tick" x="{x}" y="{TOP - 16}" text-anchor="middle">{n / 5:.1f}</text>'
        )
    return "".join(ticks)


def _row(row: Row, y: int) -> str:
    middle = y + ROW / 2
    label = row.label if len(row.label) <= 34 else "…" + row.label[-33:]
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


def _line(rows: list[Row], judge: str) -> str:
    points = [
        (_x(row.judges[judge]), TOP + n * ROW + ROW / 2, row.judges[judge])
        for n, row in enumerate(rows)
        if judge in row.judges
    ]
    path = " ".join(f"{x},{y}" for x, y, _ in points)
    squares = "".join(
        f'<rect class="judge" x="{x - SQUARE / 2}" y="{y - SQUARE / 2}" '
        f'width="{SQUARE}" height="{SQUARE}">'
        f"<title>{escape(judge)}: {value:.3f}</title></rect>"
        for x, y, value in points
    )
    return f'<polyline class="judge" points="{path}"/>{squares}'


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})
