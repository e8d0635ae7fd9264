"""Figure: the share of pairs of systems that judges and people order alike within queries."""

from __future__ import annotations

from ..document import Cell, Number, RaterName, Table
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Series, Subject
from .svg import Drawing
from .systems import draw_estimate, entries, of_judge

NAMES, WIDTH, RIGHT, TOP = 170, 400, 24, 8
STEP, GAP, FOOT = 14, 12, 40
CHANCE = 0.5
AXIS = "Share of pairs ordered alike, ties one half"
PERSON = Series(
    "people_with_others",
    "a person, with all other people",
    "person",
    lambda x, y: svg.circle("person", x, y),
)
JUDGE = Series(
    "with_others",
    "the judge, with the same people",
    "judge",
    lambda x, y: svg.square("judge", x, y),
)
ALONE = Series("within_queries", "the judge, with people", "judge", JUDGE.mark)


def _series(subject: Subject) -> tuple[Series, ...]:
    """Return what is drawn: judge and people if a person can be left out, else the judge alone."""
    judges = subject.block["order"]["judges"].values()
    with_people = any(of[PERSON.key]["value"] is not None for of in judges)
    return (PERSON, JUDGE) if with_people else (ALONE,)


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    judges, used = subject.block["order"]["judges"], _series(subject)
    names = base.gutter(judges, room.names(NAMES), 40)
    left = 20 + base.SIGN_ROOM + names
    wide = room.plot(left + RIGHT, WIDTH)
    scale = base.Scale(0, 1, left, left + wide)
    tall = STEP * len(used) + GAP
    bottom = TOP + tall * len(judges)
    notes = base.Notes()
    chance = scale.at(CHANCE)
    parts = [
        base.x_axis(scale, TOP, bottom, AXIS),
        svg.line("mark-line", (chance, TOP), (chance, bottom), "chance"),
    ]
    for n, (judge, of) in enumerate(judges.items()):
        y = TOP + tall * n
        middle = y + tall / 2
        name_end = scale.start - 12 - base.SIGN_ROOM
        parts.append(svg.name("label", name_end, middle + base.TEXT_DROP, judge, names, "end"))
        number = subject.judge_number(judge)
        parts.append(svg.square(base.judge_css(number), scale.start - 15, middle))
        parts += [
            draw_estimate(
                of_judge(series, number),
                of[series.key],
                scale,
                y + (GAP + STEP) / 2 + STEP * m,
                notes,
            )
            for m, series in enumerate(used)
        ]
    numbers = [subject.judge_number(judge) for judge in judges]
    key = base.key(entries(used, numbers), left, bottom + FOOT, wide)
    end = notes.draw(left, key.bottom, wide)
    title = f"Order of systems within queries by {subject.name}, under judges and people"
    return Drawing(title, left + wide + RIGHT, end.bottom + 8, (*parts, key.markup, end.markup))


def data(subject: Subject) -> Table:
    used = _series(subject)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(judge, "judge"), *(Number.from_estimate(of[each.key]) for each in used))
        for judge, of in subject.block["order"]["judges"].items()
    )
    header = ("Judge", *(f"{each.label[:1].upper()}{each.label[1:]}" for each in used))
    return Table(f"Order of systems within queries by {subject.name}", header, rows)


def chart(subject: Subject) -> JSON:
    return vega.estimates("judge", AXIS, _series(subject))


FIGURE = Figure(
    "order",
    "Do judges order systems as people do within queries?",
    "scores",
    "Of the pairs of systems that people order within a query, the share that the judge orders "
    "alike, and that a person does, each person left out of the reference in turn, with 95 % "
    "intervals. The dotted line is chance: half the pairs.",
    lambda subject: any(
        of["within_queries"]["value"] is not None
        for of in subject.block.get("order", {"judges": {}})["judges"].values()
    ),
    data,
    draw,
    chart,
    "systems",
)
