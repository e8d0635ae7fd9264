"""Figure: the score of each report, by each person, by people's mean and by each judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from ..document import Number, RaterName, Table
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Subject
from .svg import Drawing

ROW, GROUP, TOP, WIDTH, RIGHT = 26, 34, 40, 430, 24
NAMES, BAR = 200, 12
ABOVE, UNDER = 3, 7
MEAN_NAME = "mean of people"
NO_SCORE = "the judge has no score for this report"


@dataclass(frozen=True)
class Row:
    """One report with the scores of people and judges, by name."""

    label: str
    group: str
    people: dict[str, float] = field(default_factory=dict)
    judges: dict[str, float] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        return sum(self.people.values()) / len(self.people) if self.people else None


@dataclass(frozen=True)
class _PlacedRows:
    """The rows with their vertical centres, the scale of the scores, and the room for names."""

    rows: list[tuple[Row, float]]
    scale: base.Scale
    bottom: float
    names: float


def figure_rows(subject: Subject) -> list[Row]:
    """Return the reports by system, the highest mean first."""
    rows = []
    for item in subject.block["items"]:
        of: dict[str, dict[str, float]] = {"human": {}, "judge": {}, "reference": {}}
        for name, value in item["values"].items():
            of[subject.kinds[name]][name] = value
        rows.append(Row(item["item"], item["system"] or "", of["human"], of["judge"]))
    systems = list(dict.fromkeys(row.group for row in rows))
    return sorted(rows, key=lambda row: (systems.index(row.group), -(row.mean or 0.0)))


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    rows = figure_rows(subject)
    judges = _judges(rows)
    names = base.gutter((row.label for row in rows), room.names(NAMES))
    left = 24 + names
    wide = room.plot(left + RIGHT, WIDTH)
    placed = _place(rows, _scale(subject, rows, left, left + wide), names)
    # A long figure would end far below what its marks mean.
    key = base.key(_entries(subject, rows, judges), left, 4, wide)
    parts = [_axis(placed), *_groups(placed), *(_row(row, y, placed) for row, y in placed.rows)]
    parts += [
        _line(placed, judge, n, len(judges), subject.judge_number(judge))
        for n, judge in enumerate(judges)
    ]
    parts += [_people(row, y, placed) for row, y in placed.rows]
    parts += [_missing_scores(row, y, judges, placed) for row, y in placed.rows]
    title = f"{subject.name.capitalize()} of {len(rows)} reports by people and judges"
    height = key.bottom + placed.bottom + 4
    return Drawing(title, left + wide + RIGHT, height, (base.under(key, parts),))


def _scale(subject: Subject, rows: list[Row], start: float, end: float) -> base.Scale:
    """Return the scale of a score: from its least to its greatest value, or over what there is."""
    if ends := base.ends_of_score(subject):
        return base.Scale(*ends, start, end)
    values = (each for row in rows for each in (*row.people.values(), *row.judges.values()))
    return base.Scale.over(values, start, end)


def data(subject: Subject) -> Table:
    rows = figure_rows(subject)
    judges = _judges(rows)
    found = tuple(cells for row in rows for cells in _cells(row, judges))
    header = ("Report", "System", "Rater", "Kind", "Score")
    return Table(f"{subject.name.capitalize()} of each report", header, found)


def _cells(row: Row, judges: list[str]) -> Iterator[tuple[str | RaterName | Number, ...]]:
    for name, value in row.people.items():
        yield (row.label, row.group, RaterName(name, "human"), "human", Number(value))
    if row.mean is not None:
        yield (row.label, row.group, MEAN_NAME, "human", Number(row.mean))
    for name in judges:
        score = Number(row.judges.get(name), reason="" if name in row.judges else NO_SCORE)
        yield (row.label, row.group, RaterName(name, "judge"), "judge", score)


def _judges(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.judges))


def _place(rows: list[Row], scale: base.Scale, names: float) -> _PlacedRows:
    """Place the rows; a system's name is above its first row."""
    placed: list[tuple[Row, float]] = []
    y, group = float(TOP), ""
    for row in rows:
        y += GROUP if row.group != group else 0
        group = row.group
        placed.append((row, y + ROW / 2))
        y += ROW
    return _PlacedRows(placed, scale, y + 8, names)


def _groups(placed: _PlacedRows) -> Iterator[str]:
    for group, rows in groupby(placed.rows, key=lambda each: each[0].group):
        if group:
            y = next(rows)[1] - ROW / 2 - 8
            yield svg.name("group", placed.scale.start, y, group, placed.scale.width)


def _axis(placed: _PlacedRows) -> str:
    parts = []
    for tick in placed.scale.ticks():
        x = placed.scale.at(tick)
        parts.append(svg.line("grid", (x, TOP - 8), (x, placed.bottom - 8)))
        parts.append(svg.text("tick", x, TOP - 16, f"{tick:.1f}", "middle"))
    return "".join(parts)


def _row(row: Row, y: float, placed: _PlacedRows) -> str:
    start, scale = placed.scale.start, placed.scale
    parts = [svg.name("label", start - 14, y + base.TEXT_DROP, row.label, placed.names, "end")]
    if row.mean is not None:
        wide, title = scale.at(row.mean) - start, f"{MEAN_NAME}: {row.mean:.3f}"
        parts.append(svg.rectangle("mean", start, y - BAR / 2, wide, BAR, title))
    return "".join(parts)


def _people(row: Row, y: float, placed: _PlacedRows) -> str:
    """Draw people with a vertical offset, since equal values would overlap."""
    parts = []
    for n, (name, value) in enumerate(row.people.items()):
        place = y - ABOVE + (n % 3 - 1) * 4
        parts.append(svg.circle("person", placed.scale.at(value), place, f"{name}: {value:.3f}"))
    return "".join(parts)


def _missing_scores(row: Row, y: float, judges: list[str], placed: _PlacedRows) -> str:
    without = [name for name in judges if name not in row.judges]
    title = "; ".join(f"{name}: {NO_SCORE}" for name in without)
    return svg.cross(placed.scale.end + 12, y, title) if without else ""


def _line(placed: _PlacedRows, judge: str, place: int, judges: int, number: int) -> str:
    """Draw a judge's scores, each joined with the mean of people on the same report.

    Judges are drawn below people, who would cover them, with a horizontal offset. With several
    judges the lines are faint.
    """
    aside = UNDER + (place - (judges - 1) / 2) * min(3.0, 6.0 / judges)
    css = f"{base.judge_line(number)}{' faint' if judges > 1 else ''}"
    lines, squares = [], []
    for row, y in placed.rows:
        if (value := row.judges.get(judge)) is None:
            continue
        at = placed.scale.at(value), y + aside
        if row.mean is not None:
            lines.append(svg.path(css, [(placed.scale.at(row.mean), y + aside), at]))
        title = f"{judge}: {value:.3f}"
        if row.mean is not None:
            title += f", {value - row.mean:+.3f} from the {MEAN_NAME}"
        squares.append(svg.square(base.judge_css(number), *at, title))
    return "".join(lines + squares)


def _entries(subject: Subject, rows: list[Row], judges: list[str]) -> list[tuple[base.Mark, str]]:
    entries: list[tuple[base.Mark, str]] = []
    if any(row.people for row in rows):
        entries.append((lambda x, y: svg.circle("person", x, y), "each person"))
        entries.append((lambda x, y: svg.rectangle("mean", x - 11, y - 6, 22, 12), MEAN_NAME))
    entries += [(base.judge_mark(subject.judge_number(judge)), judge) for judge in judges]
    if any(name not in row.judges for row in rows for name in judges):
        entries.append((lambda x, y: svg.cross(x, y), "a judge has no score"))
    return entries


def chart(subject: Subject) -> JSON:
    """Return dumbbells: people's mean and each judge of a report, joined; people are points."""
    places = {
        "y": vega.name("report", None),
        "x": vega.number("score", subject.name.capitalize(), base.ends_of_score(subject)),
    }
    judges = _judges(figure_rows(subject))
    kind_of = {**subject.kinds, MEAN_NAME: "human"}
    colours = vega.colours_of("rater", kind_of, subject.judge_number)
    colours["legend"] = {"values": [MEAN_NAME, *judges]}
    channels = {"color": colours, **vega.kinds("kind", "shape")}
    together = f"datum.kind == 'judge' || datum.rater == '{MEAN_NAME}'"
    single = f"datum.kind == 'human' && datum.rater != '{MEAN_NAME}'"
    view = {
        "width": 2 * vega.COLUMN,
        "layer": [
            {
                "transform": [{"filter": together}],
                "mark": {"type": "line", "color": vega.INK, "opacity": 0.4},
                "encoding": {**places, "detail": {"field": "report"}},
            },
            {
                "transform": [{"filter": single}],
                "mark": {"type": "point", "size": 18, "opacity": 0.6},
                "encoding": {**places, **channels},
            },
            {
                "transform": [{"filter": together}],
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {**places, **channels, "tooltip": {"field": "rater"}},
            },
        ],
    }
    return {
        "facet": vega.rows("system"),
        "spec": view,
        "resolve": {"scale": {"y": "independent"}},
    }


FIGURE = Figure(
    "coverage",
    "Score of each report",
    "scores",
    "Reports are grouped by system, the highest mean first. Each person is a point, the mean of "
    "people is a bar, and each judge is a square, joined with that mean by a line.",
    lambda subject: bool(subject.block["items"]),
    data,
    draw,
    chart,
    "systems",
    lambda subject: len(subject.block["items"]),
)
