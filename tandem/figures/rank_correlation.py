"""Figures: Kendall's tau as a matrix, of raters, of evaluators, and of measures with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..document import Cell as TableCell
from ..document import Number, RaterName, Table
from ..types import JSON
from . import base, svg, vega
from .base import Cell, Figure, Grid, Part, Place, Subject
from .svg import Drawing

NAMES, TOP = 170, 8
MOST_NAMED, LONGEST = 8, 98
"""The largest number of columns and the widest name that still fit; otherwise numbers replace
names.
"""
SHADE = 0.8
"""The factor from a tau to its cell's shade, since ink is darker than the raters' colours."""
NOT_COMPARED, INSIDE = "not compared in this report", "a person is part of people together"
PEOPLE = {"people": "people together", "mean_of_people": "mean of people", "mean": "mean of people"}
ORDER = (
    "In the order of their mean tau with all others, highest first. A darker cell is further "
    "from zero, and a broken frame is below zero."
)


@dataclass(frozen=True)
class Pair:
    """Two orderings by name, with the tau between them over `n` objects."""

    a: str
    b: str
    tau: Number
    n: int


Pairs = Callable[[Subject], list[Pair]]


@dataclass(frozen=True)
class Compared:
    """The subject of a matrix: labels for rows and ordered objects, and the source of pairs."""

    row: str
    ordered: str
    pairs: Pairs
    title: str


def in_order(pairs: Sequence[Pair]) -> list[str]:
    """Return the names by their mean tau with all others, the highest first."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.a, pair.b)))
    taus: dict[str, list[float]] = {name: [] for name in names}
    for pair in pairs:
        if pair.tau.value is not None:
            taus[pair.a].append(pair.tau.value)
            taus[pair.b].append(pair.tau.value)
    means = {name: sum(of) / len(of) if of else -2.0 for name, of in taus.items()}
    return sorted(names, key=lambda name: -means[name])


def _draw(compared: Compared, subject: Subject, room: base.Room) -> Drawing:
    pairs = compared.pairs(subject)
    names, found = in_order(pairs), _both_ways(pairs)
    shown = [PEOPLE.get(name, name) for name in names]
    numbered = _are_numbered(shown, room)
    rows = list(range(0 if numbered else 1, len(names)))
    named = [f"{n + 1}  {shown[n]}" if numbered else shown[n] for n in rows]
    wide = base.gutter(named, room.names(NAMES))
    left = wide + 16 + base.SIGN_ROOM
    notes = base.Notes()
    grid = Grid(
        named,
        [f"{n + 1}" if numbered else shown[n] for n in range(len(names) - 1)],
        [
            [
                _cell(
                    found.get((names[n], names[m])) or _absent(names[n], names[m], subject), notes
                )
                if m < n
                else None
                for m in range(len(names) - 1)
            ]
            for n in rows
        ],
        ["tau-cell"] * len(rows),
        room.within(left + 8),
        [_kind(names[n], subject) for n in rows],
    )
    width = room.width or max(left + grid.width + 8, 320)
    end = notes.draw(8, TOP + grid.height, width - 16)
    title = f"{compared.title} {subject.name}: Kendall's tau"
    return Drawing(title, width, end.bottom + 8, (grid.draw(left, TOP, wide), end.markup))


def _are_numbered(names: Sequence[str], room: base.Room) -> bool:
    """Return whether numbers have to replace the names above the columns."""
    columns, longest = len(names) - 1, max(map(svg.width_of, names[:-1]))
    left = base.gutter(names, room.names(NAMES)) + 16 + base.SIGN_ROOM
    wide = LONGEST if room.width is None else (room.width - left - 8) / columns - 4
    return columns > MOST_NAMED or longest > min(LONGEST, wide)


def _both_ways(pairs: Sequence[Pair]) -> dict[tuple[str, str], Pair]:
    return {key: pair for pair in pairs for key in ((pair.a, pair.b), (pair.b, pair.a))}


def _kind(name: str, subject: Subject) -> str:
    return "human" if name in PEOPLE else subject.kinds.get(name, "")


def _absent(a: str, b: str, subject: Subject) -> Pair:
    """Return a placeholder for a pair that the report lacks, with the reason."""
    together = (a in PEOPLE or b in PEOPLE) and _kind(a, subject) == _kind(b, subject)
    return Pair(a, b, Number(None, reason=INSIDE if together else NOT_COMPARED), 0)


def _cell(pair: Pair, notes: base.Notes) -> Cell:
    tau, who = pair.tau, " – ".join(PEOPLE.get(name, name) for name in (pair.a, pair.b))
    if tau.value is None:
        reason = tau.reason or NOT_COMPARED
        return Cell("–", f"({notes.letter(reason)})", None, f"{who}: tau not defined, {reason}")
    known = tau.low is not None and tau.high is not None
    ends = f"{tau.low:.2f} to {tau.high:.2f}".replace("-", "\u2212") if known else ""
    words = f"{tau.value:.2f}".replace("-", "\u2212")
    edge = "below" if tau.value < 0 else ""
    return Cell(words, ends, SHADE * abs(tau.value), f"{who}: tau {tau}", edge)


def _data(compared: Compared, subject: Subject) -> Table:
    pairs = compared.pairs(subject)
    place = {name: n for n, name in enumerate(in_order(pairs))}
    ends = (sorted((pair.a, pair.b), key=place.__getitem__) for pair in pairs)
    found = sorted(
        ((b, a, pair) for pair, (a, b) in zip(pairs, ends, strict=True)),
        key=lambda each: (place[each[0]], place[each[1]]),
    )
    rows: tuple[tuple[TableCell, ...], ...] = tuple(
        (_named(a, subject), _named(b, subject), pair.n, pair.tau) for a, b, pair in found
    )
    header = (compared.row, "With", compared.ordered, "Kendall's tau")
    return Table(f"{compared.title} {subject.name}", header, rows)


def _named(name: str, subject: Subject) -> RaterName:
    return RaterName(PEOPLE.get(name, name), _kind(name, subject))


def _chart(compared: Compared, subject: Subject) -> JSON:
    row, tau = vega.column(compared.row), "kendalls_tau"
    shade = vega.shade(tau, "Kendall's tau", "greys", (0, 1))
    shade["scale"]["clamp"] = True
    words = {**vega.number(tau, "Kendall's tau"), "format": ".2f"}
    places = {"y": vega.name(row, None), "x": vega.name("with", None)}
    dash = {
        "transform": [{"filter": f"datum.{tau} == null"}],
        "mark": {"type": "text", "text": "–"},
        "encoding": {**places, "tooltip": {"field": f"{tau}_reason"}},
    }
    undefined = any(pair.tau.value is None for pair in compared.pairs(subject))
    return vega.matrix(
        places["y"], places["x"], {"color": shade}, words, *([dash] if undefined else ())
    )


def _figure(
    name: str, title: str, part: Part, about: str, compared: Compared, place: Place = "systems"
) -> Figure:
    def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
        return _draw(compared, subject, room)

    return Figure(
        name,
        title,
        part,
        f"{about} {ORDER}",
        lambda subject: any(pair.tau.value is not None for pair in compared.pairs(subject)),
        lambda subject: _data(compared, subject),
        draw,
        lambda subject: _chart(compared, subject),
        place,
        turns=True,
    )


def _pair(of: JSON) -> Pair:
    return Pair(of["a"], of["b"], Number.from_estimate(of["kendall"]), of["kendall"]["n"])


def _of_raters(subject: Subject) -> list[Pair]:
    """Return the pairs of people and of each judge. In a crowd, people are combined."""
    found = [_pair(pair) for pair in subject.block.get("pairs", ())]
    for judge, others in subject.block["correlation"].items():
        found += [_pair({"a": judge, "b": other, **of}) for other, of in others.items()]
    return found


RATERS = _figure(
    "rankings",
    "Scores over all answers, query difficulty included",
    "scores",
    "Kendall's tau-b of the scores that every pair of raters gives to the same reports, with its "
    "interval. It is high, too, if raters only find the same queries difficult.",
    Compared("Rater", "Reports", _of_raters, "Raters in pairs, over all answers, by"),
)
EVALUATORS = _figure(
    "evaluators",
    "Do evaluators order the systems alike?",
    "measures",
    "Kendall's tau-b of the systems' means under every pair of evaluators, with its interval.",
    Compared(
        "Evaluator",
        "Systems",
        lambda subject: [_pair(pair) for pair in subject.block["evaluators"]],
        "Evaluators in pairs, ordering systems by",
    ),
)
METRICS = _figure(
    "metrics",
    "Do measures order the systems alike?",
    "metrics",
    "Kendall's tau-b of the systems' means by every pair of measures, with its interval.",
    Compared(
        "Measure",
        "Systems",
        lambda subject: [_pair(pair) for pair in subject.block["pairs"]],
        "Measures in pairs, ordering systems as judged by",
    ),
)
SAMPLED = _figure(
    "sampled",
    "Do measures order sampled contexts alike?",
    "sampled",
    "Kendall's tau-b of sampled contexts by every pair of measures, with its interval.",
    Compared(
        "Measure",
        "Contexts",
        lambda subject: [_pair(pair) for pair in subject.block["pairs"]],
        "Measures in pairs, ordering sampled contexts as judged by",
    ),
)
