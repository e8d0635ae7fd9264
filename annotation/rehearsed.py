"""A dry run in words, for the command and the page."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.expecting import Assumptions, Expected
from annotation.rehearsing import Rehearsal


def sentences(told: Rehearsal) -> Iterator[str]:
    """What a campaign would come to, from its size to its intervals."""
    yield (
        f"{_count(told.items, 'item')} with {_count(told.units, 'unit')} from "
        f"{_count(told.queries, 'query', 'queries')}."
    )
    yield _asked(told)
    if len(told.roles) > 1:
        names = [f"{number} for {role}" for role, number in sorted(told.roles.items())]
        yield f"Queries by role: {', '.join(names)}."
    yield from _people(told)
    yield f"Kappa of people: {interval(told.kappa)}."
    yield f"A share such as coverage, by people alone: {interval(told.share)}."
    if told.powered:
        yield f"The same with a judge on all queries: {interval(told.powered)}."
    yield assumed(told.assumptions)


def interval(expected: Expected) -> str:
    """The width of an interval, or why there is none."""
    if expected.width is None:
        return f"no interval, since {expected.reason}"
    return (
        f"an interval about {expected.width:.2f} wide (± {expected.width / 2:.2f}), from "
        f"{_count(expected.units, 'unit')} of {expected.queries} queries, worth "
        f"{expected.effective:.0f} independent ones"
    )


def assumed(given: Assumptions) -> str:
    return (
        f"Assumed: true kappa {given.kappa:g}; two categories, a share of {given.prevalence:g} "
        f"yes; units of a query alike with an intraclass correlation of {given.icc:g}; scores of "
        f"judge and people correlated by {given.correlation:g} over queries."
    )


def _asked(told: Rehearsal) -> str:
    words = f"{_count(told.places, 'place')} for people on {told.asked_queries} queries"
    words += f", {_count(told.several, 'item')} with several people" if told.several else ""
    words += f"; {told.judge_only} queries for judges alone" if told.judge_only else ""
    return f"{words}."


def _people(told: Rehearsal) -> Iterator[str]:
    items = sorted(share.items for share in told.shares)
    units = sorted(share.units for share in told.shares)
    yield (
        f"{_count(told.people, 'person', 'people')} at the same pace would get "
        f"{_range(items[0], items[-1])} items and {_range(units[0], units[-1])} units each."
    )
    if told.common:
        yield f"Two of them would have {_range(*told.common)} units in common."
    if told.unfilled:
        yield f"{_count(told.unfilled, 'place')} would stay empty: more people are needed."


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
