"""One label as analysis takes it, its scale, and the marked evidence behind it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple, Protocol

import numpy as np

from ..statistics import Bools, Floats, Ints, Level


class LabelFact(NamedTuple):
    """One label, or one missing label, with the facts of its unit."""

    item: str
    unit: str
    kind: str
    variable: str
    value: str | None
    missing: str | None
    rater: str
    rater_kind: str
    replicate: int
    query: str
    system: str | None
    setting: str | None
    assisted_by: str | None
    score: float | None = None


@dataclass(frozen=True)
class Inputs:
    """Which labels a report was made of: how many, how many are missing, and their digest.

    `sha256` is of one line a label, missing ones too: its members in the order of `LabelFact` as a
    JSON array, the lines sorted and each ended by a line feed. The order of labels changes nothing.
    """

    labels: int
    missing: int
    sha256: str

    @classmethod
    def of(cls, facts: Iterable[LabelFact]) -> Inputs:
        every = list(facts)
        labels = sum(fact.value is not None for fact in every)
        text = "\n".join([*sorted(_lines(every)), ""])
        return cls(labels, len(every) - labels, sha256(text.encode("utf-8")).hexdigest())


def _lines(facts: list[LabelFact]) -> list[str]:
    """Each as a JSON array. All are encoded at once, in which a line feed is never a text's own."""
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(", \n", ": "))
    arrays = encoder.encode(facts)[1:-1].replace("], \n[", "]\n[").replace(", \n", ", ")
    return arrays.split("\n") if facts else []


@dataclass(frozen=True)
class Scale:
    """What is measured: categories in order of rank, escapes, and the level of measurement.

    `foreign` categories are used by judges alone: they are wrong answers, and no part of k.
    """

    categories: tuple[str, ...]
    level: Level
    escapes: tuple[str, ...] = ()
    foreign: frozenset[str] = frozenset()

    def values(self) -> Floats:
        """The number of each category: itself where all are numbers, else its rank."""
        numbers = [number_of(category) for category in self.categories]
        if None in numbers:
            return np.arange(len(self.categories), dtype=float)
        return np.array(numbers, dtype=float)

    def own(self) -> Bools:
        """Which categories are the protocol's or the people's own."""
        return np.array([c not in self.foreign for c in self.categories], dtype=bool)


class Coded(Protocol):
    """A variable of a protocol, as far as its scale goes."""

    @property
    def codes(self) -> tuple[str, ...]: ...

    @property
    def level(self) -> Level: ...

    @property
    def escapes(self) -> tuple[str, ...]: ...


def scale_of(variable: Coded) -> Scale:
    """The scale of a protocol's variable."""
    return Scale(variable.codes, variable.level, variable.escapes)


NO_TEXTS = "a labels file has no texts in which the lexical rule could look for words"


@dataclass(frozen=True)
class FloorCodes:
    """What the lexical rule says of the units of a variable: codes (U,), -1 where it says nothing.

    Without `codes` a `reason` stands in their place. It is no rater, and stands among none.
    """

    codes: Ints | None = None
    reason: str = NO_TEXTS

    def only(self, units: Ints) -> FloorCodes:
        """The same for some of the units."""
        return self if self.codes is None else FloorCodes(self.codes[units], "")


def number_of(text: str) -> float | None:
    """The finite number that a text writes, if it writes one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class Place(NamedTuple):
    """Whose label of what: the unit by its item, kind and key."""

    item: str
    kind: str
    unit: str
    variable: str
    rater: str


class Mark(NamedTuple):
    """A range of the text `field` in code points; without ends where its quote stands nowhere."""

    field: str
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Marks:
    """Spans by label, of the judgement that stands for its rater; `texts` by item and field.

    `fields` are the texts in which evidence for a variable belongs, where a protocol says so.
    """

    spans: Mapping[Place, tuple[Mark, ...]] = field(default_factory=dict)
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
