"""Figure: a judge's probabilities against the share of yes, or of equal labels, in each bin."""

from __future__ import annotations

from collections.abc import Sequence

from ..document import UNITS_HEAD, Number, RaterName, Table, count, units_in_bin
from ..types import JSON
from . import base, svg, vega
from .base import Figure, Panel, Subject
from .svg import Drawing

WHOSE = {"yes": "the judge's probability of yes", "label": "the judge's probability of its label"}
SHARES = {False: "Share to which people say yes", True: "Share that people label alike"}


def draw(subject: Subject, room: base.Room = base.PAGE) -> Drawing:
    found = _calibrations(subject)
    placed = base.panels(len(found), room)
    width, bottom = base.extent(placed, room)
    parts = [
        _panel(at, judge, of, subject.noun)
        for at, (judge, of) in zip(placed, found.items(), strict=True)
    ]
    entries: list[tuple[base.Mark, str]] = [
        (lambda x, y: svg.square("judge", x, y), "a bin of about equally many labels"),
        (lambda x, y: svg.line("mark-line", (x - 12, y), (x + 12, y)), "what the judge says"),
    ]
    key = base.key(entries, base.LEFT, bottom + 4, width - base.LEFT)
    title = f"Reliability of the probabilities of judges on {subject.name}"
    return Drawing(title, width, key.bottom + 8, (*parts, key.markup))


def data(subject: Subject) -> Table:
    rows = tuple(
        (
            RaterName(judge, "judge"),
            units_in_bin(subject.judges[judge], judge, each),
            Number(each["probability"]),
            Number.from_estimate(each["share"]),
        )
        for judge, of in _calibrations(subject).items()
        for each in of["reliability"]
    )
    header = ("Judge", UNITS_HEAD, "Mean probability", SHARES[_of_labels(subject)])
    return Table(f"Probabilities of judges on {subject.name}, in bins", header, rows)


def _calibrations(subject: Subject) -> dict[str, JSON]:
    found = {judge: of.get("calibration", {}) for judge, of in subject.judges.items()}
    return {judge: of for judge, of in found.items() if of.get("reliability")}


def _of_labels(subject: Subject) -> bool:
    """Return whether the probabilities are those of the judges' labels instead of yes."""
    return any(of.get("of") == "label" for of in _calibrations(subject).values())


def _panel(at: Panel, judge: str, of: JSON, noun: Sequence[str]) -> str:
    x, y = at.x(0, 1), at.y()
    parts = [
        at.heading(judge),
        base.y_axis(y, at.left, at.right),
        base.x_axis(x, at.top, at.bottom, WHOSE[of.get("of", "yes")]),
        svg.line("mark-line", (x.at(0), y.at(0)), (x.at(1), y.at(1))),
    ]
    bins = [each for each in of["reliability"] if each["share"]["value"] is not None]
    points = [(x.at(each["probability"]), y.at(each["share"]["value"])) for each in bins]
    parts.append(svg.path("judge", points))
    parts += [_bin(each, point, y, noun) for each, point in zip(bins, points, strict=True)]
    middle = (at.left + at.right) / 2
    parts.append(svg.text("note", middle, at.bottom + 47, _summary(of), "middle"))
    return "".join(parts)


def _summary(of: JSON) -> str:
    brier, error = (
        Number.from_estimate(of[key]).text for key in ("brier", "expected_calibration_error")
    )
    return f"Brier {brier}, calibration error {error}"


def _bin(of: JSON, at: svg.Point, y: base.Scale, noun: Sequence[str]) -> str:
    share = Number.from_estimate(of["share"])
    units = count(of["units"], *noun)
    title = svg.clean(f"probability {of['probability']:.3f}: {share}, {units}")
    parts = [svg.square("judge", *at)]
    if of["share"]["low"] is not None:
        low, high = y.at(of["share"]["low"]), y.at(of["share"]["high"])
        parts.insert(0, svg.line("judge", (at[0], low), (at[0], high)))
    return f"<g><title>{title}</title>{''.join(parts)}</g>"


def chart(subject: Subject) -> JSON:
    title = SHARES[_of_labels(subject)]
    share = vega.column(title)
    across = {"x": vega.number("mean_probability", "Mean probability", (0, 1))}
    said = [{"mean_probability": end, share: end} for end in (0, 1)]
    view = {
        "width": vega.COLUMN,
        "height": vega.COLUMN,
        "layer": [
            {
                "data": {"values": said},
                "mark": {"type": "line", "strokeDash": [2, 3], "color": vega.INK},
                "encoding": {
                    **across,
                    "y": vega.number(share, title, (0, 1)),
                },
            },
            *vega.whiskers(
                "y",
                share,
                title,
                {"color": {"value": vega.JUDGE}},
                across,
                (0, 1),
            ),
        ],
    }
    return vega.small_multiples("judge", view)


FIGURE = Figure(
    "reliability",
    "Reliability of the judges' probabilities",
    "variables",
    "How often most people say yes when a judge gives each probability of yes, with 95 % intervals "
    "for bins with ten queries. For other categories than yes and no: how often people give the "
    "judge's label, by the probability that the judge gave it. On the dashed line, probabilities "
    "are accurate.",
    lambda subject: bool(_calibrations(subject)),
    data,
    draw,
    chart,
)
