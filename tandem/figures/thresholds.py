"""Figure: ratings cut at each threshold, with kappa, precision and recall of both sides."""

from __future__ import annotations

from itertools import groupby

from ..document import Cell, Number, RaterName, Table
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Panel, Series, Subject
from .svg import Drawing

# Five bands would overlap, so those of the lower side are only in the table.
SERIES = (
    Series("cohen_kappa", "Cohen's kappa", "both", lambda x, y: svg.circle("both", x, y, "", 4)),
    Series("precision", "precision", "judge dash1", lambda x, y: svg.square("judge", x, y)),
    Series("recall", "recall", "third dash2", lambda x, y: svg.triangle("third", x, y)),
    Series(
        "precision_below",
        "precision <",
        "judge dash3",
        lambda x, y: svg.square("hollow", x, y, "", 8),
        banded=False,
    ),
    Series(
        "recall_below",
        "recall <",
        "third dash4",
        lambda x, y: svg.triangle("hollow-third", x, y, "", -6),
        banded=False,
    ),
)


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    cuts = _cuts(subject)
    placed = base.panels(len(cuts), room)
    width, bottom = base.extent(placed, room)
    notes, drawn = base.Notes(), _series(cuts)
    every = (cut[series.key] for of in cuts.values() for cut in of for series in drawn)
    ends = base.ends_of(map(Number.from_estimate, every))
    parts = [
        _panel(at, judge, of, drawn, ends, notes)
        for at, (judge, of) in zip(placed, cuts.items(), strict=True)
    ]
    entries = [(base.sample(series.css, series.mark), series.label) for series in drawn]
    key = base.key(entries, base.LEFT, bottom, width - base.LEFT)
    under = notes.draw(base.LEFT, key.bottom, width - base.LEFT - 8)
    title = f"Judges on {subject.name} cut at each threshold: kappa, precision, recall"
    return Drawing(title, width, under.bottom + 8, (*parts, key.markup, under.markup))


def data(subject: Subject) -> Table:
    cuts_of = _cuts(subject)
    shown = _series(cuts_of)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(judge, "judge"),
            f"≥ {cut['threshold']}",
            *(Number.from_estimate(cut[series.key]) for series in shown),
        )
        for judge, cuts in cuts_of.items()
        for cut in cuts
    )
    header = ("Judge", "Threshold", *(series.label.capitalize() for series in shown))
    return Table(f"{subject.name} cut at each threshold", header, rows)


def _cuts(subject: Subject) -> dict[str, list[JSON]]:
    """Return the cuts of each judge with any defined figure."""
    found = {judge: of["thresholds"] for judge, of in subject.judges.items()}
    return {judge: cuts for judge, cuts in found.items() if any(map(_is_defined, cuts))}


def _series(cuts: dict[str, list[JSON]]) -> list[Series]:
    """Return the series of a report; snapshots of older reports have one side only."""
    every = [cut for of in cuts.values() for cut in of]
    return [series for series in SERIES if all(series.key in cut for cut in every)]


def _is_defined(cut: JSON) -> bool:
    return any(cut.get(series.key, {}).get("value") is not None for series in SERIES)


def _panel(
    at: Panel,
    judge: str,
    cuts: list[JSON],
    shown: list[Series],
    ends: list[float],
    notes: base.Notes,
) -> str:
    """Draw a judge's plot. All plots share the y axis `ends`, so that they can be compared."""
    y = at.y(ends)
    x = at.x(-0.5, len(cuts) - 0.5)
    parts = [at.heading(judge), base.y_axis(y, at.left, at.right)]
    for n, cut in enumerate(cuts):
        words = svg.shorten(f"≥ {cut['threshold']}", at.width / len(cuts), 11)
        parts.append(svg.text("tick", x.at(n), at.bottom + 14, words, "middle"))
    parts += [_band(cuts, series, x, y) for series in shown if series.banded]
    parts += [_line(cuts, n, x, y, notes) for n in range(len(shown))]
    return "".join(parts)


def _band(cuts: list[JSON], series: Series, x: base.Scale, y: base.Scale) -> str:
    """Draw the intervals, joined between neighbours that have one."""
    parts = []
    known = [(n, cut[series.key]) for n, cut in enumerate(cuts)]
    for there, run in groupby(known, key=lambda each: each[1]["low"] is not None):
        if there:
            found = list(run)
            upper = [(x.at(n), y.at(e["high"])) for n, e in found]
            lower = [(x.at(n), y.at(e["low"])) for n, e in reversed(found)]
            parts.append(svg.area(f"band {series.css}", [*upper, *lower]))
    return "".join(parts)


def _line(cuts: list[JSON], place: int, x: base.Scale, y: base.Scale, notes: base.Notes) -> str:
    series, parts = SERIES[place], []
    known = [(n, cut[series.key]) for n, cut in enumerate(cuts)]
    for there, run in groupby(known, key=lambda each: each[1]["value"] is not None):
        found = list(run)
        if there:
            points = [(x.at(n), y.at(e["value"])) for n, e in found]
            parts.append(svg.path(series.css, points))
            parts += [_point(series, at, e) for at, (_, e) in zip(points, found, strict=True)]
        else:
            parts += [_undefined(series, place, x.at(n), y, e, notes) for n, e in found]
    return "".join(parts)


def _point(series: Series, at: svg.Point, estimate: JSON) -> str:
    title = svg.clean(f"{series.label}: {Number.from_estimate(estimate)}")
    return f"<g><title>{title}</title>{series.mark(*at)}</g>"


def _undefined(
    series: Series, place: int, x: float, y: base.Scale, estimate: JSON, notes: base.Notes
) -> str:
    """Draw a cross at the bottom with the letter of the reason, one row per series."""
    height = y.start - 9 - 14 * place
    letter = notes.letter(f"{series.label}, {estimate['reason']}")
    mark = svg.cross(x, height, f"{series.label}: {estimate['reason']}")
    return mark + svg.text("note", x + 7, height + 4, letter)


def chart(subject: Subject) -> JSON:
    drawn = _series(_cuts(subject))
    channels = vega.series(drawn, "strokeDash")
    banded = vega.columns_of(each for each in drawn if each.banded)
    across = {"x": vega.name("threshold", "Threshold")}
    value = vega.number("value", "Value")
    band = {"y": vega.number("value_low", "Value"), "y2": {"field": "value_high"}}
    lines = {"type": "line", "point": True}
    view = {
        "width": vega.COLUMN,
        "transform": vega.fold(drawn),
        "layer": [
            {
                "transform": [{"filter": {"field": "series", "oneOf": banded}}],
                "mark": {"type": "area", "opacity": 0.13},
                "encoding": {**across, **band, "color": channels["color"]},
            },
            {"mark": lines, "encoding": {**across, "y": value, **channels}},
        ],
    }
    return vega.small_multiples("judge", view)


FIGURE = Figure(
    "thresholds",
    "Judges at each threshold",
    "variables",
    "Ratings cut at each threshold: how well a judge finds what most people put at or above it "
    "(≥), and what they put below it (<). Bands are 95 % intervals for each threshold by itself; "
    "those of the lower side are only in the table.",
    lambda subject: bool(_cuts(subject)),
    data,
    draw,
    chart,
)
