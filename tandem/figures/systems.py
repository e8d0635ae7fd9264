"""Figure: each system's score by people, by a judge, and by both together, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from ..document import Cell, Number, Table
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Mark, Series, Subject
from .svg import Drawing

NAMES, WIDTH, RIGHT, TOP, HEAD = 170, 400, 24, 26, 30
STEP, GAP = 14, 12
ALL = "all reports"


SERIES = (
    Series("humans", "people", "person", lambda x, y: svg.circle("person", x, y)),
    Series("judge", "judge, uncorrected", "judge", lambda x, y: svg.square("judge", x, y)),
    Series(
        "prediction_powered",
        "corrected, from both",
        "both",
        lambda x, y: svg.triangle("both", x, y),
    ),
)


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    scores = _scores(subject)
    labels = [_label(system) for of in scores.values() for system in of]
    names = base.gutter(labels, room.names(NAMES), 40)
    left = 20 + names
    wide = room.plot(left + RIGHT, WIDTH)
    found = (
        each for of in scores.values() for of_system in of.values() for each in of_system.values()
    )
    known = base.ends_of(map(Number.from_estimate, found))
    ends = [*known, *(base.ends_of_score(subject) or ())]
    scale = base.Scale.over(ends, left, left + wide)
    used, numbers = _used(scores), [subject.judge_number(judge) for judge in scores]
    # Several panels would end far below what their marks mean.
    key = base.key(entries(used, numbers), left, 4, wide)
    notes, parts, y = base.Notes(), [], 8.0
    for number, (judge, systems) in zip(numbers, scores.items(), strict=True):
        drawn = _panel((judge, number), systems, scale, y, notes, names)
        parts.append(drawn.markup)
        y = drawn.bottom
    end = notes.draw(left, y, wide)
    title = f"{subject.name.capitalize()} of systems under people and judges"
    drawing = base.under(key, (*parts, end.markup))
    return Drawing(title, left + wide + RIGHT, key.bottom + end.bottom + 8, (drawing,))


def entries(used: Sequence[Series], judges: Sequence[int]) -> list[tuple[Mark, str]]:
    """Return the entries of a key; the series of judges has the colour of each of them."""
    return [(base.judges_mark(judges) if s.css == "judge" else s.mark, s.label) for s in used]


def of_judge(series: Series, number: int) -> Series:
    """Return a series as the judge with this number draws it."""
    if series.css != "judge":
        return series
    css = base.judge_css(number)
    line = base.judge_line(number).rpartition(" ")[0]
    return series._replace(css=line, mark=lambda x, y: svg.square(css, x, y))


def data(subject: Subject) -> Table:
    scores = _scores(subject)
    used = _used(scores)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (_label(system), judge or "none", *(Number.from_estimate(of[s.key]) for s in used))
        for judge, systems in scores.items()
        for system, of in systems.items()
    )
    header = ("System", "Judge", *(s.label.capitalize() for s in used))
    return Table(f"{subject.name.capitalize()} of each system", header, rows)


def _scores(subject: Subject) -> dict[str, dict[str, JSON]]:
    """Return the estimates by judge and system; without any judge people alone, under ""."""
    found: dict[str, dict[str, JSON]] = {}
    for system, block in subject.block["estimate"].items():
        for judge, of in block.get("judges", {block.get("judge_name", "judge"): block}).items():
            found.setdefault(judge, {})[system] = {s.key: of[s.key] for s in SERIES}
    if found:
        return found
    together = subject.block.get("majority", {})
    people = {
        name: {"humans": together.get(name, of["mean"])}
        for name, of in subject.block["systems"].items()
    }
    return {"": people} if people else {}


def _used(scores: dict[str, dict[str, JSON]]) -> list[Series]:
    known = {key for of in scores.values() for each in of.values() for key in each}
    return [series for series in SERIES if series.key in known]


def _label(system: str) -> str:
    return system or ALL


def _panel(
    of: tuple[str, int],
    systems: dict[str, JSON],
    scale: base.Scale,
    top: float,
    notes: base.Notes,
    names: float,
) -> base.Key:
    """Draw the systems under one judge, a row of marks each, and return the panel's lower edge.

    `of` is the judge and its number.
    """
    (judge, number), parts, y = of, list[str](), top
    if judge:
        parts.append(svg.square(base.judge_css(number), scale.start + 5, y + 6))
        parts.append(svg.name("group", scale.start + 16, y + 10, judge, scale.width - 16))
        y += HEAD - 6
    bottom = y + sum(STEP * len(each) + GAP for each in systems.values())
    parts.append(base.x_axis(scale, y, bottom))
    for system, estimates in systems.items():
        middle = y + (STEP * len(estimates) + GAP) / 2
        label = svg.name("label", scale.start - 12, middle + 4, _label(system), names, "end")
        parts.append(label + svg.line("grid", (scale.start, y), (scale.end, y)))
        parts += [
            draw_estimate(
                of_judge(series, number),
                estimates[series.key],
                scale,
                y + (GAP + STEP) / 2 + STEP * n,
                notes,
            )
            for n, series in enumerate(s for s in SERIES if s.key in estimates)
        ]
        y += STEP * len(estimates) + GAP
    return base.Key("".join(parts), bottom + HEAD)


def draw_estimate(series: Series, of: JSON, scale: base.Scale, y: float, notes: base.Notes) -> str:
    """Draw a series' mark with its interval, or a cross with the letter of the reason."""
    number = Number.from_estimate(of)
    title = f"<title>{svg.clean(f'{series.label}: {number}')}</title>"
    if number.value is None:
        letter = notes.letter(f"{series.label}, {number.reason}")
        mark = svg.cross(scale.start + 10, y, f"{series.label}: {number.reason}")
        return mark + svg.text("note", scale.start + 18, y + 4, letter)
    drawn = series.mark(scale.at(number.value), y)
    if of["low"] is not None:
        drawn = base.whisker(series.css, scale, y, of["low"], of["high"]) + drawn
    return f"<g>{title}{drawn}</g>"


def chart(subject: Subject) -> JSON:
    used, ends = _used(_scores(subject)), base.ends_of_score(subject)
    view = vega.estimates("system", subject.name.capitalize(), used, ends)
    return {"facet": vega.rows("judge"), "spec": view}


FIGURE = Figure(
    "systems",
    "Systems under people, judge and both",
    "scores",
    "The mean of each system by people alone, by the judge alone, and corrected from both "
    "(prediction-powered), with 95 % intervals, which need ten queries.",
    lambda subject: bool(_scores(subject)),
    data,
    draw,
    chart,
    "systems",
)
