"""The classes that declare a protocol: variables, evidence, units, items. They only hold data.

A protocol is one folder: its declaration in `__init__.py`, `guideline.md` for people and judges,
and `prompt.md` where the generic prompt does not fit. It imports neither Django nor any database
model. The first line of a prompt file is its version, `version: 2`, and the prompt itself begins
after it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tandem.messages import Message, Word
from tandem.protocols import material

Payload = dict[str, Any]

Level = Literal["nominal", "ordinal", "interval"]
Conditions = Mapping[str, tuple[str, ...]]
"""Variables of the same unit, and the codes of each that meet the condition."""

YES_NO = ("yes", "no")
SHARED_PROMPT = "shared"


@dataclass(frozen=True)
class Variable:
    """One measured quantity of one kind of unit.

    `codes` are in order of rank. `escapes` are legitimate answers that are not a category. `words`
    are shown to people instead of codes that do not read well. `meanings` explain a code in a
    sentence where it is chosen. Only campaigns that name an `optional` variable ask it.
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

    @property
    def answers(self) -> tuple[str, ...]:
        """Everything that may be chosen: the codes, then the escapes."""
        return self.codes + self.escapes

    def word(self, code: str) -> str:
        """Return the word for a code that people read on its button and in reports, in English."""
        return self.words.get(code, code.replace("-", " ").capitalize())

    @property
    def named(self) -> Word:
        """The variable in a message: its name for programs, its question for people."""
        return Word(self.name, Message("“%(text)s”", text=Word(self.question, self.question)))

    def coded(self, code: str) -> Word:
        """Return a code in a message: itself for programs, the word of its button for people."""
        return Word(code, self.word(code))


@dataclass(frozen=True)
class Evidence:
    """Quotes of the text `field` for `variable`, owed if the variable has the code `owed_if`.

    Where items show `several` texts of the kind, such as `passage:ID`, a quote may name the text
    that it is from. A quote that names none is looked for in all of them.
    """

    variable: str
    field: str
    owed_if: str | None = None
    several: bool = False

    def quote(self, words: str, start: int | None, field: str) -> dict[str, str | int | None]:
        """Return a quote in the form that an answer has for it."""
        source = {"field": field} if self.several else {}
        return {"quote": words, "start": start, **source}

    def covers(self, field: str) -> bool:
        """Whether the text of this name may be quoted."""
        return field == self.field or (self.several and field.startswith(f"{self.field}:"))


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
    `quoted`. The points of a `verbatim` list are copied from `field`, in the order of the text.
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
    asked_if: Conditions = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class UnitSpec:
    """One unit: a kind, a stable key, and the text that is shown for it.

    For a unit that joins a report and a passage, `of` has the fields of both texts. They cannot be
    read from the key, since the ids may contain a slash.
    """

    kind: str
    key: str
    text: str
    of: tuple[str, ...] = ()


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


Needs = Literal["questions", "passages", "key_points", "reports"]


@dataclass(frozen=True)
class Protocol:
    """One annotation task.

    `make_items(query, variables)` returns the items of a query with every unit that may be asked. A
    campaign's sampling may ask fewer. `needs` are the parts of the material that it reads. Unless
    the campaign's options say otherwise, `sampled` protocols ask a seeded sample of the units of
    each item, and `shuffled` protocols show the units in a random order, recorded for each rater.
    `readings` are protocols of the same name that ask about other points, by the value of the
    option `points`. `earlier` are the declarations of earlier versions. A campaign keeps the
    declaration under which it was created. `sections` maps headings of the guideline to the
    variables that the section is about, unless the heading is a variable's question. `summary` says
    in one sentence what people do, and `lacks` says why a batch with all `needs` may still give no
    items.
    """

    name: str
    version: str
    title: str
    variables: tuple[Variable, ...]
    make_items: Callable[[material.Query, Sequence[Variable]], Iterable[ItemSpec]]
    needs: tuple[Needs, ...]
    evidence: Evidence | None = None
    written: WrittenText | None = None
    listed: PointList | None = None
    sampled: bool = False
    shuffled: bool = False
    folder: Path = Path(__file__).parent
    sections: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    own_guideline: str = ""
    reading: str = ""
    readings: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    earlier: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    summary: str = ""
    lacks: str = ""

    @property
    def slug(self) -> str:
        """The name, followed by that of the reading, if any. It is unique among all readings."""
        return f"{self.name}-{self.reading}" if self.reading else self.name

    def read_as(self, points: str) -> Protocol:
        """Return the reading for the option `points`. Raises KeyError if there is none."""
        return self.readings[points] if points else self

    def as_of(self, version: str) -> Protocol:
        """Return the declaration of a version: this one, unless an earlier one differs."""
        return self.earlier.get(version, self)

    @property
    def guideline(self) -> str:
        """The campaign's own guideline, if it has one, or the protocol's."""
        return self.own_guideline or (self.folder / "guideline.md").read_text("utf-8")

    def guideline_in(self, language: str) -> str:
        """Return the guideline as people read it in a language, if there is a translation.

        A campaign's own guideline is not translated, and judges read the original.
        """
        translated = self.folder / f"guideline.{language}.md"
        if self.own_guideline or not translated.exists():
            return self.guideline
        return translated.read_text("utf-8")

    @property
    def prompt(self) -> str:
        return self._versioned_prompt[1]

    @property
    def prompt_name(self) -> str:
        """The slug of the protocol that the prompt belongs to, or `shared`."""
        return self.slug if self._prompt_folder == self.folder else SHARED_PROMPT

    @property
    def prompt_version(self) -> str:
        """The version in the prompt's file, or an empty string."""
        return self._versioned_prompt[0]

    @property
    def _prompt_folder(self) -> Path:
        own = (self.folder / "prompt.md").exists()
        return self.folder if own else Path(__file__).parent

    @property
    def _versioned_prompt(self) -> tuple[str, str]:
        text = (self._prompt_folder / "prompt.md").read_text("utf-8")
        first, _, rest = text.partition("\n")
        if not first.startswith("version:"):
            return "", text
        return first.removeprefix("version:").strip(), rest.lstrip("\n")


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
