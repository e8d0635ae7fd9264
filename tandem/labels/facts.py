"""A label as the analysis reads it, its scale of measurement, and its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Literal, NamedTuple, Protocol

import numpy as np

from ..protocols.base import split_codes
from ..statistics import ORDERED, Bools, Floats, Ints, Level

LARGEST = 1e70
"""The largest number of a label: from about 1e77 on, products of squares are infinite."""
Distances = Literal["numbers", "ranks"]
NO_TEXTS = "a labels file has no texts in which the lexical rule could look for words"


class LabelFact(NamedTuple):
    """One label, or one missing label, with the facts of its unit.

    `exposed` says whether its rater could see others' labels of the unit beforehand, or is None if
    that is unknown.
    """

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
    exposed: bool | None = None


DIGEST_FIELDS = LabelFact._fields[:-1]
"""The members of a label in the digest. Exposed labels have one more, `true`."""


@dataclass(frozen=True)
class Inputs:
    """The labels that a report was created from: their number, the missing ones, and a digest.

    `sha256` is taken over one line per label, including missing ones: the members in the order of
    `LabelFact` as a JSON array, sorted, each ended by a line feed. `exposed` is among them only
    where it is true. The digest does not depend on the order of the labels.
    """

    labels: int
    missing: int
    sha256: str

    @classmethod
    def from_facts(cls, facts: Iterable[LabelFact]) -> Inputs:
        every = list(facts)
        labels = sum(fact.value is not None for fact in every)
        text = "\n".join([*sorted(_lines(every)), ""])
        return cls(labels, len(every) - labels, sha256(text.encode("utf-8")).hexdigest())


def _lines(facts: list[LabelFact]) -> list[str]:
    """Encode each label as a JSON array. JSON escapes line feeds within texts."""
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(", \n", ": "))
    rows = [fact if fact.exposed else fact[:-1] for fact in facts]
    arrays = encoder.encode(rows)[1:-1].replace("], \n[", "]\n[").replace(", \n", ", ")
    return arrays.split("\n") if facts else []


@dataclass(frozen=True)
class Scale:
    """A scale of measurement: categories in order of rank, escapes, and the level.

    Only judges use `foreign` categories: they are wrong answers, and not part of k. If a scale is
    not `declared`, its categories are the values that occur.

    At level set, the categories are the sets that occur, as JSON lists of the `single` codes in
    their order. Every set of codes is a proper answer, so that none is foreign.
    """

    categories: tuple[str, ...]
    level: Level
    escapes: tuple[str, ...] = ()
    foreign: frozenset[str] = frozenset()
    declared: bool = False
    single: tuple[str, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether categories have an order, and so a distance in ranks or numbers."""
        return self.level in ORDERED

    @property
    def distances(self) -> Distances:
        """What the distance of two categories is: that of their numbers if all own are numbers."""
        own = (category for category in self.categories if category not in self.foreign)
        return "ranks" if None in map(number_of, own) else "numbers"

    def values(self) -> Floats:
        """Return the value of each category, whose differences are the distances of categories.

        On the scale that was declared, or else on the values that occur, this is the category's
        number if all are numbers, and otherwise its rank. A foreign word among numbers comes after
        the largest.
        """
        if self.distances == "ranks" or not self.categories:
            return np.arange(len(self.categories), dtype=float)
        numbers = [number_of(category) for category in self.categories]
        beyond = count(max((n for n in numbers if n is not None), default=0.0) + 1)
        return np.array([next(beyond) if n is None else n for n in numbers], dtype=float)

    def members(self) -> Floats:
        """Return which single codes are in each category, at level set (K, M)."""
        sets = [split_codes(category) or frozenset() for category in self.categories]
        table = [[code in codes for code in self.single] for codes in sets]
        return np.array(table, float).reshape(len(sets), len(self.single))

    def compared_values(self) -> Floats | None:
        """Return what coefficients compare: `members` of sets, or else `values`, if any."""
        if not self.categories:
            return None
        return self.members() if self.level == "set" else self.values()

    def own(self) -> Bools:
        """Return which categories come from the protocol or from people."""
        return np.array([c not in self.foreign for c in self.categories], dtype=bool)


class CodedVariable(Protocol):
    """The parts of a protocol's variable that make up its scale."""

    @property
    def codes(self) -> tuple[str, ...]: ...

    @property
    def level(self) -> Level: ...

    @property
    def escapes(self) -> tuple[str, ...]: ...

    @property
    def several(self) -> bool: ...


def scale_of(variable: CodedVariable) -> Scale:
    """Return the scale of a protocol's variable."""
    if variable.several:
        return Scale((), "set", variable.escapes, declared=True, single=variable.codes)
    return Scale(variable.codes, variable.level, variable.escapes)


@dataclass(frozen=True)
class FloorCodes:
    """The labels of the baseline (the lexical rule) for the units: codes (U,), -1 without a label.

    If there are no `codes`, `reason` says why. The baseline is not a rater and is not listed as
    one.
    """

    codes: Ints | None = None
    reason: str = NO_TEXTS

    def only(self, units: Ints) -> FloorCodes:
        """Return the part for some of the units."""
        return self if self.codes is None else FloorCodes(self.codes[units], "")


def number_of(text: str) -> float | None:
    """Parse a number from a text. Return None if it is none or beyond `LARGEST`."""
    try:
        number = float(text)
    except ValueError:
        return None
    # Python reads 1_0 as ten, which no data file intends.
    return number if abs(number) <= LARGEST and "_" not in text else None


class LabelKey(NamedTuple):
    """The rater and the unit of a label, by its item, kind and key."""

    item: str
    kind: str
    unit: str
    variable: str
    rater: str


class EvidenceSpan(NamedTuple):
    """A range of the text `field` in code points. Its ends are None if the quote was not found."""

    field: str
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Evidence:
    """Spans by label, from each rater's first judgement; `texts` by item and field.

    `fields` are the texts in which evidence for a variable belongs, if a protocol says so. `owed`
    are the variables of which codes require evidence, with these codes. `misfits` are, by variable
    and rater, the spans of a file whose length is not that of their words in code points.
    """

    spans: Mapping[LabelKey, tuple[EvidenceSpan, ...]] = field(default_factory=dict)
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    owed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    misfits: Mapping[tuple[str, str], int] = field(default_factory=dict)
