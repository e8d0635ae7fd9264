"""What a plan can reach and what it costs, before a label is paid: as JSON and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil

from ..document import count
from ..statistics import Ints
from ..types import JSON
from .certificate import Floor, percent
from .curve import STUDIES, Errors, Point, curve
from .evidence import cells_without_error, draws_without_error, fewest_draws
from .plan import Plan
from .state import state_of

LIKELY = 0.5
"""The least share of studies with a certificate for which the curve is shown."""


@dataclass(frozen=True)
class Pace:
    """People on each query, the seconds that one takes for it, and what an hour of one costs.

    `queries_per_day` is what all people together label. None where nobody knows. Where a plan draws
    cells, people are asked about items, and all of this is about these.
    """

    people: int
    seconds: float | None = None
    hourly: float | None = None
    currency: str = ""
    queries_per_day: float | None = None


@dataclass(frozen=True)
class Price:
    """What it costs to label so many queries: answers, hours of people, days, and money."""

    queries: int
    answers: int
    hours: float | None
    days: int | None
    money: float | None
    currency: str

    @classmethod
    def of(cls, queries: int, pace: Pace) -> Price:
        answers = queries * pace.people
        hours = None if pace.seconds is None else answers * pace.seconds / 3600
        money = None if hours is None or pace.hourly is None else hours * pace.hourly
        days = ceil(queries / pace.queries_per_day) if pace.queries_per_day else None
        return cls(queries, answers, hours, days, money, pace.currency)

    @property
    def words(self) -> str:
        parts = [count(self.answers, "answer", "answers") + " from people"]
        if self.hours is not None:
            parts.append(f"{self.hours:.1f} hours of them")
        if self.days is not None:
            parts.append(count(self.days, "day", "days") + " at their pace")
        if self.money is not None:
            parts.append(f"{self.money:.2f} {self.currency}".rstrip())
        return ", ".join(parts)


@dataclass(frozen=True)
class Asked:
    """What people are asked in all after each draw of cells, (n,): whole items, and their units.

    Draws of an item that was asked before cost nothing. `cells` are those whose answers count.
    """

    items: Ints
    units: Ints
    cells: Ints

    def words(self, draws: int) -> str:
        """Return in words what so many draws cost people."""
        n = min(draws, len(self.items)) - 1
        return (
            f"{count(int(self.cells[n]), 'drawn cell', 'drawn cells')} in "
            f"{count(int(self.items[n]), 'item', 'items')}, which are asked whole: "
            f"{count(int(self.units[n]), 'unit', 'units')}"
        )


@dataclass(frozen=True)
class Outlook:
    """What is known of a plan before its first label.

    `without_error` is the number of queries that certify the first cut in the order of the draw if
    no cell is wrong, and `at_best` the same for the largest queries first; None if all of them do
    not suffice. `fewest` is about the number below which no draw by size can certify. `curves` are
    the simulated shares by where the error rates come from. In the form `cells`, numbers are those
    of draws, and `asked` is what people are asked for them.
    """

    plan: Plan
    fewest: int
    without_error: int | None
    at_best: int | None
    floor: Floor
    curves: dict[str, list[Point]]
    pace: Pace
    asked: Asked | None = None

    @classmethod
    def of(
        cls,
        plan: Plan,
        errors: Sequence[Errors],
        floor: Floor,
        pace: Pace,
        studies: int = STUDIES,
        asked: Asked | None = None,
    ) -> Outlook:
        """Simulate a plan, for each assumption about the judge's errors."""
        curves = {each.words: curve(plan, each, studies=studies) for each in errors}
        few = fewest_draws(plan.risk, plan.delta)
        if plan.k is not None:
            none = cells_without_error(plan.risk, plan.delta)
            return cls(plan, few, none, None, floor, curves, pace, asked)
        return cls(
            plan,
            few,
            _without_error(plan, state_of(plan, []).to_draw()),
            _without_error(plan, sorted(range(len(plan.cells)), key=lambda q: _size(plan, q))),
            floor,
            curves,
            pace,
        )

    @property
    def noun(self) -> tuple[str, str]:
        """What is counted, in the singular and the plural."""
        return ("query", "queries") if self.plan.k is None else ("draw", "draws")

    def price(self, labelled: int) -> Price:
        """Return what it costs to label so many queries, or draws."""
        if self.asked is None:
            return Price.of(labelled, self.pace)
        return Price.of(int(self.asked.items[min(labelled, len(self.asked.items)) - 1]), self.pace)

    def cost(self, labelled: int) -> str:
        """Return the same in words."""
        of_items = f"{self.asked.words(labelled)}, " if self.asked else ""
        return f"{of_items}{self.price(labelled).words}"

    @property
    def can_be_met(self) -> bool:
        """Whether a faultless judge is expected to be certified: the floor is below the risk."""
        return self.floor.value is None or self.floor.value < self.plan.risk

    def as_json(self) -> JSON:
        return {
            "risk": self.plan.risk,
            "level": self.plan.delta,
            "fewest": self.fewest,
            "without_error": self.without_error,
            "at_best": self.at_best,
            "floor": asdict(self.floor),
            "can_be_met": self.can_be_met,
            "people": self.pace.people,
            "curves": [
                {
                    "errors": words,
                    "points": [
                        asdict(each) | {"price": asdict(self.price(each.labelled))}
                        for each in points
                    ],
                }
                for words, points in self.curves.items()
            ],
        }


def _size(plan: Plan, query: int) -> int:
    return -int(plan.accepted[query, 0])


def _without_error(plan: Plan, order: Sequence[int]) -> int | None:
    sizes = plan.accepted[list(order), 0].astype(float)
    return draws_without_error(sizes[sizes > 0], plan.risk, plan.delta, float(plan.totals[0]))


def outlook_sentences(outlook: Outlook) -> Iterator[str]:
    """Yield what a plan can reach and what it costs, in plain sentences."""
    noun = outlook.noun
    few = count(outlook.fewest, *noun)
    if outlook.without_error is None:
        yield f"Even without one wrong cell, these queries do not suffice: it takes about {few}."
    else:
        first = count(outlook.without_error, f"{noun[0]} certifies", f"{noun[1]} certify")
        price = outlook.cost(outlook.without_error)
        yield (
            f"Without one wrong cell, {first} the first share: {price}. However many "
            f"queries there are, a draw by size needs about {few}."
        )
        if outlook.at_best is not None:
            best = count(outlook.at_best, "query", "queries")
            yield f"If the largest queries were drawn first, it would take {best}."
    yield _floor_sentence(outlook)
    for words, points in outlook.curves.items():
        yield from _curve_sentences(outlook, words, points)


def _floor_sentence(outlook: Outlook) -> str:
    value, risk = outlook.floor.value, percent(outlook.plan.risk)
    if value is None:
        return f"The floor of truth is not known: {outlook.floor.reason}."
    found = f"A judge without fault would be wrong on about {percent(value)}, since people err too"
    if outlook.can_be_met:
        return f"{found}."
    return f"{found}: nobody can be certified for {risk}. Ask more people, or adjudicate."


def _curve_sentences(outlook: Outlook, words: str, points: Sequence[Point]) -> Iterator[str]:
    last, noun = points[-1], outlook.noun
    if last.any < LIKELY:
        yield (
            f"With {words}, {count(last.labelled, *noun)} would certify nothing in "
            f"{percent(1 - last.any)} of simulated studies. The bound at any look is what these "
            "labels give."
        )
        return
    yield f"With {words}, simulated studies certify this share of the cells in the mean:"
    for point in points:
        yield (
            f"{count(point.labelled, *noun)}: {percent(point.share)} (10 to 90 % of "
            f"studies: {percent(point.low)} to {percent(point.high)}). "
            f"{outlook.cost(point.labelled)}."
        )
