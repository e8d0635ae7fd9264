"""Figure: the alternative annotator test over epsilon, which shows how the result depends on it."""

from __future__ import annotations

from dataclasses import replace

from ..document import Number, RaterName, Table
from ..sections.alt_test import describe_answer, describe_verdict
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Subject
from .svg import Drawing

LEFT, TOP, WIDTH, HEIGHT, RIGHT = 52, 46, 400, 200, 60
PASS, BESIDE, ASIDE = 0.5, 9, 18
READINGS = {"by_query": "queries", "items": "items"}


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    tests = _tests(subject)
    drawn = {judge: test for judge, test in tests.items() if test.get("curve")}
    last = max(point["epsilon"] for test in drawn.values() for point in test["curve"])
    wide = room.plot(LEFT + RIGHT, WIDTH)
    x = base.Scale(0, last, LEFT + ASIDE, LEFT + wide - ASIDE)
    y = base.Scale(0, 1, TOP + HEIGHT, TOP)
    chosen = next(iter(drawn.values()))["epsilon"]
    parts = [_frame(x, y, chosen, LEFT + wide)]
    for n, (judge, test) in enumerate(drawn.items()):
        # Judges are drawn with an offset, since equal rates would overlap.
        aside = (n - (len(drawn) - 1) / 2) * min(BESIDE, 2.5 * BESIDE / len(drawn))
        place = replace(x, start=x.start + aside, end=x.end + aside)
        parts.append(_line(judge, test, subject.judge_number(judge), place, y))
    entries = [
        (base.judge_mark(subject.judge_number(j)), _named(j, test)) for j, test in drawn.items()
    ]
    key = base.key(entries, LEFT, TOP + HEIGHT + 40, wide)
    notes = base.Notes(
        [
            *(f"{j}, {t['reason']}" for j, t in tests.items() if "reason" in t),
            *(
                f"{j}, {describe_answer(t['answer'])}"
                for j, t in drawn.items()
                if t.get("answer", {}).get("set_by")
            ),
        ]
    )
    under = notes.draw(LEFT, key.bottom, wide)
    title = f"Share of people whom judges are at most epsilon behind on {subject.name}"
    return Drawing(title, LEFT + wide + RIGHT, under.bottom + 8, (*parts, key.markup, under.markup))


def data(subject: Subject) -> Table:
    rows = tuple(
        (
            RaterName(judge, "judge"),
            Number(point["epsilon"], digits=2),
            Number(point["winning_rate"]),
            Number(point["by_query"]["winning_rate"]),
            READINGS[test["decides"]],
            describe_verdict(point),
        )
        for judge, test in _tests(subject).items()
        for point in test.get("curve", ())
    )
    header = (
        "Judge",
        "Epsilon",
        "People within epsilon by items",
        "People within epsilon by queries",
        "Which decides",
        "Verdict",
    )
    return Table(f"Alternative annotator test on {subject.name} over epsilon", header, rows)


def _tests(subject: Subject) -> dict[str, JSON]:
    return {judge: of["alt_test"] for judge, of in subject.judges.items()}


def _named(judge: str, test: JSON) -> str:
    # Isolated, so that direction marks in the name do not reverse the following words.
    return f"\u2068{judge}\u2069, by {READINGS[test['decides']]}"


def rate(test: JSON, point: JSON) -> float:
    """Return the share of people that decides the test."""
    reading = point if test["decides"] == "items" else point["by_query"]
    return float(reading["winning_rate"])


def _frame(x: base.Scale, y: base.Scale, chosen: float, right: float) -> str:
    parts = [
        svg.text("label", LEFT - 40, TOP - 30, "people within ε"),
        base.y_axis(y, LEFT, right),
        base.x_axis(x, TOP, TOP + HEIGHT, "epsilon"),
        svg.line("mark-line", (LEFT, y.at(PASS)), (right, y.at(PASS))),
        svg.text("note", right + 6, y.at(PASS) + base.TEXT_DROP, "shown"),
        svg.text("note", right + 6, y.at(PASS) - 9, "↑"),
    ]
    if x.low <= chosen <= x.high:
        at = x.at(chosen)
        parts.append(svg.line("mark-line", (at, TOP), (at, TOP + HEIGHT)))
        note = f"chosen: {base.format_tick(chosen)}"
        parts.append(svg.text("note", at, TOP - 12, note, "middle"))
    return "".join(parts)


def _line(judge: str, test: JSON, number: int, x: base.Scale, y: base.Scale) -> str:
    points = [(point, (x.at(point["epsilon"]), y.at(rate(test, point)))) for point in test["curve"]]
    parts = [svg.path(base.judge_line(number), [at for _, at in points])]
    for point, at in points:
        verdict = describe_verdict(point)
        epsilon = base.format_tick(point["epsilon"])
        title = f"{judge}, epsilon {epsilon}: {rate(test, point):.3f}, {verdict}"
        parts.append(svg.square(base.judge_css(number), *at, title))
    return "".join(parts)


def chart(subject: Subject) -> JSON:
    judge = {"field": "judge", "type": "nominal", "title": None}
    colour = vega.colours_of("judge", dict.fromkeys(_tests(subject), "judge"), subject.judge_number)
    rate = "datum.which_decides == 'items' ? datum.people_within_epsilon_by_items : "
    return {
        "width": 2 * vega.COLUMN,
        "layer": [
            {
                "transform": [
                    {"calculate": f"{rate}datum.people_within_epsilon_by_queries", "as": "within"}
                ],
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": vega.number("epsilon", "Epsilon"),
                    "y": vega.number("within", "People within epsilon", (0, 1)),
                    "color": colour,
                    "strokeDash": judge,
                    "tooltip": {"field": "verdict"},
                },
            },
            {
                "mark": {"type": "rule", "strokeDash": [2, 3], "color": vega.INK},
                "encoding": {"y": {"datum": PASS}},
            },
        ],
    }


FIGURE = Figure(
    "epsilon",
    "Alternative annotator test over epsilon",
    "variables",
    "The share of people whom the judge is shown to be at most epsilon behind, by epsilon. The "
    "vertical line marks this report's epsilon. One half is needed, and it means nothing where a "
    "floor that does not read the texts passes, too.",
    lambda subject: any(test.get("curve") for test in _tests(subject).values()),
    data,
    draw,
    chart,
)
