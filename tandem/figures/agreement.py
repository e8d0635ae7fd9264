"""Figure: agreement of every pair of people, and of each judge with each person."""

from __future__ import annotations

from ..document import UNITS_HEAD, Number, RaterName, Table, count, shared_units
from ..sections.base import coefficient_of
from ..statistics import EQUAL
from ..types import JSON
from . import base, svg, vega
from .base import Cell, Figure, Grid, Subject
from .svg import Drawing

NAMES, TOP = 170, 8
LEFT, WIDTH, HEIGHT = 52, 460, 180
MOST_NAMED = 8


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    if bars := _bars(subject):
        return _of_crowd(subject, bars, room)
    found = _pairs(subject)
    columns = list(dict.fromkeys(b for _, b in found))
    # Names fit only above a few columns. With more, numbers replace them and precede the row names.
    many = len(columns) > MOST_NAMED
    rows = list(dict.fromkeys([*(columns if many else ()), *(a for a, _ in found)]))
    notes = base.Notes()
    cells = [[_cell(subject, found.get((a, b)), (a, b), notes) for b in columns] for a in rows]
    at = {name: f"{n + 1}" for n, name in enumerate(columns)}
    css = ["judge-cell" if subject.kinds.get(a) == "judge" else "people-cell" for a in rows]
    named = [f"{at[a]}  {a}" if many and a in at else a for a in rows]
    names = base.gutter(named, room.names(NAMES))
    left = names + 16 + base.SIGN_ROOM
    above = [at[b] if many else b for b in columns]
    kinds = [subject.kinds.get(a, "human") for a in rows]
    grid = Grid(named, above, cells, css, room.within(left + 8), kinds)
    width = max(left + grid.width + 8, 320)
    end = notes.draw(8, TOP + grid.height, width - 16)
    drawn = grid.draw(left, TOP, names)
    of = coefficient_of(subject.block).words(lower=True)
    title = f"Agreement of raters on {subject.name}: {of}"
    return Drawing(title, width, end.bottom + 8, (drawn, end.markup))


def _of_crowd(subject: Subject, bars: list[JSON], room: base.Room) -> Drawing:
    """Draw the distribution of people's kappa with the others, instead of an unreadable matrix."""
    wide = room.plot(LEFT + 24, WIDTH)
    x = base.Scale(bars[0]["from"], bars[-1]["to"], LEFT, LEFT + wide)
    y = base.Scale(0, max(bar["people"] for bar in bars), TOP + HEIGHT, TOP)
    parts = [
        base.y_axis(y, x.start, x.end),
        base.x_axis(x, TOP, TOP + HEIGHT, "Cohen's kappa with the others; people upwards"),
    ]
    for bar in bars:
        left, top = x.at(bar["from"]) + 1, y.at(bar["people"])
        title = f"{bar['from']:g} to {bar['to']:g}: {bar['people']} people"
        size = x.at(bar["to"]) - left - 1, TOP + HEIGHT - top
        parts.append(svg.rectangle("people-cell", left, top, *size, title))
    title = f"Agreement of people with the others on {subject.name}: Cohen's kappa"
    return Drawing(title, LEFT + wide + 24, TOP + HEIGHT + 44, tuple(parts))


def data(subject: Subject) -> Table:
    if bars := _bars(subject):
        counted = tuple((f"{bar['from']:g} to {bar['to']:g}", bar["people"]) for bar in bars)
        caption = f"People by Cohen's kappa with the others on {subject.name}"
        return Table(caption, ("Cohen's kappa", "People"), counted)
    shown = coefficient_of(subject.block)
    rows = tuple(
        (
            RaterName(a, subject.kinds.get(a, "")),
            RaterName(b, subject.kinds.get(b, "")),
            shared_units(of[EQUAL.key]["n"], a, b),
            Number.from_estimate(of[shown.key]),
            Number.from_estimate(of[EQUAL.key]),
        )
        for (a, b), of in _pairs(subject).items()
    )
    header = ("Rater", "With", UNITS_HEAD, shown.name, "Percent")
    return Table(f"Agreement of every pair of raters on {subject.name}", header, rows)


def _pairs(subject: Subject) -> dict[tuple[str, str], JSON]:
    """Return kappa and percent by row and column; people are above judges, each pair once."""
    people = subject.block["agreement"].get("pairs", [])
    found = {(pair["b"], pair["a"]): pair for pair in people}
    for judge, block in subject.judges.items():
        found |= {(judge, person): pair for person, pair in block.get("pairs", {}).items()}
    return found


def _bars(subject: Subject) -> list[JSON]:
    """Return a crowd's bars: the number of people by tenths of kappa."""
    found = subject.block["agreement"].get("pairs_distribution", {})
    bars: list[JSON] = found.get("with_others", {}).get("histogram", [])
    return bars


def _in_pairs(subject: Subject) -> bool:
    """Return whether to draw a matrix. A crowd gets none, even if its large pairs are listed."""
    return "pairs_distribution" not in subject.block["agreement"] and bool(_pairs(subject))


def _cell(
    subject: Subject, of: JSON | None, pair: tuple[str, str], notes: base.Notes
) -> Cell | None:
    if of is None:
        return None
    shown = of[coefficient_of(subject.block).key]
    kappa, percent = Number.from_estimate(shown), Number.from_estimate(of[EQUAL.key])
    who = " – ".join(pair)
    if kappa.value is None:
        why = f"{who}: kappa not defined, {kappa.reason}; percent {percent}"
        return Cell("–", f"({notes.letter(kappa.reason)})", None, why)
    # Two digits are enough in a cell.
    known = kappa.low is not None and kappa.high is not None
    ends = f"{kappa.low:.2f}–{kappa.high:.2f}" if known else ""
    units = count(of[EQUAL.key]["n"], *subject.noun)
    title = f"{who}: kappa {kappa}, percent {percent}, {units}"
    return Cell(f"{kappa.value:.2f}", ends, kappa.value, title)


def chart(subject: Subject) -> JSON:
    if _bars(subject):
        return {
            "width": 2 * vega.COLUMN,
            "mark": {"type": "bar", "color": vega.PEOPLE},
            "encoding": {
                "x": vega.name("cohens_kappa", "Cohen's kappa with the others"),
                "y": vega.number("people", "People"),
            },
        }
    shown = coefficient_of(subject.block)
    field = vega.column(shown.name)
    opacity = vega.darkness(field, shown.name)
    shade = {**vega.kinds("rater_kind", "color"), "opacity": opacity}
    words = {**vega.number(field, shown.name), "format": ".2f"}
    return vega.matrix(vega.name("rater", None), vega.name("with", None), shade, words)


FIGURE = Figure(
    "agreement",
    "Agreement of every pair of raters",
    "variables",
    "Cohen's kappa of every pair of people, in blue, and of each judge with each person, in "
    "orange, with quadratic weights where categories have an order, and with its interval. A "
    "stronger colour is a higher value; at zero and below there is none. With more than 30 people: "
    "how many of them have each kappa with all the others.",
    lambda subject: bool(_bars(subject) or _in_pairs(subject)),
    data,
    draw,
    chart,
    "people",
)
