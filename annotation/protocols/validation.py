"""Checking one answer against its schema: one function for all four channels.

`page` and `api` are strict: every unit, every key, and evidence where it is owed. `judge` is as
strict about what it was asked. `import` is lenient because history cannot be changed: an answer
may hold a part of an item, and a label keeps its place without the evidence it owes, with a
warning. Limits on size do not apply to files either.

A list of points is `[{text, evidence: [{quote, start}]}]` in the rater's order; matches are
numbers of its points, from 1. A written answer may cite passages of its item of which something
was selected. Everything wrong becomes a message; the channel decides what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotation.protocols.base import ItemSpec, Listed, UnitSpec, Variable, Written
from annotation.protocols.schema import EVIDENCE_KEY, Schema

LONGEST_COMMENT = 10_000
LONGEST_TEXT = 50_000
LONGEST_QUOTE = 200_000
MOST_QUOTES = 200
MOST_CITATIONS = 200
MOST_POINTS = 100
LONGEST_POINT = 2_000


def too_long(most: int) -> str:
    return f"is longer than {most:,} characters; shorten it"


def too_many(most: int, what: str) -> str:
    return f"holds more than {most} {what}; keep those that matter most"


_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Quote:
    """A piece of evidence as it was given: the words, and where they were said to start."""

    variable: str
    field: str
    quote: str
    start: int | None = None


def storable(text: str) -> bool:
    """Whether a text can be kept in every database: no NUL, no half of a surrogate pair."""
    return _NOT_STORABLE.search(text) is None


def is_text(value: object) -> bool:
    return isinstance(value, str) and storable(value) and bool(value.strip())


def quote_of(
    given: object, variable: str, place: str, lenient: bool, placed: bool = False
) -> Quote | None:
    """The quote that `{quote, start}` stands for, or None where it stands for none.

    A `placed` one may name a field of its own, a lenient one a variable too.
    """
    allowed = {"quote", "start"} | ({"field"} if placed else set())
    allowed |= {"field", "variable"} if lenient else set()
    if not isinstance(given, Mapping) or given.keys() - allowed:
        return None
    words, start, field = given.get("quote"), given.get("start"), given.get("field", place)
    names = given.get("variable", variable), place if placed and field is None else field
    if not is_text(words) or not all(isinstance(name, str) for name in names):
        return None
    if start is not None and (isinstance(start, bool) or not isinstance(start, int) or start < 0):
        return None
    return Quote(*names, str(words), start)


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


Door = Literal["page", "api", "judge", "import"]


@dataclass(frozen=True)
class Prose:
    """A written answer, with the ids of the passages that it cites."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """The checked answer to one unit: a code for each variable that has one."""

    name: str
    unit: UnitSpec
    values: Mapping[str, str]
    evidence: tuple[Quote, ...] = ()
    written: Prose | None = None
    points: tuple[Point, ...] = ()
    matches: tuple[int, ...] = ()


@dataclass(frozen=True)
class Problem:
    """What is wrong with one unit's answer. `unit` is empty where the whole answer is meant."""

    unit: str
    key: str
    message: str

    def __str__(self) -> str:
        place = " ".join(x for x in (f"unit {self.unit!r}" if self.unit else "", self.key) if x)
        return f"{place}: {self.message}" if place else self.message


class RefusedError(ValueError):
    """An answer that cannot be taken, with every problem that was found."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(p) for p in problems))


def check(
    schema: Schema, units: Mapping[str, UnitSpec], answer: object, door: Door
) -> tuple[list[Entry], list[Problem]]:
    """Checked entries and warnings, or RefusedError.

    `units` are those that the rater was asked, by name; `answer` maps names to objects with the
    keys of `Schema.keys`.
    """
    if not isinstance(answer, Mapping):
        raise RefusedError([Problem("", "", "an answer is an object with one entry per unit")])
    checks = [_UnitCheck(schema, name, unit, door) for name, unit in units.items()]
    problems = [Problem(_named(n), "", "was not asked") for n in answer if n not in units]
    entries = [c.entry(answer[c.name]) for c in checks if c.name in answer]
    if door != "import":
        problems += [Problem(n, "", "has no answer") for n in units if n not in answer]
    for c in checks:
        c.check_matches(entries)
    problems = [p for c in checks for p in c.problems] + problems
    if problems:
        raise RefusedError(problems)
    return entries, [w for c in checks for w in c.warnings]


def coerce(value: object) -> str | None:
    """The code a value stands for: text as it is, whole numbers as digits; a boolean is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None


class _UnitCheck:
    """The check of one unit's answer: collects every problem instead of stopping at the first."""

    def __init__(self, schema: Schema, name: str, unit: UnitSpec, door: Door) -> None:
        self.schema, self.name, self.unit = schema, name, unit
        self.lenient = door == "import"
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def entry(self, given: object) -> Entry:
        if not isinstance(given, Mapping):
            self.wrong("", "its answer is not an object")
            return Entry(self.name, self.unit, {})
        self.check_keys(given)
        values = self.values(given)
        quotes = self.quotes(given[EVIDENCE_KEY]) if EVIDENCE_KEY in given else ()
        self.check_owed(values, quotes)
        prose = self.prose(given, values)
        points, wrong = points_in(self.schema, self.unit.kind, given, values, self.lenient)
        matches, odd = matches_in(self.schema, self.unit.kind, given)
        self.problems += [Problem(self.name, *each) for each in (*wrong, *odd)]
        return Entry(self.name, self.unit, values, quotes, prose, points, matches)

    def wrong(self, key: str, message: str) -> None:
        self.problems.append(Problem(self.name, key, message))

    def check_keys(self, given: Mapping[str, Any]) -> None:
        keys = self.schema.keys(self.unit.kind)
        for key in given:
            if key not in keys and not (self.lenient and key == EVIDENCE_KEY):
                self.wrong(_named(key), "is not a key of this unit")
        for key in keys:
            if key not in given and not self.lenient:
                self.wrong(key, "is missing; give null where nothing is asked")

    def values(self, given: Mapping[str, Any]) -> dict[str, str]:
        values: dict[str, str] = {}
        for variable in self.schema.of(self.unit.kind):
            if variable.name in given:
                code = self.value(variable, given[variable.name], values)
                values |= {variable.name: code} if code is not None else {}
        return values

    def value(self, variable: Variable, value: object, so_far: Mapping[str, str]) -> str | None:
        asked = self.asked(variable, so_far)
        if value is None:
            if asked and not self.lenient:
                self.wrong(variable.name, f"has no answer; give one of {_listed(variable)}")
            return None
        code = coerce(value)
        if code is None or code not in variable.answers:
            self.wrong(variable.name, _not_a_code(value, variable))
        elif asked:
            return code
        elif self.lenient:
            message = f"{_condition(variable)}; its label was left out"
            self.warnings.append(Problem(self.name, variable.name, message))
        else:
            self.wrong(variable.name, f"{_condition(variable)}; give null")
        return None

    def asked(self, variable: Variable, so_far: Mapping[str, str]) -> bool:
        """Whether its condition holds; a partial import cannot fail one that it does not hold."""
        conditions = variable.asked_if
        if self.lenient:
            conditions = {n: codes for n, codes in conditions.items() if n in so_far}
        return self.schema.holds(conditions, so_far)

    def quotes(self, given: object) -> tuple[Quote, ...]:
        if given is None and self.lenient:
            return ()
        rule = self.schema.evidence(self.unit.kind)
        if rule is None and not self.lenient:
            return ()
        if not isinstance(given, list):
            self.wrong(EVIDENCE_KEY, "is not a list of quotes")
            return ()
        if len(given) > MOST_QUOTES and not self.lenient:
            self.wrong(EVIDENCE_KEY, too_many(MOST_QUOTES, "quotes"))
            return ()
        variable, place = (rule.variable, rule.field) if rule else ("", "")
        placed = rule is not None and rule.several
        quotes = [quote_of(one, variable, place, self.lenient, placed) for one in given]
        if None in quotes:
            form = "{quote, start, field}" if placed else "{quote, start}"
            self.wrong(EVIDENCE_KEY, f"holds something that is not {form}")
        return tuple(q for q in quotes if q is not None)

    def check_owed(self, values: Mapping[str, str], quotes: tuple[Quote, ...]) -> None:
        rule = self.schema.evidence(self.unit.kind)
        if rule is None or rule.owed_if is None or quotes:
            return
        if values.get(rule.variable) != rule.owed_if:
            return
        if self.lenient:
            message = f"{rule.variable} is {rule.owed_if} without its quote"
            self.warnings.append(Problem(self.name, EVIDENCE_KEY, message))
        else:
            message = f"{rule.variable} is {rule.owed_if}: quote the {rule.field} for it"
            self.wrong(EVIDENCE_KEY, message)

    def prose(self, given: Mapping[str, Any], values: Mapping[str, str]) -> Prose | None:
        rule = self.schema.written(self.unit.kind)
        if rule is None or rule.name not in given:
            return None
        value, asked = given[rule.name], self.schema.holds(rule.asked_if, values)
        if value is None:
            if asked and not self.lenient:
                self.wrong(rule.name, "has no text; write one")
            return None
        if not asked and not self.lenient:
            self.wrong(rule.name, "is not asked here; give null")
            return None
        return self.written(rule, value)

    def check_matches(self, entries: list[Entry]) -> None:
        """Whether it is matched to points of the list that came with it, if one did."""
        rule = self.schema.matching(self.unit.kind)
        lists = [e for e in entries if rule and e.unit.kind == rule.kind]
        own = next((e for e in entries if e.name == self.name), None)
        if rule is None or own is None or not lists or self.problems:
            return
        matched = own.values.get(rule.match)
        if wrong := wrong_matches(rule, matched, own.matches, len(lists[0].points)):
            found = Problem(self.name, rule.matches, wrong)
            (self.warnings if self.lenient else self.problems).append(found)

    def written(self, rule: Written, value: object) -> Prose | None:
        if not isinstance(value, Mapping) or value.keys() != {"text", "citations"}:
            self.wrong(rule.name, "is not {text, citations}")
            return None
        text, cited = value["text"], value["citations"]
        if not isinstance(text, str) or not text.strip():
            self.wrong(rule.name, "has no text; write one")
            return None
        if not storable(text):
            self.wrong(rule.name, "holds a character that no text may hold; take it out")
            return None
        if not isinstance(cited, list) or not all(is_text(c) for c in cited):
            self.wrong(rule.name, "cites something that is no passage id")
            return None
        if not self.lenient and (excess := _excess(text, cited)):
            self.wrong(rule.name, excess)
            return None
        return Prose(text, tuple(cited))


def _named(name: object) -> str:
    """A foreign name as it may stand in a message."""
    text = str(name)
    return text if text.isprintable() and len(text) <= 600 else repr(text)[:600]


def _excess(text: str, cited: list[str]) -> str | None:
    if len(text) > LONGEST_TEXT:
        return too_long(LONGEST_TEXT)
    return too_many(MOST_CITATIONS, "citations") if len(cited) > MOST_CITATIONS else None


def _condition(variable: Variable) -> str:
    when = " and ".join(f"{n} is {' or '.join(c)}" for n, c in variable.asked_if.items())
    return f"is asked only if {when}"


def _not_a_code(value: object, variable: Variable) -> str:
    shown = repr(value)[:60]
    what = "a boolean is not a code" if isinstance(value, bool) else f"{shown} is no code"
    return f"{what}; give one of {_listed(variable)}"


def _listed(variable: Variable) -> str:
    return ", ".join(variable.answers)


PASSAGE = "passage:"


def check_citations(
    schema: Schema, spec: ItemSpec, entries: Sequence[Entry], door: Door
) -> list[Problem]:
    """Warnings about passages that are cited and not selected; at page and API they are problems.

    Where the campaign does not ask what is selected, every passage of the item may be cited.
    Raises RefusedError.
    """
    rule = schema.protocol.written
    if rule is None or not any(schema.variable("selected", unit.kind) for unit in spec.units):
        return []
    found = list(_problems(spec, entries))
    if found and door in ("page", "api"):
        raise RefusedError(found)
    return found


def _problems(spec: ItemSpec, entries: Sequence[Entry]) -> Iterator[Problem]:
    shown = {text.field for text in spec.texts}
    chosen = selected_passages(spec.key, entries)
    for entry in entries:
        for cited in dict.fromkeys(entry.written.citations if entry.written else ()):
            if f"{PASSAGE}{cited}" in shown and cited not in chosen:
                wrong = "is cited, and nothing of it is selected; select it, or do not cite it"
                yield Problem(entry.name, "citations", f"{cited!r} {wrong}")


def selected_passages(item: str, entries: Iterable[Entry]) -> set[str]:
    """The ids of the passages that were selected, or of which a sentence was."""
    chosen = (e.unit for e in entries if e.values.get("selected") == "yes")
    return {passage_of(item, unit.kind, unit.key) for unit in chosen}


def passage_of(item: str, kind: str, key: str) -> str:
    """The id of the passage that a unit is, or that a sentence of it stands in."""
    passage = key.removeprefix(f"{item}/")
    return passage.rpartition("#")[0] if kind == "passage-sentence" else passage
