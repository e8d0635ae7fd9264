"""Check an answer against its schema: one function for all channels.

`page`, `api` and `judge` are strict: every unit and every key must be present, and evidence where
it is owed. `import` is lenient because history cannot be changed: an answer may cover a part of an
item, and a label without its owed evidence is stored with a warning. Limits on size do not apply to
files either. `parser` is as lenient: it is a judge whose parser reads some of the variables only.

A list of points is `[{text, evidence: [{quote, start}]}]` in the rater's order. Matches are the
numbers of its points, from 1. A written answer may cite the passages of its item from which the
rater selected something. Each problem becomes a message, and the channel decides what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotation.protocols.base import ItemSpec, PointList, UnitSpec, Variable, WrittenText
from annotation.protocols.schema import EVIDENCE_KEY, Schema

MAX_COMMENT = 10_000
MAX_TEXT = 50_000
MAX_QUOTE = 200_000
MAX_QUOTES = 200
MAX_CITATIONS = 200
MAX_POINTS = 100
MAX_POINT = 2_000
MAX_OFFSET = 2**31 - 1
PASSAGE = "passage:"
POINT_KEYS = {"text", "evidence"}
NO_POINT = "has no point; write one"
NO_LIST = "is not a list of {text, evidence}"
NO_NUMBERS = "is not a list of numbers of points, from 1"
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")

Channel = Literal["page", "api", "judge", "parser", "import"]
LENIENT: tuple[Channel, ...] = ("parser", "import")
KeyProblem = tuple[str, str]
"""A key of the answer, and the message about it."""


def describe_too_long(most: int) -> str:
    return f"is longer than {most:,} characters; shorten it"


def describe_too_many(most: int, what: str) -> str:
    return f"contains more than {most} {what}; keep the most important"


@dataclass(frozen=True)
class Quote:
    """A quote as the rater sent it: the words, and the offset at which they are said to start."""

    variable: str
    field: str
    quote: str
    start: int | None = None


def is_storable(text: str) -> bool:
    """Whether every database can store the text: no NUL, no half of a surrogate pair."""
    return _NOT_STORABLE.search(text) is None


def is_text(value: object) -> bool:
    return isinstance(value, str) and is_storable(value) and bool(value.strip())


def read_quote(
    quote: object, variable: str, field_asked: str, lenient: bool, with_field: bool = False
) -> Quote | None:
    """Return the quote in `{quote, start}`, or None if it is malformed.

    A quote `with_field` may name its field. A lenient reading also allows a variable.
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
        return (), [(rule.name, "is not asked here; give null")]
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
) -> tuple[tuple[Point, ...], list[str]]:
    """Return the points of a list, and messages. A lenient reading does not require quotes."""
    if not isinstance(value, list) or not all(map(_is_point, value)):
        return (), [NO_LIST]
    if not value and not lenient:
        return (), [NO_POINT]
    if len(value) > MAX_POINTS and not lenient:
        return (), [describe_too_many(MAX_POINTS, "points")]
    points = [_point(rule, each) for each in value]
    wrong = [
        f"point {number} {problem}"
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
    rule: PointList, matched: str | None, matches: Sequence[int], points: int
) -> str | None:
    """Return a message about a unit's matches, if the list of its answer has `points` points."""
    if matched != rule.match_code:
        return f"is given without {rule.match} {rule.match_code}; leave it empty" * bool(matches)
    if not matches:
        return f"is empty though {rule.match} is {rule.match_code}; give the numbers of the points"
    if beyond := [n for n in matches if n > points]:
        return f"names point {beyond[0]}, but the list has {points}; correct the number"
    return "names a point twice; name each once" if len(set(matches)) < len(matches) else None


def draft_list_problem(value: Sequence[object]) -> str | None:
    """Return a message if an unfinished list, or matches, cannot come from one of our pages.

    Points without words or quotes are fine, since the person may finish them later.
    """
    if all(_is_number(each) for each in value):
        return describe_too_many(MAX_POINTS, "numbers") if len(value) > MAX_POINTS else None
    if not all(map(_is_point, value)):
        return NO_LIST
    if len(value) > MAX_POINTS:
        return describe_too_many(MAX_POINTS, "points")
    return next(_draft_point_problems(value), None)


def _draft_point_problems(points: Iterable[Any]) -> Iterator[str]:
    for point in points:
        if not is_storable(point["text"]):
            yield "contains a character that cannot be stored; remove it"
        if len(point["text"]) > MAX_POINT:
            yield describe_too_long(MAX_POINT)
        if len(point["evidence"]) > MAX_QUOTES:
            yield describe_too_many(MAX_QUOTES, "quotes")
        quotes = [read_quote(each, "", "", lenient=False) for each in point["evidence"]]
        if not all(each and _fits(each) for each in quotes):
            yield "contains something that is not {quote, start}"


def _fits(quote: Quote) -> bool:
    return len(quote.quote) <= MAX_QUOTE and (quote.start or 0) <= MAX_OFFSET


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
) -> Iterator[str]:
    if not is_text(point.text):
        yield "has no words; write them, or remove the point"
    if len(point.evidence) < len(sent["evidence"]):
        yield "contains something that is not {quote, start}"
    if lenient:
        return
    if rule.quoted and not sent["evidence"]:
        yield f"has no quote of the {rule.field}; give one"
    if len(point.text) > MAX_POINT:
        yield describe_too_long(MAX_POINT)
    if len(point.evidence) > MAX_QUOTES:
        yield describe_too_many(MAX_QUOTES, "quotes")


@dataclass(frozen=True)
class Prose:
    """A written answer, with the ids of the passages that it cites."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """The checked answer to one unit, with a code for each variable that has one."""

    name: str
    unit: UnitSpec
    values: Mapping[str, str]
    evidence: tuple[Quote, ...] = ()
    written: Prose | None = None
    points: tuple[Point, ...] = ()
    matches: tuple[int, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A message about one unit's answer, or about the whole answer if `unit` is empty."""

    unit: str
    key: str
    message: str

    def __str__(self) -> str:
        subject = " ".join(x for x in (f"unit {self.unit!r}" if self.unit else "", self.key) if x)
        return f"{subject}: {self.message}" if subject else self.message


class RefusedError(ValueError):
    """The answer cannot be accepted. Carries every problem that was found."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(p) for p in problems))


def check(
    schema: Schema, units: Mapping[str, UnitSpec], answer: object, channel: Channel
) -> tuple[list[Entry], list[Problem]]:
    """Return the checked entries and warnings. Raises RefusedError with all problems.

    `units` are the units that the rater was asked, by name. `answer` maps these names to objects
    with the keys of `Schema.keys`.
    """
    if not isinstance(answer, Mapping):
        raise RefusedError([Problem("", "", "an answer is an object with one entry per unit")])
    checks = [_UnitCheck(schema, name, unit, channel) for name, unit in units.items()]
    problems = [Problem(_safe_name(n), "", "was not asked") for n in answer if n not in units]
    entries = [c.entry(answer[c.name]) for c in checks if c.name in answer]
    if channel not in LENIENT:
        problems += [Problem(n, "", "has no answer") for n in units if n not in answer]
    for c in checks:
        c.check_matches(entries)
    problems = [p for c in checks for p in c.problems] + problems
    if problems:
        raise RefusedError(problems)
    return entries, [w for c in checks for w in c.warnings]


def coerce(value: object) -> str | None:
    """Return a value as a code: text unchanged, whole numbers as digits, None for a boolean."""
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
    """Check one unit's answer, collecting every problem instead of stopping at the first."""

    def __init__(self, schema: Schema, name: str, unit: UnitSpec, channel: Channel) -> None:
        self.schema, self.name, self.unit = schema, name, unit
        self.lenient = channel in LENIENT
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def entry(self, answer: object) -> Entry:
        if not isinstance(answer, Mapping):
            self.wrong("", "its answer is not an object")
            return Entry(self.name, self.unit, {})
        self.check_keys(answer)
        values = self.values(answer)
        quotes = self.quotes(answer[EVIDENCE_KEY]) if EVIDENCE_KEY in answer else ()
        self.check_owed(values, quotes)
        prose = self.prose(answer, values)
        points, wrong = read_unit_points(self.schema, self.unit.kind, answer, values, self.lenient)
        matches, odd = read_unit_matches(self.schema, self.unit.kind, answer)
        self.problems += [Problem(self.name, *each) for each in (*wrong, *odd)]
        return Entry(self.name, self.unit, values, quotes, prose, points, matches)

    def wrong(self, key: str, message: str) -> None:
        self.problems.append(Problem(self.name, key, message))

    def check_keys(self, answer: Mapping[str, Any]) -> None:
        keys = self.schema.keys(self.unit.kind)
        for key in answer:
            if key not in keys and not (self.lenient and key == EVIDENCE_KEY):
                self.wrong(_safe_name(key), "is not a key of this unit")
        for key in keys:
            if key not in answer and not self.lenient:
                self.wrong(key, "is missing; give null where nothing is asked")

    def values(self, answer: Mapping[str, Any]) -> dict[str, str]:
        values: dict[str, str] = {}
        for variable in self.schema.variables_of(self.unit.kind):
            if variable.name in answer:
                code = self.value(variable, answer[variable.name], values)
                values |= {variable.name: code} if code is not None else {}
        return values

    def value(self, variable: Variable, value: object, so_far: Mapping[str, str]) -> str | None:
        asked = self.asked(variable, so_far)
        if value is None:
            if asked and not self.lenient:
                self.wrong(variable.name, f"has no answer; give one of {_list_codes(variable)}")
            return None
        code = coerce(value)
        if code is None or code not in variable.answers:
            self.wrong(variable.name, _describe_wrong_code(value, variable))
        elif asked:
            return code
        elif self.lenient:
            message = f"{_describe_condition(variable)}; its label was skipped"
            self.warnings.append(Problem(self.name, variable.name, message))
        else:
            self.wrong(variable.name, f"{_describe_condition(variable)}; give null")
        return None

    def asked(self, variable: Variable, so_far: Mapping[str, str]) -> bool:
        """Whether the variable is asked. A partial import skips conditions on absent variables."""
        conditions = variable.asked_if
        if self.lenient:
            conditions = {n: codes for n, codes in conditions.items() if n in so_far}
        return self.schema.holds(conditions, so_far)

    def quotes(self, evidence: object) -> tuple[Quote, ...]:
        if evidence is None and self.lenient:
            return ()
        rule = self.schema.evidence(self.unit.kind)
        if rule is None and not self.lenient:
            return ()
        if not isinstance(evidence, list):
            self.wrong(EVIDENCE_KEY, "is not a list of quotes")
            return ()
        if len(evidence) > MAX_QUOTES and not self.lenient:
            self.wrong(EVIDENCE_KEY, describe_too_many(MAX_QUOTES, "quotes"))
            return ()
        variable, field = (rule.variable, rule.field) if rule else ("", "")
        with_field = rule is not None and rule.several
        quotes = [read_quote(one, variable, field, self.lenient, with_field) for one in evidence]
        if None in quotes:
            form = "{quote, start, field}" if with_field else "{quote, start}"
            self.wrong(EVIDENCE_KEY, f"contains something that is not {form}")
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

    def prose(self, answer: Mapping[str, Any], values: Mapping[str, str]) -> Prose | None:
        rule = self.schema.written(self.unit.kind)
        if rule is None or rule.name not in answer:
            return None
        value, asked = answer[rule.name], self.schema.holds(rule.asked_if, values)
        if value is None:
            if asked and not self.lenient:
                self.wrong(rule.name, "has no text; write one")
            return None
        if not asked and not self.lenient:
            self.wrong(rule.name, "is not asked here; give null")
            return None
        return self.written(rule, value)

    def check_matches(self, entries: list[Entry]) -> None:
        """Check the unit's matches against the list in the same answer, if it has one."""
        rule = self.schema.matching(self.unit.kind)
        lists = [e for e in entries if rule and e.unit.kind == rule.kind]
        own = next((e for e in entries if e.name == self.name), None)
        if rule is None or own is None or not lists or self.problems:
            return
        matched = own.values.get(rule.match)
        if wrong := match_problem(rule, matched, own.matches, len(lists[0].points)):
            found = Problem(self.name, rule.matches, wrong)
            (self.warnings if self.lenient else self.problems).append(found)

    def written(self, rule: WrittenText, value: object) -> Prose | None:
        if not isinstance(value, Mapping) or value.keys() != {"text", "citations"}:
            self.wrong(rule.name, "is not {text, citations}")
            return None
        text, cited = value["text"], value["citations"]
        if not isinstance(text, str) or not text.strip():
            self.wrong(rule.name, "has no text; write one")
            return None
        if not is_storable(text):
            self.wrong(rule.name, "contains a character that cannot be stored; remove it")
            return None
        if not isinstance(cited, list) or not all(is_text(c) for c in cited):
            self.wrong(rule.name, "cites something that is not a passage id")
            return None
        if not self.lenient and (excess := _length_problem(text, cited)):
            self.wrong(rule.name, excess)
            return None
        return Prose(text, tuple(cited))


def _safe_name(name: object) -> str:
    """Return a name from outside in a form that is safe in a message."""
    text = str(name)
    return text if text.isprintable() and len(text) <= 600 else repr(text)[:600]


def _length_problem(text: str, cited: list[str]) -> str | None:
    if len(text) > MAX_TEXT:
        return describe_too_long(MAX_TEXT)
    return describe_too_many(MAX_CITATIONS, "citations") if len(cited) > MAX_CITATIONS else None


def _describe_condition(variable: Variable) -> str:
    when = " and ".join(f"{n} is {' or '.join(c)}" for n, c in variable.asked_if.items())
    return f"is asked only if {when}"


def _describe_wrong_code(value: object, variable: Variable) -> str:
    shown = repr(value)[:60]
    what = "a boolean is not a code" if isinstance(value, bool) else f"{shown} is not a code"
    return f"{what}; give one of {_list_codes(variable)}"


def _list_codes(variable: Variable) -> str:
    return ", ".join(variable.answers)


def check_citations(
    schema: Schema, spec: ItemSpec, entries: Sequence[Entry], channel: Channel
) -> list[Problem]:
    """Return warnings about passages that are cited but not selected.

    Raises RefusedError with them for answers from a page or the API. If the campaign does not ask
    what is selected, every passage of the item may be cited.
    """
    rule = schema.protocol.written
    if rule is None or not any(schema.variable("selected", unit.kind) for unit in spec.units):
        return []
    found = list(_citation_problems(spec, entries))
    if found and channel in ("page", "api"):
        raise RefusedError(found)
    return found


def _citation_problems(spec: ItemSpec, entries: Sequence[Entry]) -> Iterator[Problem]:
    shown = {text.field for text in spec.texts}
    chosen = selected_passages(spec.key, entries)
    for entry in entries:
        for cited in dict.fromkeys(entry.written.citations if entry.written else ()):
            if f"{PASSAGE}{cited}" in shown and cited not in chosen:
                wrong = "is cited but nothing in it is selected; select it, or do not cite it"
                yield Problem(entry.name, "citations", f"{cited!r} {wrong}")


def selected_passages(item: str, entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the passages that were selected, whole or in part."""
    chosen = (e.unit for e in entries if e.values.get("selected") == "yes")
    return {passage_of(item, unit.kind, unit.key) for unit in chosen}


def passage_of(item: str, kind: str, key: str) -> str:
    """Return the id of the passage that a unit is, or that its sentence belongs to."""
    passage = key.removeprefix(f"{item}/")
    return passage.rpartition("#")[0] if kind == "passage-sentence" else passage
