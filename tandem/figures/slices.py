"""Figure: agreement within the parts of each division, as small multiples on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from ..document import UNITS, UNITS_HEAD, RaterName, Table, units_of_slice
from ..labels.selection import OWN_STRATA
from ..sections.base import coefficient_of
from ..sections.slices import divisions, is_in_pairs, numbers_of
from ..types import JSON
from . import base, multiples, vega
from .base import Figure, Subject
from .multiples import Panel, Row, Series
from .svg import Drawing

PEOPLE = "people with each other"
ORDERED = ("length",)
"""The divisions whose parts have an order of their own."""
IN_A_ROW, ROW, MARK = 3, 20, 9
"""How many panels of a specification are in a row, and the height of a row and of a mark."""


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    series = _series(subject)
    panels = _in_order(subject, series)
    what = coefficient_of(subject.block).words(lower=True)
    title = f"Agreement on {subject.name} by slice: {what}"
    missing = multiples.reasons(panels, series)
    label = coefficient_of(subject.block).words()
    return multiples.draw(title, panels, series, label, room, missing, subject.noun[1])


def panels_of(subject: Subject) -> list[Panel]:
    """Return a panel for each division of the units; equal divisions share one."""
    found = divisions(subject.block["strata"])
    return [
        Panel(name, _rows(name, of, subject.block), is_whole=OWN_STRATA[0] in name.split(", "))
        for name, of in found
    ]


def _rows(name: str, groups: JSON, whole: JSON) -> list[Row]:
    rows = [_row(name, group, block, whole) for group, block in groups.items()]
    if name in ORDERED:
        return rows
    known = any(row.numbers[PEOPLE].value is not None for row in rows)
    judges = [each for row in rows for each in row.numbers if each != PEOPLE]
    return multiples.sorted_rows(rows, PEOPLE if known or not judges else judges[0])


def _row(name: str, group: str, block: JSON, whole: JSON) -> Row:
    people, judges = numbers_of(block, whole)
    numbers = {PEOPLE: people, **judges}
    # If people labelled as many units as any judge, the count links to people's units.
    units = [units_of_slice(block["agreement"]["units"], name, group)]
    units += [of["units"] for of in block["judges"].values()]
    return Row(group, max(units), numbers)


def _in_order(subject: Subject, series: Sequence[Series]) -> list[Panel]:
    """Return the panels: of systems, and then those with the largest differences between parts."""

    def rank(panel: Panel) -> tuple[bool, float]:
        return not panel.is_whole, -multiples.spread(panel.rows, series)

    return sorted(panels_of(subject), key=rank)


def _series(subject: Subject) -> list[Series]:
    """Return the series of people and of each judge, if they have a number in any part."""
    rows = [row for panel in panels_of(subject) for row in panel.rows]
    known = {name for row in rows for name, of in row.numbers.items() if of.value is not None}
    judges = dict.fromkeys(name for row in rows for name in row.numbers if name != PEOPLE)
    whom = "each person" if is_in_pairs(subject.block) else "people together"
    found = [Series(PEOPLE, "people with each other", "human")]
    found += [
        Series(name, f"{name} with {whom}", "judge", subject.judge_number(name)) for name in judges
    ]
    return [each for each in found if each.name in known]


def data(subject: Subject) -> Table:
    rows = tuple(
        (
            panel.title,
            row.name,
            RaterName(name, "human" if name == PEOPLE else "judge"),
            row.units or 0,
            number,
        )
        for panel in panels_of(subject)
        for row in panel.rows
        for name, number in row.numbers.items()
    )
    header = ("Division", "Part", "Rater", UNITS_HEAD, coefficient_of(subject.block).name)
    return Table(f"Agreement on {subject.name} by slice", header, rows)


def chart(subject: Subject) -> JSON:
    series = _series(subject)
    panels, name = _in_order(subject, series), coefficient_of(subject.block).name
    value = vega.column(name), name
    numbers = [each for panel in panels for row in panel.rows for each in row.numbers.values()]
    bounds = base.bounds_of(base.ends_of(numbers))
    return multiples_chart(("division", panels), "part", series, value, bounds)


def multiples_chart(
    facet: tuple[str, Sequence[Panel]],
    row: str,
    series: Sequence[Series],
    value: tuple[str, str],
    bounds: tuple[float, float] | None,
) -> JSON:
    """Return small multiples of raters' marks with their intervals, on one axis.

    `facet` is the column of the panels and their names, `value` that of the numbers and its title.
    """
    numbers = {each.name: each.number for each in series}
    channels = vega.raters("rater", {each.name: each.kind for each in series}, numbers.__getitem__)
    more = {"y": vega.name(row, None), "yOffset": {"field": "rater", "sort": None}}
    view = {
        "width": vega.COLUMN,
        "height": {"step": max(MARK, ROW // max(1, len(series)))},
        "layer": vega.whiskers("x", *value, channels, more, bounds),
    }
    return {
        # Vega-Lite sorts wrapped panels by name if told to keep the data's order.
        "facet": {**vega.name(facet[0], None), "sort": [each.title for each in facet[1]]},
        "columns": IN_A_ROW,
        "spec": view,
        "resolve": {"scale": {"y": "independent"}},
    }


FIGURE = Figure(
    "slices",
    "Agreement by slice",
    "variables",
    f"A panel for each division of the {UNITS}, systems first, then those whose parts differ most, "
    "and the "
    "parts from the highest to the lowest, with 95 % intervals, which need ten queries. Lengths "
    "are in their own order. Intervals of parts are each by itself: parts whose intervals overlap "
    "may still differ.",
    lambda subject: bool(subject.block["strata"]) and bool(_series(subject)),
    data,
    draw,
    chart,
    "slices",
    turns=True,
)
