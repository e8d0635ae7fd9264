"""Checking a list of points that a rater wrote, and which of them a unit was matched to.

A list is `[{text, evidence: [{quote, start}]}]` in the rater's order; matches are numbers of its
points, from 1. Everything is said in messages: what to do with them is the door's affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.protocols.base import Listed
from annotation.protocols.limits import (
    LONGEST_POINT,
    LONGEST_QUOTE,
    MOST_POINTS,
    MOST_QUOTES,
    too_long,
    too_many,
)
from annotation.protocols.quoting import Quote, is_text, quote_of, storable
from annotation.protocols.schema import Schema

KEYS = {"text", "evidence"}
FARTHEST = 2**31 - 1
NO_POINT = "has no point; write one"
NO_LIST = "is not a list of {text, evidence}"
NO_NUMBERS = "is not a list of numbers of points, from 1"


@dataclass(frozen=True)
class Point:
    """One point that a rater wrote, with the quotes that bear it."""

    text: str
    evidence: tuple[Quote, ...]


Wrong = tuple[str, str]
"""A key of the answer, and what is wrong with it."""


def points_in(
    schema: Schema,
    kind: str,
    given: Mapping[str, Any],
    values: Mapping[str, str],
    lenient: bool,
) -> tuple[tuple[Point, ...], list[Wrong]]:
    """The list in a unit's answer, where its kind has one, and what is wrong with it."""
    rule = schema.listed(kind)
    if rule is None or rule.name not in given:
        return (), []
    value, asked = given[rule.name], schema.holds(rule.asked_if, values)
    if value is None:
        missing = asked and not lenient
        return (), [(rule.name, NO_POINT)] if missing else []
    if not asked and not lenient:
        return (), [(rule.name, "is not asked here; give null")]
    points, wrong = read_points(rule, value, lenient)
    return points, [(rule.name, message) for message in wrong]


def matches_in(
    schema: Schema, kind: str, given: Mapping[str, Any]
) -> tuple[tuple[int, ...], list[Wrong]]:
    """The numbers in a unit's answer, where its kind is matched, and what is wrong with them."""
    rule = schema.matching(kind)
    if rule is None or rule.matches not in given:
        return (), []
    found = read_matches(given[rule.matches])
    return found or (), [(rule.matches, NO_NUMBERS)] if found is None else []


def read_points(rule: Listed, value: object, lenient: bool) -> tuple[tuple[Point, ...], list[str]]:
    """The points of an answer and what is wrong with them; a lenient reading owes no quotes."""
    if not isinstance(value, list) or not all(map(_is_point, value)):
        return (), [NO_LIST]
    if not value and not lenient:
        return (), [NO_POINT]
    if len(value) > MOST_POINTS and not lenient:
        return (), [too_many(MOST_POINTS, "points")]
    points = [_point(rule, given) for given in value]
    wrong = [
        f"point {number} {problem}"
        for number, point in enumerate(points, start=1)
        for problem in _wrong(rule, point, value[number - 1], lenient)
    ]
    return tuple(points), wrong


def read_matches(value: object) -> tuple[int, ...] | None:
    """The numbers of an answer in their order, or None where it is no list of such."""
    if not isinstance(value, list) or not all(_is_number(n) for n in value):
        return None
    return tuple(value)


def wrong_matches(
    rule: Listed, matched: str | None, matches: Sequence[int], points: int
) -> str | None:
    """What is wrong with a unit's matches, where `points` are in the list of the same answer."""
    if matched != rule.match_code:
        return f"is given without {rule.match} {rule.match_code}; leave it empty" * bool(matches)
    if not matches:
        return f"is empty though {rule.match} is {rule.match_code}; give the numbers of the points"
    if beyond := [n for n in matches if n > points]:
        return f"names point {beyond[0]}, but the list has {points}; mend the number"
    return "names a point twice; name each once" if len(set(matches)) < len(matches) else None


def odd_draft(value: Sequence[object]) -> str | None:
    """What no page of ours sends in an unfinished list, or in matches; None where it is in order.

    A point without words or quotes may be finished later.
    """
    if all(_is_number(each) for each in value):
        return too_many(MOST_POINTS, "numbers") if len(value) > MOST_POINTS else None
    if not all(map(_is_point, value)):
        return NO_LIST
    if len(value) > MOST_POINTS:
        return too_many(MOST_POINTS, "points")
    return next(_odd_points(value), None)


def _odd_points(points: Iterable[Any]) -> Iterator[str]:
    for point in points:
        if not storable(point["text"]):
            yield "holds a character that no text may hold; take it out"
        if len(point["text"]) > LONGEST_POINT:
            yield too_long(LONGEST_POINT)
        if len(point["evidence"]) > MOST_QUOTES:
            yield too_many(MOST_QUOTES, "quotes")
        quotes = [quote_of(each, "", "", lenient=False) for each in point["evidence"]]
        if not all(each and _is_kept(each) for each in quotes):
            yield "holds something that is not {quote, start}"


def _is_kept(quote: Quote) -> bool:
    return len(quote.quote) <= LONGEST_QUOTE and (quote.start or 0) <= FARTHEST


def _is_point(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.keys() == KEYS
        and isinstance(value["text"], str)
        and isinstance(value["evidence"], list)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= FARTHEST


def _point(rule: Listed, given: Mapping[str, Any]) -> Point:
    quotes = [quote_of(each, rule.name, rule.field, lenient=False) for each in given["evidence"]]
    return Point(given["text"], tuple(quote for quote in quotes if quote is not None))


def _wrong(rule: Listed, point: Point, given: Mapping[str, Any], lenient: bool) -> Iterator[str]:
    if not is_text(point.text):
        yield "has no words; write them, or take the point out"
    if len(point.evidence) < len(given["evidence"]):
        yield "holds something that is not {quote, start}"
    if lenient:
        return
    if rule.quoted and not given["evidence"]:
        yield f"has no quote of the {rule.field}; give one"
    if len(point.text) > LONGEST_POINT:
        yield too_long(LONGEST_POINT)
    if len(point.evidence) > MOST_QUOTES:
        yield too_many(MOST_QUOTES, "quotes")
