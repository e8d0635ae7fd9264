"""Checking an answer against a schema: four doors, one function.

`page` and `api` are strict: every asked unit, every key, evidence where it is owed. `judge` is as
strict about what it was asked. `import` is lenient where history cannot be changed: it may hold a
part of an item, and keeps a label without its owed evidence with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from annotation.protocols import listing
from annotation.protocols.base import UnitSpec, Variable, Written
from annotation.protocols.limits import (
    LONGEST_TEXT,
    MOST_CITATIONS,
    MOST_QUOTES,
    too_long,
    too_many,
)
from annotation.protocols.quoting import Quote as Quote
from annotation.protocols.quoting import is_text, quote_of
from annotation.protocols.quoting import storable as storable
from annotation.protocols.schema import EVIDENCE_KEY, Schema

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
    points: tuple[listing.Point, ...] = ()
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
        points, wrong = listing.points_in(self.schema, self.unit.kind, given, values, self.lenient)
        matches, odd = listing.matches_in(self.schema, self.unit.kind, given)
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
        if wrong := listing.wrong_matches(rule, matched, own.matches, len(lists[0].points)):
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
