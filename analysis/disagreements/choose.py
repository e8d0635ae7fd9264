"""Which units a list of disagreements shows, in which order, and the counts beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.disagreements.votes import Votes

Show = Literal["judge", "people", "judges", "all"]
SHOWS: Mapping[Show, str] = {
    "judge": "People and the judge differ",
    "people": "People differ among themselves",
    "judges": "Judges differ among themselves",
    "all": "All labelled units",
}
Sort = Literal["unanimous", "sure", "order"]
SORTS: Mapping[Sort, str] = {
    "unanimous": "Unanimous people first",
    "sure": "Surest judge first",
    "order": "In the campaign's order",
}


@dataclass(frozen=True)
class Choice:
    """What a list shows; empty parts restrict nothing. `cell` is people's code and the judge's."""

    show: Show = "judge"
    judge: str = ""
    system: str = ""
    query: int | None = None
    cell: tuple[str, str] | None = None
    sort: Sort = "unanimous"


def chosen(
    votes: Sequence[Votes], choice: Choice, among: Container[int] | None = None
) -> list[Votes]:
    """Return the units that a choice shows, sorted; `among` restricts them to these units."""
    shows = _SHOWS[choice.show]
    found = [
        each
        for each in votes
        if _is_of(each, choice)
        and (among is None or each.unit in among)
        and (cell_of(each, choice.judge) == choice.cell if choice.cell else shows(each, choice))
    ]
    return sorted(found, key=lambda each: _ORDERS[choice.sort](each, choice))


def cells(votes: Sequence[Votes], choice: Choice) -> Counter[tuple[str, str]]:
    """Count the units by people's majority and the judge's label, as the report's table does."""
    found = (cell_of(each, choice.judge) for each in votes if _is_of(each, choice))
    return Counter(cell for cell in found if cell)


def cell_of(votes: Votes, judge: str) -> tuple[str, str] | None:
    """Return people's majority and the judge's label, or None without one of them."""
    people, own = votes.majority, votes.judges.get(judge)
    return None if people is None or own is None or own in votes.escapes else (people, own)


def _is_of(votes: Votes, choice: Choice) -> bool:
    return choice.system in ("", votes.system) and choice.query in (None, votes.query)


def _judge_differs(votes: Votes, choice: Choice) -> bool:
    cell = cell_of(votes, choice.judge)
    return cell is not None and cell[0] != cell[1]


_SHOWS: Mapping[Show, Callable[[Votes, Choice], bool]] = {
    "judge": _judge_differs,
    # Escapes are no categories, here as in the report.
    "people": lambda votes, choice: len(set(votes.people.values()) - votes.escapes) > 1,
    "judges": lambda votes, choice: len(set(votes.judges.values()) - votes.escapes) > 1,
    "all": lambda votes, choice: True,
}


def _doubt(votes: Votes, judge: str) -> float:
    """Return how unsure the judge's probability is, from 0 to 0.5; last without one."""
    score = votes.scores.get(judge)
    return 1.0 if score is None or not 0 <= score <= 1 else 0.5 - abs(score - 0.5)


_ORDERS: Mapping[Sort, Callable[[Votes, Choice], tuple[object, ...]]] = {
    "unanimous": lambda votes, choice: (votes.dissent, -len(votes.people), votes.position),
    "sure": lambda votes, choice: (_doubt(votes, choice.judge), votes.position),
    "order": lambda votes, choice: votes.position,
}
