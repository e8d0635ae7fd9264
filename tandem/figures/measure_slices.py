"""Figure: a measure of each system within slices of the queries, as small multiples."""

from __future__ import annotations

from ..document import DASH, Number, RaterName, Table
from ..types import JSON
from . import base, multiples
from .base import Figure, Subject
from .multiples import Panel, Row, Series
from .slices import multiples_chart
from .svg import Drawing

TOGETHER = {"people": "people together", "mean_of_people": "mean of people", "texts": "the batch"}
"""Evaluators that are not a single rater, with their words."""
SHARES = (0.0, 1.0)


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    title = f"{subject.name} of systems by slice"
    panels, series = panels_of(subject), _series(subject)
    missing = multiples.reasons(panels, series)
    return multiples.draw(title, panels, series, subject.name, room, missing)


def panels_of(subject: Subject) -> list[Panel]:
    """Return a panel for each slice, with the systems in one order: that of the whole measure."""
    order = _order(subject)
    return [
        Panel(
            f"{_named(stratum)}: {group}",
            sorted(
                (
                    Row(system or DASH, None, _numbers(of, subject))
                    for system, of in systems.items()
                ),
                key=lambda row: order.index(row.name) if row.name in order else len(order),
            ),
            is_whole=True,
        )
        for stratum, groups in subject.block["slices"].items()
        for group, systems in groups.items()
    ]


def _named(stratum: str) -> str:
    """Return a division's name; one by labels is `VARIABLE@CAMPAIGN` in the report."""
    variable, _, campaign = stratum.partition("@")
    return variable.replace("_", " ") + (f" in {campaign}" if campaign else "")


def _order(subject: Subject) -> list[str]:
    """Return the systems by the measure on all queries, by the first evaluator, highest first."""
    rows = _rows(subject.block["systems"], subject)
    first = next((name for row in rows for name in row.numbers), "")
    return [row.name for row in multiples.sorted_rows(rows, first)]


def _rows(systems: JSON, subject: Subject) -> list[Row]:
    return [Row(system or DASH, None, _numbers(of, subject)) for system, of in systems.items()]


def _numbers(of: JSON, subject: Subject) -> dict[str, Number]:
    """Return the numbers of people together and of each judge; single people are in the files."""
    found = {
        words: Number.from_estimate(of[name]) for name, words in TOGETHER.items() if of.get(name)
    }
    judged = {
        name: Number.from_estimate(each)
        for name, each in of["raters"].items()
        if subject.kinds.get(name) == "judge"
    }
    return found | judged


def _series(subject: Subject) -> list[Series]:
    rows = [row for panel in panels_of(subject) for row in panel.rows]
    names = dict.fromkeys(name for row in rows for name in row.numbers)
    return [Series(name, name, _kind(name), subject.judge_number(name)) for name in names]


def _kind(name: str) -> str:
    if name == TOGETHER["texts"]:
        return ""
    return "human" if name in TOGETHER.values() else "judge"


def data(subject: Subject) -> Table:
    rows = tuple(
        (panel.title, row.name, RaterName(name, _kind(name)), number)
        for panel in panels_of(subject)
        for row in panel.rows
        for name, number in row.numbers.items()
    )
    header = ("Slice", "System", "Rater", "Value")
    return Table(f"{subject.name} of systems by slice", header, rows)


def _is_share(subject: Subject) -> bool:
    values = [n.value for p in panels_of(subject) for row in p.rows for n in row.numbers.values()]
    return all(value is None or 0 <= value <= 1 for value in values)


def chart(subject: Subject) -> JSON:
    bounds = SHARES if _is_share(subject) else None
    panels, value = panels_of(subject), ("value", subject.name)
    return multiples_chart(("slice", panels), "system", _series(subject), value, bounds)


FIGURE = Figure(
    "measure-slices",
    "Systems by slice",
    "measures",
    "A panel for each slice of the queries, with 95 % intervals. In all panels systems are in the "
    "order of the whole measure, so that a rank that changes is easily seen.",
    lambda subject: not subject.block["cut"] and bool(_series(subject)),
    data,
    draw,
    chart,
    "slices",
    turns=True,
)
