"""Studies of systems whose queries differ in difficulty, and judges that order the systems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tandem.statistics import Bools, Floats

JSON = dict[str, Any]
PEOPLE, JUDGE = ("ada", "bram", "chidi"), "model"
#: The share of labels in which people differ from the truth.
SLIPS = 0.08


@dataclass(frozen=True)
class Answer:
    """A report: the answers that people gave, the query's difficulty, and the system's place.

    `people` has a row for each person, and `ease` is the query's share of yes.
    """

    truth: Bools
    people: Bools
    ease: float
    place: int
    systems: int


Judge = Callable[[np.random.Generator, Answer], Bools]


def _first(number: float, of: Answer) -> Bools:
    marked: Bools = np.arange(len(of.truth)) < round(number)
    return marked


def reverses(chance: np.random.Generator, of: Answer) -> Bools:
    """See how hard the query is, and give the better system one yes less."""
    return _first(len(of.truth) * of.ease + of.systems / 2 - of.place, of)


def throws_a_coin(chance: np.random.Generator, of: Answer) -> Bools:
    return chance.random(len(of.truth)) < 0.5


def says_yes(chance: np.random.Generator, of: Answer) -> Bools:
    return np.ones(len(of.truth), bool)


def sees_difficulty_alone(chance: np.random.Generator, of: Answer) -> Bools:
    return _first(len(of.truth) * of.ease, of)


def copies_ada(chance: np.random.Generator, of: Answer) -> Bools:
    copied: Bools = of.people[0]
    return copied


def is_as_good_as_people(chance: np.random.Generator, of: Answer) -> Bools:
    made: Bools = of.truth ^ (chance.random(len(of.truth)) < SLIPS)
    return made


def is_worse_than_people(chance: np.random.Generator, of: Answer) -> Bools:
    made: Bools = of.truth ^ (chance.random(len(of.truth)) < 0.3)
    return made


@dataclass(frozen=True)
class Study:
    """Queries whose share of yes differs, and systems of which each answers one question more.

    `left_out` has the systems without a report on a query, and `by_judge_alone` the queries that
    nobody but judges labelled.
    """

    judges: Mapping[str, Judge]
    queries: int = 40
    systems: int = 4
    people: tuple[str, ...] = PEOPLE
    seed: int = 0
    questions: int = 16
    left_out: Callable[[int, int], bool] = lambda query, system: False
    by_judge_alone: Collection[int] = field(default_factory=tuple)

    def labels(self) -> list[JSON]:
        chance = np.random.default_rng(self.seed)
        return [line for query in range(self.queries) for line in self._query(chance, query)]

    def batch(self) -> Iterator[JSON]:
        for query in range(self.queries):
            yield {
                "id": f"q{query:02}",
                "text": "?",
                "questions": [
                    {"id": self._unit(query, n), "text": "?"} for n in range(self.questions)
                ],
                "reports": [
                    {"id": self._item(query, system), "text": "x", "system": f"s{system}"}
                    for system in range(self.systems)
                    if not self.left_out(query, system)
                ],
            }

    def _query(self, chance: np.random.Generator, query: int) -> Iterator[JSON]:
        ease = chance.uniform(0.1, 0.9)
        for system in range(self.systems):
            of = self._answer(chance, ease, system)
            marks = {name: judge(chance, of) for name, judge in self.judges.items()}
            if self.left_out(query, system):
                continue
            asked = () if query in self.by_judge_alone else self.people
            yield from (
                {
                    "item": self._item(query, system),
                    "unit": self._unit(query, n),
                    "kind": "question",
                    "query": f"q{query:02}",
                    "system": f"s{system}",
                    "variable": "answerable",
                    "rater": rater,
                    "rater_kind": kind,
                    "value": ("no", "yes")[int(yes)],
                }
                for kind, raters in (
                    ("human", dict(zip(asked, of.people, strict=False))),
                    ("judge", marks),
                )
                for rater, answers in raters.items()
                for n, yes in enumerate(answers)
            )

    def _answer(self, chance: np.random.Generator, ease: float, system: int) -> Answer:
        share = ease + (system - (self.systems - 1) / 2) / self.questions
        truth = chance.random(self.questions) < share
        slips: Floats = chance.random((max(1, len(self.people)), self.questions))
        return Answer(truth, truth ^ (slips < SLIPS), ease, system, self.systems)

    @staticmethod
    def _item(query: int, system: int) -> str:
        return f"q{query:02}/s{system}"

    @staticmethod
    def _unit(query: int, number: int) -> str:
        return f"q{query:02}-{number}"


def study(judge: Judge, **options: Any) -> Study:
    return Study({JUDGE: judge}, **options)
