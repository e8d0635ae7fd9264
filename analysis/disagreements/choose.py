"""What a disagreement is; selects, sorts and counts the units of a list of disagreements.

A unit is a disagreement in a variable if two people gave it different categories, or if a judge
gave it another category than most people. Escapes are no categories, and labels that the report
leaves out do not count. A decision does not undo a disagreement. The units that an adjudicator is
asked about are counted apart (`annotation.adjudication.disputes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from analysis.disagreements.votes import VoteTable, votes_of
from annotation.models import Campaign
from annotation.presentation import schema
from tandem.statistics import Bools, Floats, Ints
from tandem.types import JSON


def judge_differs(table: VoteTable, judge: str) -> Bools:
    """Return the units on which a judge's category is not that of most people, (U,)."""
    people, own = table.majority, table.codes_by(judge)
    return np.asarray((people >= 0) & (own >= 0) & (people != own), bool)


def is_disagreement(table: VoteTable) -> Bools:
    """Return the units that are disagreements, (U,)."""
    found = table.people_differ.copy()
    for judge in table.judges:
        found |= judge_differs(table, judge)
    return found


@dataclass(frozen=True)
class Disagreements:
    """The numbers of disagreements in one variable, or in several added up.

    `total` counts each unit of a variable once. On `people` of them people differ among themselves,
    and on `judges`, by name, a judge differs from most people; one unit may be in both.
    """

    total: int = 0
    people: int = 0
    judges: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_table(cls, table: VoteTable) -> Disagreements:
        judges = {judge: int(judge_differs(table, judge).sum()) for judge in table.judges}
        return cls(int(is_disagreement(table).sum()), int(table.people_differ.sum()), judges)

    @classmethod
    def of_json(cls, found: JSON) -> Disagreements:
        return cls(found["total"], found["people"], found["judges"])

    @property
    def by_judges_alone(self) -> int:
        """On how many people do not differ."""
        return self.total - self.people

    def as_json(self) -> JSON:
        return {"total": self.total, "people": self.people, "judges": dict(self.judges)}


def add_up(found: Iterable[Disagreements]) -> Disagreements:
    """Return the numbers over several variables, whose lists are apart from each other."""
    total, people, judges = 0, 0, dict[str, int]()
    for each in found:
        total, people = total + each.total, people + each.people
        for judge, number in each.judges.items():
            judges[judge] = judges.get(judge, 0) + number
    return Disagreements(total, people, judges)


def count_disagreements(campaign: Campaign) -> dict[str, Disagreements]:
    """Count a campaign's disagreements by variable, in the protocol's order. Reads all labels."""
    names = dict.fromkeys(each.name for each in schema(campaign).variables)
    return {name: Disagreements.of_table(votes_of(campaign, name)) for name in names}


def counts_in(checks: Mapping[str, Any] | None) -> dict[str, Disagreements] | None:
    """Return the numbers by variable from finished checks; None if they have none yet."""
    if checks is None or "disagreements" not in checks:
        return None
    return {name: Disagreements.of_json(of) for name, of in checks["disagreements"].items()}


Show = Literal[
    "differ", "judge", "above", "below", "people", "ties", "judges", "agree", "adjudicated",
    "several", "decided", "settled", "labelled", "all",
]  # fmt: skip
SHOWS: Mapping[Show, str] = {
    "differ": "All disagreements",
    "judge": "People and the judge differ",
    "above": "The judge is above people",
    "below": "The judge is below people",
    "people": "People differ among themselves",
    "ties": "People are split evenly",
    "judges": "Judges differ among themselves",
    "agree": "All people agree",
    "adjudicated": "An adjudicator has decided",
    "several": "All units labelled by several people",
    "decided": "All units with a majority of people",
    "settled": "All units with a decision or a majority",
    "labelled": "All units labelled by people",
    "all": "All that anybody labelled",
}
QUICK: Mapping[Show, str] = {
    "differ": "Disagreements",
    "judge": "Judge differs",
    "people": "People differ",
    "judges": "Judges differ",
    "all": "All labelled",
}
"""The lists that one click opens, in short."""
Sort = Literal["unanimous", "sure", "query", "order"]
SORTS: Mapping[Sort, str] = {
    "unanimous": "Unanimous people first",
    "sure": "Surest judge first",
    "query": "Queries with most first",
    "order": "In the campaign’s order",
}
ORDERED = ("above", "below")
"""The lists of variables whose codes have an order."""
WHOLE = ("adjudicated", "several", "decided", "settled", "labelled", "all")
"""The lists of units on which nobody needs to differ."""
WITH_CELL = ("differ", "judge", *ORDERED, *WHOLE)
"""The lists that a cell of people's code and the judge's can restrict."""


@dataclass(frozen=True)
class Choice:
    """The filters of a list.

    Empty parts do not restrict it. `cell` is people's code and the judge's. A cell with one empty
    code is a row or a column: units with any category from that side. `stratum` is a name and a
    value, and `guideline` the digest of the version that people followed. `pair` names two raters:
    only units with a category from both are listed, and in a list of disagreements only those on
    which the two differ. `by` is a rater and a code or an escape: only units to which the rater
    gave it, or any category if it is empty; without a rater, units to which any person gave the
    code. `grade` is one of the judge's own, `ANY` for all of them. `score` are the ends of a range:
    only units with a score from the judge within it. `codes` are the variable's, in order of rank.
    """

    show: Show = "differ"
    judge: str = ""
    system: str = ""
    query: int | None = None
    cell: tuple[str, str] | None = None
    sort: Sort = "unanimous"
    stratum: tuple[str, str] | None = None
    guideline: str = ""
    pair: tuple[str, str] | None = None
    by: tuple[str, str] | None = None
    codes: tuple[str, ...] = ()
    score: tuple[float, float] | None = None
    grade: str = ""


def choose_units(table: VoteTable, choice: Choice, among: Bools | None = None) -> Ints:
    """Return the indices of the units that a choice shows, sorted; `among` (U,) restricts them."""
    return _sorted(table, choice, np.flatnonzero(matching(table, choice, among)))


def matching(table: VoteTable, choice: Choice, among: Bools | None = None) -> Bools:
    """Return which units a choice shows, (U,); `among` (U,) restricts them."""
    found = _is_of(table, choice)
    if among is not None:
        found = found & among
    if choice.pair:
        found = found & _pair(table, choice)
    elif choice.cell and choice.show in WITH_CELL:
        found = found & _in_cell(table, choice)
        if not all(choice.cell):
            found &= _SHOWS[choice.show](table, choice)
    else:
        found = found & _SHOWS[choice.show](table, choice)
    return found


def cells(table: VoteTable, choice: Choice) -> dict[tuple[str, str], int]:
    """Count the units by people's majority and the judge's label, like the report's table."""
    people, judge = table.majority, table.codes_by(choice.judge)
    both = _is_of(table, choice) & (people >= 0) & (judge >= 0)
    k = len(table.values)
    counts = np.bincount(people[both] * k + judge[both], minlength=k * k).reshape(k, k)
    return {
        (table.values[a], table.values[b]): int(counts[a, b]) for a, b in np.argwhere(counts > 0)
    }


def _is_of(table: VoteTable, choice: Choice) -> Bools:
    found = np.ones(len(table), bool)
    if choice.system:
        found &= table.within("system", choice.system)
    if choice.query is not None:
        found &= table.queries == choice.query
    if choice.stratum:
        found &= table.within(*choice.stratum)
    if choice.guideline:
        found &= table.under(choice.guideline)
    if choice.score:
        scores, (low, high) = table.scores_by(choice.judge), choice.score
        found &= (scores >= low) & (scores <= high)
    if choice.grade:
        found &= table.graded(choice.judge, choice.grade)
    if choice.by:
        rater, code = choice.by
        if not rater:
            return found & table.given(code)
        found &= _has(table, table.answers_by(rater) if code else table.codes_by(rater), code)
    return found


def _in_cell(table: VoteTable, choice: Choice) -> Bools:
    people, judge = choice.cell or ("", "")
    return _has(table, table.majority, people) & _has(table, table.codes_by(choice.judge), judge)


def _has(table: VoteTable, codes: Ints, value: str) -> Bools:
    """Return which units have this code, or any category if it is empty."""
    if value and value not in table.values:
        return np.zeros(len(table), bool)
    return np.asarray(codes == table.values.index(value) if value else codes >= 0, bool)


def _pair(table: VoteTable, choice: Choice) -> Bools:
    one, other = (table.codes_by(name) for name in choice.pair or ("", ""))
    both = (one >= 0) & (other >= 0)
    return np.asarray(both if choice.show in WHOLE else both & (one != other), bool)


def _rank_differs(table: VoteTable, choice: Choice, sign: int) -> Bools:
    """Return where the judge's code ranks above or below people's majority, if both rank."""
    ranks = {code: rank for rank, code in enumerate(choice.codes)}
    # The last entry is that of a missing label.
    of = np.array([*(ranks.get(code, -1) for code in table.values), -1])
    people, judge = of[table.majority], of[table.codes_by(choice.judge)]
    return np.asarray((people >= 0) & (judge >= 0) & (sign * (judge - people) > 0), bool)


_SHOWS: Mapping[Show, Callable[[VoteTable, Choice], Bools]] = {
    "differ": lambda table, choice: is_disagreement(table),
    "judge": lambda table, choice: judge_differs(table, choice.judge),
    "above": lambda table, choice: _rank_differs(table, choice, 1),
    "below": lambda table, choice: _rank_differs(table, choice, -1),
    # Escapes are not categories, here as in the report.
    "people": lambda table, choice: table.people_differ,
    "ties": lambda table, choice: table.has_people & (table.majority < 0),
    "judges": lambda table, choice: table.judges_differ,
    "agree": lambda table, choice: table.has_several & ~table.people_differ,
    "adjudicated": lambda table, choice: table.decided > 0,
    "several": lambda table, choice: table.has_several,
    "decided": lambda table, choice: table.majority >= 0,
    # A decision overrides people's labels, even if it is an escape, as in the report.
    "settled": lambda table, choice: (
        (table.decided > 0) | ((table.majority >= 0) & (table.decided < 0))
    ),
    "labelled": lambda table, choice: table.has_people,
    "all": lambda table, choice: np.ones(len(table), bool),
}


def _doubt(table: VoteTable, judge: str) -> Floats:
    """Return the judge's uncertainty, from 0 to 0.5. Units without a probability come last."""
    scores = table.scores_by(judge)
    known = (scores >= 0) & (scores <= 1)
    return np.where(known, 0.5 - np.abs(scores - 0.5), 1.0)


def _sorted(table: VoteTable, choice: Choice, found: Ints) -> Ints:
    """Sort indices, which follow the campaign's order."""
    if choice.sort == "unanimous":
        keys: tuple[Ints | Floats, ...] = (-table.number_of_people[found], table.dissent[found])
    elif choice.sort == "sure":
        keys = (_doubt(table, choice.judge)[found],)
    elif choice.sort == "query":
        queries, of = np.unique(table.queries[found], return_inverse=True)
        keys = (of, -np.bincount(of, minlength=len(queries))[of])
    else:
        return found
    return found[np.lexsort((found, *keys))]
