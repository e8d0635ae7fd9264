"""A figure as a Vega-Lite specification with its data, to restyle it in notebooks and papers.

Each figure's module declares its chart: marks and encodings of the columns of its data. A number
has its column, `_low` and `_high` for the ends of its interval, and `_reason` where it is not
defined; a rater has its column and `_kind`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..document import Cell, Number, RaterName, Table, in_noun
from ..types import JSON
from .base import DARKEST, Series

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PEOPLE, JUDGE, REFERENCE, INK = "#1f5fa8", "#b4540a", "#17643f", "#1d1f23"
STYLES = {"person": PEOPLE, "judge": JUDGE, "third": REFERENCE, "both": INK}
"""The colours of a series by the first class of its style."""
JUDGES = (JUDGE, "#93348f", "#0b7a75")
"""The colours of several judges, in the report's order, again and again."""
KINDS = {
    "human": {"color": PEOPLE, "shape": "circle"},
    "judge": {"color": JUDGE, "shape": "square"},
}
COLOURS = {kind: of["color"] for kind, of in KINDS.items()}
SHAPES = {
    "human": ("circle", "diamond", "triangle-up"),
    "judge": ("square", "cross", "triangle-down"),
    "": ("stroke",),
}
NO_GRID: JSON = {"axis": {"grid": False}}
COLUMN = 240
"""The width of a plot, in pixels: 84 mm, a column of a paper in two columns."""
IN_A_ROW = 4
LONGEST = 180
"""The longest name of a row of panels in pixels; longer ones are cut off with dots."""


def column(head: str) -> str:
    """Return the data column's name for a table heading."""
    return in_noun(head).lower().replace("'", "").replace(",", "").replace(" ", "_")


def as_vega(table: Table, chart: JSON, caption: str) -> str:
    """Return the Vega-Lite specification of a table's chart, as JSON."""
    whole = {
        "$schema": SCHEMA,
        "title": {"text": table.caption, "anchor": "start"},
        "description": caption,
        "data": {"values": list(_records(table))},
        "config": {"view": {"stroke": None}, "axis": {"grid": True}},
        **chart,
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _records(table: Table) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        record: dict[str, Any] = {}
        for head, cell in zip(table.header, row, strict=True):
            record |= _values(column(str(head)), cell)
        yield record


def _values(name: str, cell: Cell) -> dict[str, Any]:
    if isinstance(cell, Number):
        ends = {f"{name}_low": cell.low, f"{name}_high": cell.high}
        reason = {f"{name}_reason": cell.reason} if cell.value is None else {}
        return {name: cell.value, **ends, **reason}
    if isinstance(cell, RaterName):
        return {name: cell.name, f"{name}_kind": cell.kind}
    return {name: cell if isinstance(cell, int) else str(cell)}


def number(field: str, title: str, bounds: tuple[float, float] | None = None) -> JSON:
    """Return the encoding of a number; the axis has `bounds`, else the range of the data."""
    scale = {"scale": {"domain": list(bounds)}} if bounds else {}
    return {"field": field, "type": "quantitative", "title": title, **scale}


def name(field: str, title: str | None) -> JSON:
    """Return the encoding of names, in the order of the data."""
    return {"field": field, "type": "nominal", "title": title, "sort": None}


def rows(field: str) -> JSON:
    """Return the facet of stacked panels, with horizontal names beside them.

    Rotated names, the default, overlap if panels are low.
    """
    header = {"labelAngle": 0, "labelAlign": "right", "labelLimit": LONGEST}
    return {"row": {**name(field, None), "header": header}}


def colours_of(
    field: str, kind_of: Mapping[str, str], number_of: Callable[[str], int], legend: bool = True
) -> JSON:
    """Return the colour channel of raters by kind; judges have the colours of their numbers."""
    drawn = [
        JUDGES[number_of(name) % len(JUDGES)] if kind == "judge" else COLOURS.get(kind, INK)
        for name, kind in kind_of.items()
    ]
    scale = {"domain": list(kind_of), "range": drawn}
    found = {"field": field, "type": "nominal", "title": None, "scale": scale}
    return found if legend else {**found, "legend": None}


def kinds(field: str, channel: str) -> JSON:
    """Return a channel that distinguishes people (round, blue) from judges (square, orange)."""
    scale = {"domain": list(KINDS), "range": [of[channel] for of in KINDS.values()]}
    return {channel: {"field": field, "type": "nominal", "title": None, "scale": scale}}


def raters(field: str, kind_of: Mapping[str, str], number_of: Callable[[str], int]) -> JSON:
    """Return the channels that identify raters: a colour, and a shape for each."""
    used: Counter[str] = Counter()
    shapes = []
    for kind in kind_of.values():
        shapes.append(SHAPES[kind][used[kind] % len(SHAPES[kind])])
        used[kind] += 1
    colours = colours_of(field, kind_of, number_of)
    return {
        "color": colours,
        "shape": {**colours, "scale": {"domain": list(kind_of), "range": shapes}},
    }


def columns_of(drawn: Iterable[Series]) -> list[str]:
    """Return the columns of series, whose headings are their names."""
    return [column(each.label) for each in drawn]


def series(drawn: Sequence[Series], channel: str = "shape") -> JSON:
    """Return the channels of series that differ in colour and in another channel, in order."""
    domain, colours = columns_of(drawn), [STYLES[each.css.split()[0]] for each in drawn]
    words = {"labelExpr": "replace(datum.label, /_/g, ' ')"}
    encoding = {"field": "series", "type": "nominal", "title": None, "legend": words}
    return {
        "color": {**encoding, "scale": {"domain": domain, "range": colours}},
        channel: {**encoding, "scale": {"domain": domain}},
    }


def fold(drawn: Sequence[Series]) -> list[JSON]:
    """Return transforms that turn the number of each series into a row, with its interval."""
    return [
        {"fold": columns_of(drawn), "as": ["series", "value"]},
        {"calculate": "datum[datum.series + '_low']", "as": "value_low"},
        {"calculate": "datum[datum.series + '_high']", "as": "value_high"},
    ]


def estimates(
    row: str, title: str, drawn: Sequence[Series], bounds: tuple[float, float] | None = (0, 1)
) -> JSON:
    """Return estimates, by default shares, with their intervals: a mark for each series by row."""
    more = {"y": name(row, None), "yOffset": {"field": "series", "sort": columns_of(drawn)}}
    return {
        "width": 2 * COLUMN,
        "transform": fold(drawn),
        "layer": whiskers("x", "value", title, series(drawn), more, bounds),
    }


def whiskers(
    at: str,
    field: str,
    title: str,
    channels: JSON,
    more: JSON,
    bounds: tuple[float, float] | None = None,
) -> list[JSON]:
    """Return layers of points with intervals along `at`, x or y. `more` has other encodings."""
    place = number(field, title, bounds)
    channels = {**channels, **more}
    colour = {"color": channels["color"]} if "color" in channels else {}
    low = {at: number(f"{field}_low", title, bounds), f"{at}2": {"field": f"{field}_high"}}
    placed = {key: value for key, value in more.items() if key != "shape"}
    return [
        {"mark": {"type": "rule"}, "encoding": {**low, **placed, **colour}},
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {at: place, **channels},
        },
    ]


def matrix(row: JSON, across: JSON, shade: JSON, words: JSON, *more: JSON) -> JSON:
    """Return a matrix: cells with their numbers, and further layers; `shade` is their colour."""
    places = {"y": {**row, **NO_GRID}, "x": {**across, **NO_GRID}}
    return {
        "width": {"step": 60},
        "height": {"step": 40},
        "layer": [
            {"mark": "rect", "encoding": {**places, **shade}},
            {"mark": {"type": "text"}, "encoding": {**places, "text": words}},
            *more,
        ],
    }


def shade(field: str, title: str, scheme: str, bounds: tuple[float, float] | None = None) -> JSON:
    """Return the encoding of a number as a colour that keeps words readable."""
    domain = {"domain": list(bounds)} if bounds else {}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"scheme": {"name": scheme, "extent": [0, 0.6]}, **domain},
    }


def darkness(field: str, title: str) -> JSON:
    """Return the encoding of a number as the share of colour in a cell, as it is drawn."""
    scale = {"domain": [0, 1], "range": [0, DARKEST], "clamp": True}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale}


def small_multiples(field: str, view: JSON) -> JSON:
    """Return small multiples: the view once for each value of a column, four in a row."""
    return {"facet": name(field, None), "columns": IN_A_ROW, "spec": view}
