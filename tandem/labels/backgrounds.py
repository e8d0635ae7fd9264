"""Groups of people by their answers to a background question, and which groups may be shown.

A group is shown only if it and the rest each have at least `FEWEST_PEOPLE` people. A hidden figure
must not follow from the others by subtraction, so a large group is hidden, too, if the small ones
together are too few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

FEWEST_PEOPLE = 5
"""The smallest number of people for which a figure is shown."""


@dataclass(frozen=True)
class Question:
    """A background question with the raters who gave each answer.

    Groups overlap if people could choose several answers (`several`).
    """

    name: str
    text: str
    groups: Mapping[str, frozenset[str]]
    several: bool = False

    def people(self, there: Collection[str]) -> frozenset[str]:
        """Return the raters, among those given, who answered."""
        return frozenset[str]().union(*self.groups.values()) & frozenset(there)


def shown_groups(question: Question, there: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the groups of a question, among some raters, that are large enough to show."""
    groups = {value: of & frozenset(there) for value, of in question.groups.items()}
    everybody = question.people(there)
    large = {value: of for value, of in groups.items() if len(of) >= FEWEST_PEOPLE}
    if question.several:
        return {value: of for value, of in large.items() if _is_safe(everybody - of)}
    while large and not _is_safe(everybody.difference(*large.values())):
        del large[min(large, key=lambda value: (len(large[value]), value))]
    return large


def _is_safe(rest: Collection[str]) -> bool:
    return not rest or len(rest) >= FEWEST_PEOPLE


def halves(numbers: Mapping[str, float]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield two groups of raters: those up to the median of their numbers, and those above it."""
    ordered = sorted(numbers.values())
    if not ordered:
        return
    middle = ordered[(len(ordered) - 1) // 2]
    yield f"up to {middle:g}", frozenset(who for who, n in numbers.items() if n <= middle)
    if above := frozenset(who for who, n in numbers.items() if n > middle):
        yield f"above {middle:g}", above
