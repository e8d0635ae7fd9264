"""The classes that declare a protocol: variables, sets of codes, evidence, units and items.

They only hold data. The value of a variable that takes several codes is a JSON list of codes in
declared order. Such a value is one label, so exports and statistics handle it like any other value.
The empty set is `[]`. An escape stands alone and is stored as itself, not as a list. In an answer,
which is JSON itself, a set is a list of its codes in any order.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from tandem.messages import Message, Word
from tandem.protocols import material

Payload = dict[str, Any]

Level = Literal["nominal", "ordinal", "interval"]
Conditions = Mapping[str, tuple[str, ...]]
"""Variables of the same unit, and the codes of each that meet the condition."""

YES_NO = ("yes", "no")
NONE_OF_THESE = "None of these"
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?")


@dataclass(frozen=True)
class Scale:
    """An interval scale: the numbers from `first` to `last` in steps of `step`."""

    first: Decimal
    last: Decimal
    step: Decimal = Decimal(1)

    @property
    def codes(self) -> tuple[str, ...]:
        """Every number of the scale as plain decimal text, from the lowest."""
        count = int((self.last - self.first) / self.step)
        return tuple(_plain(self.first + n * self.step) for n in range(count + 1))

    @property
    def steps(self) -> tuple[str, str, str]:
        """The first number, the last and the step as plain decimal text."""
        return _plain(self.first), self.codes[-1], _plain(self.step)


def _plain(number: Decimal) -> str:
    return f"{number.normalize() + 0:f}"


@dataclass(frozen=True)
class Variable:
    """One measured quantity of one kind of unit.

    `codes` are in order of rank. `escapes` are legitimate answers that are not a category. `words`
    are shown to people instead of codes that do not read well. `meanings` explain a code in a
    sentence where it is chosen. Only campaigns that name an `optional` variable ask it.

    A variable with a `scale` has the numbers of the scale as its codes, and the level interval. One
    that takes `several` codes has sets of codes as its values (`tandem.protocols.base`); an
    escape stands alone.
    """

    name: str
    kind: str
    question: str
    codes: tuple[str, ...]
    level: Level = "nominal"
    escapes: tuple[str, ...] = ()
    asked_if: Conditions = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    optional: bool = False
    scale: Scale | None = None
    several: bool = False

    @property
    def answers(self) -> tuple[str, ...]:
        """Everything that may be chosen: the codes, then the escapes."""
        return self.codes + self.escapes

    @property
    def answers_in_brief(self) -> tuple[str, ...]:
        """The answers for a list of them, where a scale is one entry."""
        if self.scale is None:
            return self.answers
        first, last, step = self.scale.steps
        return (f"{first} to {last} in steps of {step}", *self.escapes)

    def codes_of(self, value: str) -> tuple[str, ...]:
        """Return the codes in a label's value: those of a set in declared order, or the value."""
        codes = split_codes(value) if self.several and value not in self.escapes else None
        return (value,) if codes is None else tuple(code for code in self.codes if code in codes)

    def takes(self, value: str) -> bool:
        """Whether a label may have the value: an answer, or a set of codes in declared order."""
        if value in self.escapes or not self.several:
            return value in self.answers
        codes = split_codes(value)
        return codes is not None and value == join_codes(self, codes & frozenset(self.codes))

    def word(self, value: str) -> str:
        """Return the word for a value that people read on its button and in reports, in English.

        A set of codes has their words, joined by commas.
        """
        codes = self.codes_of(value)
        return ", ".join(map(self._word, codes)) or NONE_OF_THESE

    def _word(self, code: str) -> str:
        is_number = self.scale and code not in self.escapes
        word = code if is_number else code.replace("-", " ").capitalize()
        return self.words.get(code, word)

    def number(self, text: str) -> str:
        """Return the code of the scale that a number is, in whatever form; else the text itself."""
        if self.scale is None or not _NUMBER.fullmatch(text):
            return text
        return _plain(Decimal(text))

    @property
    def named(self) -> Word:
        """The variable in a message: its name for programs, its question for people."""
        return Word(self.name, Message("“%(text)s”", text=Word(self.question, self.question)))

    def coded(self, code: str) -> Word:
        """Return a code in a message: itself for programs, the word of its button for people."""
        return Word(code, self.word(code))


@dataclass(frozen=True)
class Evidence:
    """Quotes of the text `field` for `variable`, owed if the variable has a code of `owed_if`.

    Where items show `several` texts of the kind, such as `passage:ID`, a quote may name the text
    that it is from. A quote that names none is looked for in all of them. With `within`, only the
    part of the text that is the unit itself may be quoted: its sentence. `beside` is a rule for
    quotes of a second text for the same variable.
    """

    variable: str
    field: str
    owed_if: tuple[str, ...] = ()
    several: bool = False
    within: bool = False
    beside: Evidence | None = None

    @property
    def rules(self) -> tuple[Evidence, ...]:
        """This rule, and that of the second text."""
        return (self,) if self.beside is None else (self, self.beside)

    @property
    def names_texts(self) -> bool:
        """Whether a quote may name the text that it is from."""
        return self.several or self.beside is not None

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that owe a quote of one text or the other."""
        return tuple(dict.fromkeys(code for rule in self.rules for code in rule.owed_if))

    def owing(self, value: str | None) -> str:
        """Return the code in a value that owes a quote of the rule's text, or an empty text."""
        found = {value, *(split_codes(value) or ())} if value else set()
        return next((code for code in self.owed_if if code in found), "")

    def quote(self, words: str, start: int | None, field: str) -> dict[str, str | int | None]:
        """Return a quote in the form that an answer has for it."""
        source = {"field": field} if self.names_texts else {}
        return {"quote": words, "start": start, **source}

    def covers(self, field: str) -> bool:
        """Whether the text of this name may be quoted."""
        return any(
            field == rule.field or (rule.several and field.startswith(f"{rule.field}:"))
            for rule in self.rules
        )


@dataclass(frozen=True)
class WrittenText:
    """A text that the rater writes. It is not a label. It may cite passages of the item."""

    name: str
    kind: str
    question: str
    asked_if: Conditions = field(default_factory=dict)


@dataclass(frozen=True)
class PointList:
    """Points that the rater writes, each with quotes of the text `field`. They are not labels.

    The points belong to the unit of `kind`. If the item has units of `match_kind`, these are
    matched to the points afterwards: where the variable `match` has the code `match_code`, the key
    `matches` contains the numbers of the points, from 1. Points owe quotes only if the list is
    `quoted`. The points of a `verbatim` list are copied from `field`, in the order of the text. A
    list that is asked has at least `least` points.
    """

    name: str
    kind: str
    question: str
    field: str
    match_kind: str = ""
    match: str = ""
    match_code: str = ""
    matches: str = "matches"
    quoted: bool = True
    verbatim: bool = False
    least: int = 1
    asked_if: Conditions = dataclasses.field(default_factory=dict)


UnitPlace = tuple[str, str]
"""The keys of an item and of one of its units."""


@dataclass(frozen=True)
class UnitSpec:
    """One unit: a kind, a stable key, and the text that is shown for it.

    For a unit that joins a report and a passage, `of` has the fields of both texts. They cannot be
    read from the key, since the ids may contain a slash. `fields` are attributes of the unit, such
    as the importance of a nugget. `place` is where a sentence stands: a text's field, the start and
    the end in code points. A unit that is not asked takes the labels of `same_as`, an equal one of
    the query, and is in that one's `also`.
    """

    kind: str
    key: str
    text: str
    of: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    place: tuple[str, int, int] | None = None
    same_as: UnitPlace | None = None
    also: tuple[UnitPlace, ...] = ()


@dataclass(frozen=True)
class Text:
    """A text that an item shows. Spans refer to it by `field`. `facts` are named details.

    `suggested` are quotes of it from the batch. They may be wrong, and the page says so.
    """

    field: str
    text: str
    heading: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    suggested: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemSpec:
    """One item. `report`, `passage` and `key_point` are the ids of the parts that it is about.

    `earlier` are the turns of the conversation before the query, shown with the query.
    """

    key: str
    units: tuple[UnitSpec, ...]
    texts: tuple[Text, ...]
    report: str | None = None
    passage: str | None = None
    key_point: str | None = None
    system: str | None = None
    setting: str | None = None
    earlier: tuple[material.Turn, ...] = ()


Each = Literal["query", "report", "passage", "report-passage", "key-point", "pair"]


@dataclass(frozen=True)
class ItemForm:
    """What stands on one page, where a protocol is declared in a file.

    There is an item for `each` part of the material, and it shows the texts `shows`: besides parts,
    `meta.NAME` is an entry of the query's own `meta`. The query and its earlier turns are always
    shown. `fields` are attributes of units that are shown with them.
    """

    each: Each
    shows: tuple[str, ...] = ()
    shuffled: bool = False
    sampled: bool = False
    fields: tuple[str, ...] = ()


Over = Literal["units", "first-per-sentence", "best-per-sentence", "mean-per-sentence"]


@dataclass(frozen=True)
class DeclaredMeasure:
    """A measure per report, as a protocol's file declares it.

    `scores` gives the points of each code of one variable. `where` keeps the units whose attributes
    have one of the values, and `weight` weighs units by an attribute. `over` says how the units of
    a sentence count together, and `denominator` what the sum is divided by: with `sentences`, a
    sentence without units counts 0. An `escape` is missing, or zero. Without any unit the measure
    is null with a reason, or zero if `empty` says so.
    """

    name: str
    variable: str
    scores: Mapping[str, float]
    where: Conditions = field(default_factory=dict)
    weight: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    over: Over = "units"
    denominator: Literal["units", "sentences"] = "units"
    escape: Literal["missing", "zero"] = "missing"
    empty: Literal["null", "zero"] = "null"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What one annotation task asks, and so what its labels may be. `summary` is one sentence.

    `contradictions` are answers about one unit that cannot all be given: of each, the variables and
    their codes. `readings` are declarations of the same name that ask about other points, by the
    value of the option `points`. `earlier` are the declarations of earlier versions. `items` and
    `measures` are there where a file declares the protocol.
    """

    name: str
    version: str
    title: str
    summary: str = ""
    variables: tuple[Variable, ...]
    evidence: Evidence | None = None
    written: WrittenText | None = None
    listed: PointList | None = None
    contradictions: tuple[Conditions, ...] = ()
    items: ItemForm | None = None
    measures: tuple[DeclaredMeasure, ...] = ()
    reading: str = ""
    readings: Mapping[str, Declaration] = dataclasses.field(default_factory=dict)
    earlier: Mapping[str, Declaration] = dataclasses.field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name, followed by that of the reading, if any. It is unique among all readings."""
        return f"{self.name}-{self.reading}" if self.reading else self.name

    def shown_fields(self, unit: UnitSpec) -> tuple[tuple[str, str], ...]:
        """Return the attributes of a unit that are shown with it."""
        names = self.items.fields if self.items else ()
        return tuple(each for each in unit.fields if each[0] in names)


class ForgottenUnitError(KeyError):
    """A stored unit that its item's texts no longer have, since they were changed meanwhile."""


class NamedUnits(dict[str, UnitSpec]):
    """The units of an item by name. Raises ForgottenUnitError for any other name."""

    def __missing__(self, name: str) -> UnitSpec:
        raise ForgottenUnitError(name)


def name_units(units: Iterable[UnitSpec]) -> NamedUnits:
    """Return units by their name in a response: the key, or `kind:key` where two kinds share it.

    A key that reads like `kind:key` is prefixed too, so that no two units have the same name.
    """
    units = list(units)
    keys = Counter(unit.key for unit in units)
    prefixed = {f"{unit.kind}:{unit.key}" for unit in units}
    plain = {key for key, count in keys.items() if count == 1 and key not in prefixed}
    return NamedUnits((u.key if u.key in plain else f"{u.kind}:{u.key}", u) for u in units)


def kinds_of(variables: Iterable[Variable]) -> set[str]:
    return {variable.kind for variable in variables}


def join_codes(variable: Variable, codes: Collection[str]) -> str:
    """Return the value of a set of codes. `codes` must be codes of the variable."""
    return json.dumps([code for code in variable.codes if code in codes], ensure_ascii=False)


def split_codes(value: str) -> frozenset[str] | None:
    """Return the codes in a value; None for an escape, or what is no list of codes."""
    if not value.startswith("["):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(code, str) for code in found):
        return None
    return frozenset(found)


def shown_codes(value: str) -> str:
    """Return a value for people who read codes: those of a set joined by commas."""
    if split_codes(value) is None:
        return value
    return ", ".join(json.loads(value)) or "none of these"


def names_code(value: object, codes: Collection[str | None]) -> bool:
    """Whether a value is one of the codes, or is a set with one of them.

    `value` is that of a label or of an answer; None is no value.
    """
    if isinstance(value, list):
        return any(code in codes for code in value if isinstance(code, str))
    if value is None or isinstance(value, str):
        return value in codes or bool(value and (split_codes(value) or set()) & set(codes))
    return False


def in_answer(variable: Variable, value: str) -> Any:
    """Return a label's value as an answer has it: the codes of a set as a list."""
    if not variable.several or value in variable.escapes:
        return value
    codes = split_codes(value)
    return value if codes is None else [code for code in variable.codes if code in codes]
