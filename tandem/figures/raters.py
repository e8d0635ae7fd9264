"""Figure: all raters on one axis, by their mean coefficient with each person."""

from __future__ import annotations

from dataclasses import dataclass

from ..document import UNITS, Number, RaterName, Table, of_several, pairs_of_labels
from ..sections.base import coefficient_of
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Subject
from .svg import Drawing

NAMES, LEFT, TOP, ROW, NARROW_ROW, WIDTH = 190, 16, 12, 30, 22, 380
BAND_SHADE = 0.13
OF_PEOPLE, PEOPLE = "people with each other", "people"


@dataclass(frozen=True)
class Place:
    """A rater's mean coefficient with each person other than the rater."""

    name: str
    kind: str
    kappa: Number
    pairs: int


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    people = PEOPLE if room.is_narrow else OF_PEOPLE
    found, band = places(subject), _band(subject, people)
    rows = [band, *found] if band else list(found)
    names = base.gutter([each.name for each in found] + [people], room.names(NAMES))
    start = LEFT + names + 26
    wide = room.plot(start + 24, WIDTH)
    x = base.Scale.over(base.ends_of(each.kappa for each in rows), start, start + wide)
    height = NARROW_ROW if room.is_narrow else ROW
    bottom = TOP + height * len(rows)
    parts = []
    if band and band.kappa.low is not None and band.kappa.high is not None:
        left, right = x.at(band.kappa.low), x.at(band.kappa.high)
        faint = f' fill-opacity="{BAND_SHADE}"'
        parts.append(
            svg.rectangle("people-cell", left, TOP, right - left, bottom - TOP, more=faint)
        )
    parts.append(base.x_axis(x, TOP, bottom, f"{_axis(subject)} with each person, mean"))
    parts += [
        _row(subject, each, x, TOP + height * (n + 0.5), names) for n, each in enumerate(rows)
    ]
    what = f"mean {_axis(subject, lower=True)} with each person"
    title = f"All raters of {subject.name} on one axis: {what}"
    return Drawing(title, start + wide + 24, bottom + 44, tuple(parts))


def _row(subject: Subject, place: Place, x: base.Scale, y: float, names: float) -> str:
    line, css = "person", "person"
    if place.kind == "judge":
        number = subject.judge_number(place.name)
        line, css = base.judge_line(number), base.judge_css(number)
    parts = [svg.name("label", LEFT + names, y + base.TEXT_DROP, place.name, names, "end")]
    kappa = place.kappa
    title = f"{place.name}: kappa {kappa}, {place.pairs} pairs of labels"
    if kappa.value is None:
        parts.append(svg.cross(x.start, y, f"{place.name}: {kappa.reason}"))
        return "".join(parts)
    if kappa.low is not None and kappa.high is not None:
        parts.append(base.whisker(line, x, y, kappa.low, kappa.high))
    mark = svg.square if place.kind == "judge" else svg.circle
    parts.append(mark(css, x.at(kappa.value), y, title))
    return "".join(parts)


def data(subject: Subject) -> Table:
    rows = tuple(
        (RaterName(each.name, each.kind), each.kappa, each.pairs) for each in _all(subject)
    )
    name = coefficient_of(subject.block).name
    caption = f"Mean {_axis(subject, lower=True)} with each person on {subject.name}"
    return Table(caption, ("Rater", name, "Pairs of labels"), rows)


def _axis(subject: Subject, lower: bool = False) -> str:
    """Return the words for the coefficient, short enough for an axis."""
    return coefficient_of(subject.block).words(lower)


def places(subject: Subject) -> list[Place]:
    """Return people by name, then judges. If there is a crowd, people are left out."""
    found = [] if "pairs_distribution" in subject.block["agreement"] else _people(subject)
    for name, block in subject.judges.items():
        if with_people := block.get("with_people"):
            kappa = with_people[coefficient_of(subject.block).key]
            units = of_several(kappa["n"], name)
            found.append(Place(name, "judge", Number.from_estimate(kappa), units))
    return found


def _people(subject: Subject) -> list[Place]:
    """Return each person's kappa with the others, weighted by the units that two share."""
    key, sums = coefficient_of(subject.block).key, dict[str, tuple[float, int]]()
    for pair in subject.block["agreement"].get("pairs", ()):
        kappa = pair[key]["value"]
        for who in (pair["a"], pair["b"]) if kappa is not None else ():
            total, shared = sums.get(who, (0.0, 0))
            sums[who] = total + kappa * pair["units"], shared + pair["units"]
    method = f"mean weighted by shared {UNITS}"
    return [
        Place(name, "human", Number(total / shared, method=method), pairs_of_labels(shared, name))
        for name, (total, shared) in sorted(sums.items())
        if shared
    ]


def _all(subject: Subject) -> list[Place]:
    """Return people's agreement with each other, if there is any, and the raters."""
    return [*filter(None, [_band(subject)]), *places(subject)]


def _band(subject: Subject, name: str = OF_PEOPLE) -> Place | None:
    """Return people's agreement on the units of the first judge, if there is one."""
    for judge, block in subject.judges.items():
        kappa: JSON = block["human_ceiling"][coefficient_of(subject.block).key]
        if kappa["value"] is not None:
            units = of_several(kappa["n"], judge)
            return Place(name, "human", Number.from_estimate(kappa), units)
    return None


def chart(subject: Subject) -> JSON:
    bounds = base.bounds_of(base.ends_of(each.kappa for each in _all(subject)))
    place = {"y": vega.name("rater", None)}
    title = f"{_axis(subject)} with each person, mean"
    field = vega.column(coefficient_of(subject.block).name)
    kind_of = {each.name: each.kind for each in places(subject)} | {OF_PEOPLE: "human"}
    number_of = subject.judge_number
    colours = vega.colours_of("rater", kind_of, number_of, legend=False)
    channels = {"color": colours, **vega.kinds("rater_kind", "shape")}
    return {
        "width": 2 * vega.COLUMN,
        "layer": vega.whiskers("x", field, title, channels, place, bounds),
    }


FIGURE = Figure(
    "raters",
    "All raters on one axis",
    "variables",
    "Mean Cohen's kappa with each person, with quadratic weights where categories have an order, "
    "and its interval: people round and blue, judges square. The band is people with each other.",
    lambda subject: any(each.kappa.value is not None for each in places(subject)),
    data,
    draw,
    chart,
    "people",
    turns=True,
)
