"""Labels as columns: the only way from labels, stored or in a file, to the statistics.

A frame knows raters by kind, because people are compared among themselves first and judges are
then held against them; nothing is pooled.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from analysis.statistics import Bools, Floats, Ints, Level


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
    assisted: bool


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


def number_of(text: str) -> float | None:
    """The finite number that a text writes, if it writes one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class RaterFacts:
    """A rater of the frame: answered items, labels, and why it is left out, if it is."""

    name: str
    kind: str
    responses: int
    labels: int
    excluded: str | None = None


@dataclass(frozen=True)
class UnitFacts:
    """Facts of the units of one variable, all (U,): `query` and `item` are numbers from 0."""

    names: tuple[tuple[str, str, str], ...]
    query: Ints
    item: Ints
    system: tuple[str | None, ...]
    setting: tuple[str | None, ...]


class Aside(NamedTuple):
    """An answer that is no category: an escape, or a missing label with its reason."""

    unit: int
    rater: str
    is_missing: bool
    what: str


@dataclass(frozen=True)
class VariableFrame:
    """The labels of one variable: `codes` (U, R) in the order of `raters`, -1 = no category."""

    name: str
    scale: Scale
    units: UnitFacts
    raters: tuple[RaterFacts, ...]
    codes: Ints
    asides: tuple[Aside, ...]

    @property
    def escapes(self) -> dict[str, int]:
        """How often people gave each escape; those of the scale stand there even unused."""
        people = {r.name for r in self.raters if r.kind == "human" and r.excluded is None}
        used = Counter(a.what for a in self.asides if not a.is_missing and a.rater in people)
        return {e: used[e] for e in (*self.scale.escapes, *sorted(set(used)))}

    def aside(self, rater: str, is_missing: bool) -> dict[str, int]:
        """How often one rater gave each escape, or was missing for each reason."""
        found = (a.what for a in self.asides if (a.rater, a.is_missing) == (rater, is_missing))
        return dict(Counter(found))

    def columns(self, kind: str) -> list[int]:
        """The columns of the raters of one kind that count."""
        return [n for n, r in enumerate(self.raters) if r.kind == kind and r.excluded is None]

    def of(self, kind: str) -> Ints:
        return self.codes[:, self.columns(kind)]

    def only(self, units: Ints) -> VariableFrame:
        """The same for some of the units."""
        kept = {int(unit): n for n, unit in enumerate(units)}
        facts = UnitFacts(
            tuple(self.units.names[n] for n in units),
            self.units.query[units],
            self.units.item[units],
            tuple(self.units.system[n] for n in units),
            tuple(self.units.setting[n] for n in units),
        )
        return VariableFrame(
            self.name,
            self.scale,
            facts,
            self.raters,
            self.codes[units],
            tuple(a._replace(unit=kept[a.unit]) for a in self.asides if a.unit in kept),
        )


@dataclass(frozen=True)
class ItemFacts:
    """An item by its number: key, query and system."""

    key: str
    query: str
    system: str | None
    setting: str | None


@dataclass(frozen=True)
class Frame:
    """All labels of a campaign or a file."""

    raters: tuple[RaterFacts, ...]
    items: tuple[ItemFacts, ...]
    variables: Mapping[str, VariableFrame]
    queries: int
    assisted: int = 0


@dataclass
class _Columns:
    """The labels of one variable while they come in."""

    units: dict[tuple[str, str, str], int] = field(default_factory=dict)
    facts: list[LabelFact] = field(default_factory=list)
    values: dict[tuple[int, str], tuple[int, str]] = field(default_factory=dict)
    missing: list[Aside] = field(default_factory=list)

    def add(self, fact: LabelFact) -> None:
        key = (fact.item, fact.kind, fact.unit)
        unit = self.units.setdefault(key, len(self.units))
        if unit == len(self.facts):
            self.facts.append(fact)
        if fact.value is None:
            self.missing.append(Aside(unit, fact.rater, True, fact.missing or "error"))
            return
        # Repeated judgements are not more raters: the first one stands for the rater.
        before = self.values.get((unit, fact.rater))
        if before is None or fact.replicate < before[0]:
            self.values[unit, fact.rater] = (fact.replicate, fact.value)


def make_frame(
    facts: Iterable[LabelFact],
    scales: Mapping[str, Scale],
    excluded: Mapping[str, str] | None = None,
) -> Frame:
    """The frame of labels. `scales` may lack variables: their categories are those that people
    used, or all where no person labelled, and they are nominal. Labels that were made with a
    suggestion in view are counted and left out.
    """
    columns: dict[str, _Columns] = defaultdict(_Columns)
    items: dict[str, ItemFacts] = {}
    people: dict[str, _Person] = {}
    assisted = 0
    for fact in facts:
        if fact.assisted:
            assisted += 1
            continue
        columns[fact.variable].add(fact)
        items.setdefault(fact.item, ItemFacts(fact.item, fact.query, fact.system, fact.setting))
        people.setdefault(fact.rater, _Person(fact.rater_kind)).add(fact)
    raters = tuple(people[n].facts(n, (excluded or {}).get(n)) for n in sorted(people))
    numbers = {key: n for n, key in enumerate(items)}
    # By name, so that the same labels in another order get the same resamples.
    queries = {q: n for n, q in enumerate(sorted({i.query for i in items.values()}))}
    frames = {
        name: _variable(name, found, scales.get(name), raters, numbers, queries)
        for name, found in columns.items()
    }
    return Frame(raters, tuple(items.values()), frames, len(queries), assisted)


@dataclass
class _Person:
    kind: str
    items: set[tuple[str, int]] = field(default_factory=set)
    labels: int = 0

    def add(self, fact: LabelFact) -> None:
        if fact.value is not None:
            self.items.add((fact.item, fact.replicate))
            self.labels += 1

    def facts(self, name: str, excluded: str | None) -> RaterFacts:
        return RaterFacts(name, self.kind, len(self.items), self.labels, excluded)


def _variable(
    name: str,
    found: _Columns,
    scale: Scale | None,
    raters: Sequence[RaterFacts],
    items: Mapping[str, int],
    queries: Mapping[str, int],
) -> VariableFrame:
    scale = _whole_scale(scale or Scale((), "nominal"), found, raters)
    column = {r.name: n for n, r in enumerate(raters)}
    code = {category: n for n, category in enumerate(scale.categories)}
    codes = np.full((len(found.facts), len(raters)), -1, dtype=np.int64)
    asides = list(found.missing)
    for (unit, rater), (_, value) in found.values.items():
        if value in code:
            codes[unit, column[rater]] = code[value]
        else:
            asides.append(Aside(unit, rater, False, value))
    units = _unit_facts(found.facts, items, queries)
    return VariableFrame(name, scale, units, tuple(raters), codes, tuple(asides))


def _unit_facts(
    facts: Sequence[LabelFact], items: Mapping[str, int], queries: Mapping[str, int]
) -> UnitFacts:
    return UnitFacts(
        tuple((f.item, f.kind, f.unit) for f in facts),
        np.array([queries[f.query] for f in facts], dtype=np.int64),
        np.array([items[f.item] for f in facts], dtype=np.int64),
        tuple(f.system for f in facts),
        tuple(f.setting for f in facts),
    )


def _whole_scale(scale: Scale, found: _Columns, raters: Sequence[RaterFacts]) -> Scale:
    """A scale with every category in use: its own, what people added, what judges alone gave."""
    people = {r.name for r in raters if r.kind == "human"}
    known = {*scale.categories, *scale.escapes}
    used = {(rater in people, value) for (_, rater), (_, value) in found.values.items()}
    added = {value for by_people, value in used if by_people} - known
    rest = {value for _, value in used} - known - added
    if not known and not added:
        added, rest = rest, set()
    categories = _ranked(scale.categories, added | rest)
    return replace(scale, categories=categories, foreign=frozenset(rest))


def _ranked(declared: tuple[str, ...], others: set[str]) -> tuple[str, ...]:
    """Declared categories as they are and others behind them; all numbers in their order."""
    every = [*declared, *sorted(others)]
    if others and all(number_of(category) is not None for category in every):
        every.sort(key=float)
    return tuple(every)
