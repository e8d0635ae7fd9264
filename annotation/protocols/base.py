"""What a protocol is made of: variables, evidence, units, items. Data, not behaviour.

A protocol is one folder: its declaration in `__init__.py`, `guideline.md` for people and judges,
and `prompt.md` if the generic prompt does not serve. It knows neither Django nor any model. The
first line of a prompt file is its version, `version: 2`; the prompt itself begins after it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from annotation.protocols import material

Payload = dict[str, Any]

Level = Literal["nominal", "ordinal", "interval"]
Conditions = Mapping[str, tuple[str, ...]]
"""Variables of the same unit, and the codes of each that let the condition hold."""

YES_NO = ("yes", "no")
SHARED_PROMPT = "shared"


@dataclass(frozen=True)
class Variable:
    """One measured quantity of one kind of unit.

    `codes` in order of rank; `escapes` are legitimate answers that are no category. `words` are
    what people read for a code, where the code itself does not read well, `meanings` a sentence for
    it where it is chosen. `optional` variables are asked only by campaigns that name them.
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
        return self.codes + self.escapes


@dataclass(frozen=True)
class Evidence:
    """Quotes of the text `field` for `variable`, owed where that has the code `owed_if`.

    Where items show `several` texts of the kind, such as `passage:ID`, a quote may name its own;
    one that names none is looked for in all of them.
    """

    variable: str
    field: str
    owed_if: str | None = None
    several: bool = False

    def quote(self, words: str, start: int | None, field: str) -> dict[str, str | int | None]:
        """A quote as it stands in an answer."""
        placed = {"field": field} if self.several else {}
        return {"quote": words, "start": start, **placed}

    def covers(self, field: str) -> bool:
        """Whether a text of this name is one that may be quoted."""
        return field == self.field or (self.several and field.startswith(f"{self.field}:"))


@dataclass(frozen=True)
class Written:
    """A text that the rater writes: production, not a label. It may cite passages of the item."""

    name: str
    kind: str
    question: str
    asked_if: Conditions = field(default_factory=dict)


@dataclass(frozen=True)
class Listed:
    """Points that the rater writes, each with quotes of the text `field`: production, not a label.

    They belong to the unit of `kind`. Units of `match_kind`, if there are such, are matched to them
    afterwards: where `match` has the code `match_code`, `matches` holds the numbers of such points,
    from 1. Points that are not `quoted` owe no quote; `verbatim` ones are words of `field`
    itself, in its order.
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
    """What gets a value: a kind and a stable key, and the words that are shown for it.

    `of` are the fields of an answer and of a passage where it joins these: their ids may hold a
    slash, so that keys are not parted.
    """

    kind: str
    key: str
    text: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Text:
    """A text on show. Spans refer to it by `field`; `facts` are named details beside it.

    `suggested` are quotes of it that the batch brought along; they may be wrong, and say so.
    """

    field: str
    text: str
    heading: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    suggested: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemSpec:
    """What a rater sees at once. `report`, `passage` and `key_point` name what it is about."""

    key: str
    units: tuple[UnitSpec, ...]
    texts: tuple[Text, ...]
    report: str | None = None
    passage: str | None = None
    key_point: str | None = None
    system: str | None = None
    setting: str | None = None


Needs = Literal["questions", "passages", "key_points", "reports"]


@dataclass(frozen=True)
class Protocol:
    """One annotation task.

    `make_items(query, variables)` gives the items of a query with every unit that may be asked;
    a campaign's sampling may ask fewer. `needs` are the parts of the material that it reads.
    Unless told otherwise, `drawn` protocols ask a seeded draw of the units of each item, and
    `shuffled` ones show them in a random order, recorded for each rater. `readings` are what the
    option `points` makes of it: protocols of the same name, which ask of other points. `earlier`
    are the declarations of versions before, by version: a campaign keeps that under which it was
    made.
    """

    name: str
    version: str
    title: str
    variables: tuple[Variable, ...]
    make_items: Callable[[material.Query, Sequence[Variable]], Iterable[ItemSpec]]
    needs: tuple[Needs, ...]
    evidence: Evidence | None = None
    written: Written | None = None
    listed: Listed | None = None
    drawn: bool = False
    shuffled: bool = False
    folder: Path = Path(__file__).parent
    own_guideline: str = ""
    reading: str = ""
    readings: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    earlier: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)

    @property
    def slug(self) -> str:
        """Its name, with that of the reading if it is one: no two readings share it."""
        return f"{self.name}-{self.reading}" if self.reading else self.name

    def read_as(self, points: str) -> Protocol:
        """The reading that the option `points` asks for. Raises KeyError for one that is not."""
        return self.readings[points] if points else self

    def as_of(self, version: str) -> Protocol:
        """The declaration of a version; this one, where what it declares is no other since."""
        return self.earlier.get(version, self)

    @property
    def guideline(self) -> str:
        """A campaign's own text where it has one, else the protocol's."""
        return self.own_guideline or (self.folder / "guideline.md").read_text("utf-8")

    @property
    def prompt(self) -> str:
        return self._versioned_prompt[1]

    @property
    def prompt_name(self) -> str:
        """The protocol whose prompt it is, or `shared`."""
        return self.slug if self._prompt_folder == self.folder else SHARED_PROMPT

    @property
    def prompt_version(self) -> str:
        """The version in the prompt's file, empty where none is given."""
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


def name_units(units: Iterable[UnitSpec]) -> dict[str, UnitSpec]:
    """Units by their name in a response: the key, or `kind:key` where two kinds share one.

    A key that reads like such a name is prefixed too, so that no two units are called the same.
    """
    units = list(units)
    keys = Counter(unit.key for unit in units)
    prefixed = {f"{unit.kind}:{unit.key}" for unit in units}
    plain = {key for key, count in keys.items() if count == 1 and key not in prefixed}
    return {u.key if u.key in plain else f"{u.kind}:{u.key}": u for u in units}


def kinds_of(variables: Iterable[Variable]) -> set[str]:
    return {variable.kind for variable in variables}
