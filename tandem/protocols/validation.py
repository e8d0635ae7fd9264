"""Check an answer against its schema: one function for all channels.

`page`, `api` and `judge` are strict: every unit and every key must be present, and evidence where
it is owed. `import` is lenient because history cannot be changed: an answer may cover a part of an
item, and a label without its owed evidence is stored with a warning. Limits on size do not apply to
files either. `parser` is just as lenient: it is a judge whose parser reads only some of the
variables.

Each problem becomes a message, and the channel decides what follows. What several answers have to
agree on is checked by `consistency`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tandem.messages import Message, Word, all_of, one_of
from tandem.protocols.base import (
    UnitSpec,
    Variable,
    WrittenText,
    in_answer,
    join_codes,
    split_codes,
)
from tandem.protocols.points import (
    MAX_QUOTES,
    NOT_ASKED,
    NOT_STORABLE,
    TOO_MANY_QUOTES,
    Point,
    Quote,
    describe_too_long,
    is_storable,
    is_text,
    match_problem,
    noun_of,
    read_quote,
    read_unit_matches,
    read_unit_points,
)
from tandem.protocols.schema import EVIDENCE_KEY, Schema

MAX_COMMENT = 10_000
MAX_TEXT = 50_000
MAX_CITATIONS = 200
PASSAGE = "passage:"
NOT_AMONG = Message("was not asked")
NO_TEXT = Message("has no text; write one")
TOO_MANY_CITATIONS = Message(
    "contains more than %(most)s citations; keep the most important", most=MAX_CITATIONS
)

Channel = Literal["page", "api", "judge", "parser", "import"]
LENIENT: tuple[Channel, ...] = ("parser", "import")


@dataclass(frozen=True)
class Prose:
    """A written answer, with the ids of the passages that it cites."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """The checked answer to one unit, with the label's value for each variable that has one."""

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
    message: Message

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
        raise RefusedError(
            [Problem("", "", Message("an answer is an object with one entry per unit"))]
        )
    checks = [_UnitCheck(schema, name, unit, channel) for name, unit in units.items()]
    problems = [Problem(_safe_name(n), "", NOT_AMONG) for n in answer if n not in units]
    entries = [c.entry(answer[c.name]) for c in checks if c.name in answer]
    if channel not in LENIENT:
        none = Message("has no answer")
        problems += [Problem(n, "", none) for n in units if n not in answer]
    named = {entry.name: entry for entry in entries}
    first_of_kind = {entry.unit.kind: entry for entry in reversed(entries)}
    for c in checks:
        c.check_matches(named.get(c.name), first_of_kind)
    problems = [p for c in checks for p in c.problems] + problems
    if problems:
        raise RefusedError(problems)
    return entries, [w for c in checks for w in c.warnings]


def with_codes_in_order(
    schema: Schema, entries: Iterable[Entry], answers: Mapping[str, Any]
) -> dict[str, Any]:
    """Return checked answers with sets of codes in declared order, and numbers of scales as codes.

    So equal answers are equal, however they were sent.
    """
    ordered = dict(answers)
    for entry in entries:
        own = {
            variable.name: in_answer(variable, entry.values[variable.name])
            for variable in schema.variables_of(entry.unit.kind)
            if (variable.several or variable.scale) and variable.name in entry.values
        }
        if own:
            ordered[entry.name] = {**answers[entry.name], **own}
    return ordered


def read_code(variable: Variable, value: object) -> str | None:
    """Return the value of a label from an answer, or None if the variable does not take it.

    Several codes are a list without duplicates. A number on a scale may be a number or its text.
    """
    if variable.several and isinstance(value, list):
        codes = [code for each in value if (code := coerce(each)) in variable.codes]
        whole = len(codes) == len(value) == len(set(codes))
        return join_codes(variable, codes) if whole else None
    decimal = variable.scale is not None and isinstance(value, float)
    code = coerce(value) if not decimal else repr(value)
    if code is None or (variable.several and code not in variable.escapes):
        return None
    code = variable.number(code)
    return code if code in variable.answers else None


def read_label(variable: Variable, text: str) -> str | None:
    """Return the value of a label from a file's text, or None if the variable does not take it.

    The codes of a set may be in any order.
    """
    codes = split_codes(text) if variable.several and text not in variable.escapes else None
    return read_code(variable, text if codes is None else sorted(codes))


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
            self.wrong("", Message("its answer is not an object"))
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

    def wrong(self, key: str, message: Message) -> None:
        self.problems.append(Problem(self.name, key, message))

    def check_keys(self, answer: Mapping[str, Any]) -> None:
        keys = self.schema.keys(self.unit.kind)
        for key in answer:
            if key not in keys and not (self.lenient and key == EVIDENCE_KEY):
                self.wrong(_safe_name(key), Message("is not a key of this unit"))
        for key in keys:
            if key not in answer and not self.lenient:
                self.wrong(key, Message("is missing; give null where nothing is asked"))

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
                none = Message(
                    "has no answer; give %(answers)s", answers=describe_answers(variable)
                )
                self.wrong(variable.name, none)
            return None
        code = read_code(variable, value)
        if code is None:
            self.wrong(variable.name, _describe_wrong_code(value, variable))
        elif asked:
            return code
        elif self.lenient:
            skipped = Message(
                "is asked only if %(when)s; its label was skipped", when=self.condition(variable)
            )
            self.warnings.append(Problem(self.name, variable.name, skipped))
        else:
            null = Message("is asked only if %(when)s; give null", when=self.condition(variable))
            self.wrong(variable.name, null)
        return None

    def asked(self, variable: Variable, so_far: Mapping[str, str]) -> bool:
        """Whether the variable is asked. A partial import skips conditions on absent variables."""
        conditions = variable.asked_if
        if self.lenient:
            conditions = {n: codes for n, codes in conditions.items() if n in so_far}
        return self.schema.holds(conditions, so_far)

    def condition(self, variable: Variable) -> str:
        """Return when a variable is asked, as the end of "only if …"."""
        return all_of(
            Message(
                "%(variable)s is %(code)s",
                variable=self.schema.named(name, self.unit.kind),
                code=one_of(self.schema.coded(name, code, self.unit.kind) for code in codes),
            )
            for name, codes in variable.asked_if.items()
        )

    def quotes(self, evidence: object) -> tuple[Quote, ...]:
        if evidence is None and self.lenient:
            return ()
        rule = self.schema.evidence(self.unit.kind)
        if rule is None and not self.lenient:
            return ()
        if not isinstance(evidence, list):
            self.wrong(EVIDENCE_KEY, Message("is not a list of quotes"))
            return ()
        if len(evidence) > MAX_QUOTES and not self.lenient:
            self.wrong(EVIDENCE_KEY, TOO_MANY_QUOTES)
            return ()
        variable, field = (rule.variable, rule.field) if rule else ("", "")
        field = "" if rule and rule.beside else field
        within = tuple(each.field for each in rule.rules if each.within) if rule else ()
        with_field = rule is not None and rule.names_texts
        quotes = [read_quote(one, variable, field, self.lenient, with_field) for one in evidence]
        if None in quotes:
            form = "{quote, start, field}" if with_field else "{quote, start}"
            self.wrong(EVIDENCE_KEY, Message("contains something that is not %(form)s", form=form))
        return tuple(replace(q, within=within) if within else q for q in quotes if q is not None)

    def check_owed(self, values: Mapping[str, str], quotes: tuple[Quote, ...]) -> None:
        rule = self.schema.evidence(self.unit.kind)
        value = values.get(rule.variable) if rule else None
        owing = [each for each in rule.rules if each.owing(value)] if rule else []
        # Which text a quote is from shows only when it is located.
        if rule is None or len(quotes) >= len(owing):
            return
        kind = self.unit.kind
        variable = self.schema.named(rule.variable, kind)
        code = self.schema.coded(rule.variable, owing[0].owing(value), kind)
        if self.lenient:
            bare = Message(
                "%(variable)s is %(code)s without its quote", variable=variable, code=code
            )
            self.warnings.append(Problem(self.name, EVIDENCE_KEY, bare))
        else:
            owed = Message(
                "%(variable)s is %(code)s: quote the %(field)s for it",
                variable=variable,
                code=code,
                field=all_of(noun_of(each.field) for each in owing),
            )
            self.wrong(EVIDENCE_KEY, owed)

    def prose(self, answer: Mapping[str, Any], values: Mapping[str, str]) -> Prose | None:
        rule = self.schema.written(self.unit.kind)
        if rule is None or rule.name not in answer:
            return None
        value, asked = answer[rule.name], self.schema.holds(rule.asked_if, values)
        if value is None:
            if asked and not self.lenient:
                self.wrong(rule.name, NO_TEXT)
            return None
        if not asked and not self.lenient:
            self.wrong(rule.name, NOT_ASKED)
            return None
        return self.written(rule, value)

    def check_matches(self, own: Entry | None, first_of_kind: Mapping[str, Entry]) -> None:
        """Check the unit's matches against the list in the same answer, if it has one."""
        rule = self.schema.matching(self.unit.kind)
        listed = first_of_kind.get(rule.kind) if rule else None
        if rule is None or own is None or listed is None or self.problems:
            return
        kind = self.unit.kind
        named = (
            self.schema.named(rule.match, kind),
            self.schema.coded(rule.match, rule.match_code, kind),
        )
        matched = own.values.get(rule.match)
        if wrong := match_problem(named, matched, own.matches, len(listed.points)):
            found = Problem(self.name, rule.matches, wrong)
            (self.warnings if self.lenient else self.problems).append(found)

    def written(self, rule: WrittenText, value: object) -> Prose | None:
        if not isinstance(value, Mapping) or value.keys() != {"text", "citations"}:
            self.wrong(rule.name, Message("is not {text, citations}"))
            return None
        text, cited = value["text"], value["citations"]
        if not isinstance(text, str) or not text.strip():
            self.wrong(rule.name, NO_TEXT)
            return None
        if not is_storable(text):
            self.wrong(rule.name, NOT_STORABLE)
            return None
        if not isinstance(cited, list) or not all(is_text(c) for c in cited):
            self.wrong(rule.name, Message("cites something that is not a passage id"))
            return None
        if not self.lenient and (excess := _length_problem(text, cited)):
            self.wrong(rule.name, excess)
            return None
        return Prose(text, tuple(cited))


def _safe_name(name: object) -> str:
    """Return a name from outside in a form that is safe in a message."""
    text = str(name)
    return text if text.isprintable() and len(text) <= 600 else repr(text)[:600]


def _length_problem(text: str, cited: list[str]) -> Message | None:
    if len(text) > MAX_TEXT:
        return describe_too_long(MAX_TEXT)
    return TOO_MANY_CITATIONS if len(cited) > MAX_CITATIONS else None


def describe_answers(variable: Variable) -> Message:
    """Describe what a variable takes, as the object of *give*."""
    codes, escapes = _words_for(variable, variable.codes), _words_for(variable, variable.escapes)
    if variable.scale:
        first, last, step = variable.scale.steps
        found = Message(
            "a number from %(first)s to %(last)s in steps of %(step)s",
            first=first,
            last=last,
            step=step,
        )
    elif variable.several:
        found = Message("a list of any of %(codes)s", codes=codes)
    else:
        return Message("one of %(codes)s", codes=codes + escapes)
    if not escapes:
        return found
    return Message("%(answers)s, or alone %(codes)s", answers=found, codes=escapes)


def _describe_wrong_code(value: object, variable: Variable) -> Message:
    answers, shown = describe_answers(variable), repr(value)[:60]
    if variable.several:
        return Message(
            "%(shown)s is not a list of codes, each once; give %(answers)s",
            shown=shown,
            answers=answers,
        )
    if variable.scale:
        return Message(
            "%(shown)s is not on the scale; give %(answers)s", shown=shown, answers=answers
        )
    if isinstance(value, bool):
        return Message("a boolean is not a code; give %(answers)s", answers=answers)
    return Message("%(shown)s is not a code; give %(answers)s", shown=shown, answers=answers)


def _words_for(variable: Variable, codes: Iterable[str]) -> tuple[Word, ...]:
    return tuple(map(variable.coded, codes))
