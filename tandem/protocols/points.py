"""Quotes, points and matches in a rater's answer: read, and limited in size.

A list of points is `[{text, evidence: [{quote, start}]}]` in the rater's order. Matches are the
numbers of its points, from 1. Files and a judge's parser are read leniently: quotes are not
required, and sizes are not limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tandem.messages import Message, Word
from tandem.protocols.base import PointList
from tandem.protocols.schema import Schema

MAX_QUOTE = 200_000
MAX_QUOTES = 200
MAX_POINTS = 100
MAX_POINT = 2_000
MAX_OFFSET = 2**31 - 1
POINT_KEYS = {"text", "evidence"}
NO_POINT = Message("has no point; write one")
NO_LIST = Message("is not a list of {text, evidence}")
NO_NUMBERS = Message("is not a list of numbers of points, from 1")
NO_QUOTE = Message("contains something that is not {quote, start}")
NOT_ASKED = Message("is not asked here; give null")
NOT_STORABLE = Message("contains a character that cannot be stored; remove it")
TOO_MANY_QUOTES = Message(
    "contains more than %(most)s quotes; keep the most important", most=MAX_QUOTES
)
TOO_MANY_POINTS = Message(
    "contains more than %(most)s points; keep the most important", most=MAX_POINTS
)
TOO_MANY_NUMBERS = Message(
    "contains more than %(most)s numbers; keep the most important", most=MAX_POINTS
)
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")

KeyProblem = tuple[str, Message]
"""A key of the answer, and the message about it."""


def describe_too_long(most: int) -> Message:
    return Message("is longer than %(most)s characters; shorten it", most=most)


def noun_of(field: str) -> Word:
    """Return a text in a message: its field for programs, its kind for people."""
    return Word(field, field.partition(":")[0])


@dataclass(frozen=True)
class Quote:
    """A quote as the rater sent it: the words, and the offset at which they are said to start.

    `field` is empty where the quote may be from two texts and names none. Of the texts `within`,
    only the unit's own sentence may be quoted.
    """

    variable: str
    field: str
    quote: str
    start: int | None = None
    within: tuple[str, ...] = ()


def is_storable(text: str) -> bool:
    """Whether every database can store the text: no NUL, no half of a surrogate pair."""
    return _NOT_STORABLE.search(text) is None


def is_text(value: object) -> bool:
    return isinstance(value, str) and is_storable(value) and bool(value.strip())


def read_quote(
    quote: object, variable: str, field_asked: str, lenient: bool, with_field: bool = False
) -> Quote | None:
    """Return the quote in `{quote, start}`, or None if it is malformed.

    With `with_field`, a quote may name its field. A lenient reading also allows a variable.
    """
    allowed = {"quote", "start"} | ({"field"} if with_field else set())
    allowed |= {"field", "variable"} if lenient else set()
    if not isinstance(quote, Mapping) or quote.keys() - allowed:
        return None
    words, start, field = quote.get("quote"), quote.get("start"), quote.get("field", field_asked)
    names = quote.get("variable", variable), field_asked if with_field and field is None else field
    if not is_text(words) or not all(isinstance(name, str) for name in names):
        return None
    if start is not None and (isinstance(start, bool) or not isinstance(start, int) or start < 0):
        return None
    return Quote(*names, str(words), start)


@dataclass(frozen=True)
class Point:
    """One point that a rater wrote, with the quotes that support it."""

    text: str
    evidence: tuple[Quote, ...]


def read_unit_points(
    schema: Schema,
    kind: str,
    answer: Mapping[str, Any],
    values: Mapping[str, str],
    lenient: bool,
) -> tuple[tuple[Point, ...], list[KeyProblem]]:
    """Return the points in a unit's answer, if its kind has a list, and the problems with them."""
    rule = schema.listed(kind)
    if rule is None or rule.name not in answer:
        return (), []
    value, asked = answer[rule.name], schema.holds(rule.asked_if, values)
    if value is None:
        missing = asked and not lenient
        return (), [(rule.name, NO_POINT)] if missing else []
    if not asked and not lenient:
        return (), [(rule.name, NOT_ASKED)]
    points, wrong = read_points(rule, value, lenient)
    return points, [(rule.name, message) for message in wrong]


def read_unit_matches(
    schema: Schema, kind: str, answer: Mapping[str, Any]
) -> tuple[tuple[int, ...], list[KeyProblem]]:
    """Return the matches in a unit's answer, if its kind has any, and the problems with them."""
    rule = schema.matching(kind)
    if rule is None or rule.matches not in answer:
        return (), []
    found = read_matches(answer[rule.matches])
    return found or (), [(rule.matches, NO_NUMBERS)] if found is None else []


def read_points(
    rule: PointList, value: object, lenient: bool
) -> tuple[tuple[Point, ...], list[Message]]:
    """Return the points of a list, and messages. A lenient reading does not require quotes."""
    if not isinstance(value, list) or not all(map(_is_point, value)):
        return (), [NO_LIST]
    if len(value) < rule.least and not lenient:
        return (), [NO_POINT]
    if len(value) > MAX_POINTS and not lenient:
        return (), [TOO_MANY_POINTS]
    points = [_point(rule, each) for each in value]
    wrong = [
        Message("point %(number)s %(problem)s", number=number, problem=problem)
        for number, point in enumerate(points, start=1)
        for problem in _point_problems(rule, point, value[number - 1], lenient)
    ]
    return tuple(points), wrong


def read_matches(value: object) -> tuple[int, ...] | None:
    """Return the numbers of points in their order, or None if it is not a list of numbers."""
    if not isinstance(value, list) or not all(_is_number(n) for n in value):
        return None
    return tuple(value)


def match_problem(
    named: tuple[Word, Word], matched: str | None, matches: Sequence[int], points: int
) -> Message | None:
    """Return a message about a unit's matches, if the list of its answer has `points` points.

    `named` are the variable and the code with which matches are given.
    """
    variable, code = named
    if matched != code:
        without = Message(
            "is given without %(variable)s %(code)s; leave it empty", variable=variable, code=code
        )
        return without if matches else None
    if not matches:
        return Message(
            "is empty though %(variable)s is %(code)s; give the numbers of the points",
            variable=variable,
            code=code,
        )
    if beyond := [n for n in matches if n > points]:
        return Message(
            "names point %(number)s, but the list has %(points)s; correct the number",
            number=beyond[0],
            points=points,
        )
    twice = Message("names a point twice; name each once")
    return twice if len(set(matches)) < len(matches) else None


def draft_list_problem(value: Sequence[object]) -> Message | None:
    """Return a message if an unfinished list, or matches, cannot come from one of our pages.

    Points without words or quotes are fine, since the person may finish them later.
    """
    if all(_is_number(each) for each in value):
        return TOO_MANY_NUMBERS if len(value) > MAX_POINTS else None
    if not all(map(_is_point, value)):
        return NO_LIST
    if len(value) > MAX_POINTS:
        return TOO_MANY_POINTS
    return next(_draft_point_problems(value), None)


def _draft_point_problems(points: Iterable[Any]) -> Iterator[Message]:
    for point in points:
        if not is_storable(point["text"]):
            yield NOT_STORABLE
        if len(point["text"]) > MAX_POINT:
            yield describe_too_long(MAX_POINT)
        if len(point["evidence"]) > MAX_QUOTES:
            yield TOO_MANY_QUOTES
        quotes = [read_quote(each, "", "", lenient=False) for each in point["evidence"]]
        if not all(each and _fits(each) for each in quotes):
            yield NO_QUOTE


def _fits(quote: Quote) -> bool:
    near = quote.start is None or quote.start <= MAX_OFFSET
    return near and len(quote.quote) <= MAX_QUOTE


def _is_point(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.keys() == POINT_KEYS
        and isinstance(value["text"], str)
        and isinstance(value["evidence"], list)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_OFFSET


def _point(rule: PointList, point: Mapping[str, Any]) -> Point:
    quotes = [read_quote(each, rule.name, rule.field, lenient=False) for each in point["evidence"]]
    return Point(point["text"], tuple(quote for quote in quotes if quote is not None))


def _point_problems(
    rule: PointList, point: Point, sent: Mapping[str, Any], lenient: bool
) -> Iterator[Message]:
    if not is_text(point.text):
        yield Message("has no words; write them, or remove the point")
    if len(point.evidence) < len(sent["evidence"]):
        yield NO_QUOTE
    if lenient:
        return
    if rule.quoted and not sent["evidence"]:
        yield Message("has no quote of the %(field)s; give one", field=noun_of(rule.field))
    if len(point.text) > MAX_POINT:
        yield describe_too_long(MAX_POINT)
    if len(point.evidence) > MAX_QUOTES:
        yield TOO_MANY_QUOTES
