"""The frame: labels as columns, from which every statistic takes its labels, and their splits.

A frame knows each rater's kind, because people are compared with each other first and judges with
them afterwards. Nothing is pooled.

Queries on which a prompt was tuned say nothing about the judge on other queries, and audit queries
are set aside. Agreement among people uses all of their labels.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..statistics import Bools, Floats, Ints
from ..types import JSON
from .backgrounds import Question
from .categories import coded_scale
from .exposed import Assisted, AssistedKey, Exposed, ExposedLabels
from .facts import Evidence, FloorCodes, Inputs, LabelFact, Scale
from .selection import ReportOptions, Strata

Texts = NDArray[np.object_]


class Warning(NamedTuple):
    """A warning about a `variable` and a `rater`, or about neither."""

    code: str
    variable: str | None
    rater: str | None
    text: str


@dataclass(frozen=True)
class RaterFacts:
    """A rater of the frame: answered items, labels, and the reason if the rater is excluded."""

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


class Guideline(NamedTuple):
    """A version of a campaign's guideline, None if it is the protocol's own, and its digest."""

    version: int | None
    digest: str


class EscapeOrMissing(NamedTuple):
    """An answer outside the categories: an escape, or a missing label with its reason."""

    unit: int
    rater: str
    is_missing: bool
    what: str


@dataclass(frozen=True)
class VariableFrame:
    """The labels of one variable: `codes` (U, R) in the order of `raters`, -1 = no category.

    `scores` (U, R) are judges' probabilities of yes or expected ratings, NaN without one.
    `probabilities` (U, K) has, by column, those that a judge gave to each category, and `readings`
    (U,) the steps by which its answers were read, empty where they were read unchanged.
    `grades` (U,) are its labels on its own scale, before its file mapped them to codes.
    `guidelines` (U,) are those of a rater's labels, as indices into the frame's; -1 = unknown.
    `own` (U,) are the codes of all sentences of the unit's text as the judge split it, joined by
    blanks; empty if it named the units of the text.
    """

    name: str
    scale: Scale
    units: UnitFacts
    raters: tuple[RaterFacts, ...]
    codes: Ints
    scores: Floats
    asides: tuple[EscapeOrMissing, ...]
    floor: FloorCodes = field(default_factory=FloorCodes)
    probabilities: Mapping[int, Floats] = field(default_factory=dict)
    readings: Mapping[int, Texts] = field(default_factory=dict)
    grades: Mapping[int, Texts] = field(default_factory=dict)
    guidelines: Mapping[int, Ints] = field(default_factory=dict)
    own: Mapping[int, Texts] = field(default_factory=dict)

    @property
    def escapes(self) -> dict[str, int]:
        """Count people's escapes, including those of the scale that were never used."""
        people = {r.name for r in self.raters if r.kind == "human" and r.excluded is None}
        used = Counter(a.what for a in self.asides if not a.is_missing and a.rater in people)
        return {e: used[e] for e in (*self.scale.escapes, *sorted(set(used)))}

    def aside(self, rater: str, is_missing: bool) -> dict[str, int]:
        """Count one rater's escapes, or the reasons of the rater's missing labels."""
        found = (a.what for a in self.asides if (a.rater, a.is_missing) == (rater, is_missing))
        return dict(Counter(found))

    def columns(self, kind: str) -> list[int]:
        """Return the columns of the raters of one kind that are not excluded."""
        return [n for n, r in enumerate(self.raters) if r.kind == kind and r.excluded is None]

    def codes_of(self, kind: str) -> Ints:
        return self.codes[:, self.columns(kind)]

    def without_foreign(self) -> VariableFrame:
        """Return the frame without the categories, and their labels, that only judges used."""
        own = self.scale.own()
        # The last element is for -1, no category.
        place = np.append(np.where(own, np.cumsum(own) - 1, -1), -1)
        categories = tuple(c for c in self.scale.categories if c not in self.scale.foreign)
        scale = replace(self.scale, categories=categories, foreign=frozenset())
        shares = {column: of[:, own] for column, of in self.probabilities.items()}
        floor = self.floor.codes
        return replace(
            self,
            scale=scale,
            codes=place[self.codes],
            probabilities=shares,
            floor=self.floor if floor is None else FloorCodes(place[floor], ""),
        )

    def only(self, units: Ints) -> VariableFrame:
        """Return the part for some of the units."""
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
            self.scores[units],
            tuple(a._replace(unit=kept[a.unit]) for a in self.asides if a.unit in kept),
            self.floor.only(units),
            {column: shares[units] for column, shares in self.probabilities.items()},
            {column: steps[units] for column, steps in self.readings.items()},
            {column: grades[units] for column, grades in self.grades.items()},
            {column: versions[units] for column, versions in self.guidelines.items()},
            {column: codes[units] for column, codes in self.own.items()},
        )


@dataclass(frozen=True)
class ItemFacts:
    """An item: its key, query and system."""

    key: str
    query: str
    system: str | None
    setting: str | None


@dataclass(frozen=True)
class Families:
    """The model families of answers (by item with a single answer, and by id) and of judges.

    An item may show several answers; its units then say which one they are about.
    """

    items: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)

    def of(self, item: str, kind: str, unit: str) -> str:
        """Return the family of the answer that a unit is about, empty if none or unknown."""
        if kind == "report":
            return self.answers.get(unit, "")
        if kind == "sentence":
            unit = unit.rpartition("#")[0]
            return self.answers.get(unit) or self.items.get(item, "")
        if kind == "report-passage":
            # Ids may contain the slash that separates them.
            ends = [n for n, letter in enumerate(unit) if letter == "/"]
            named = (unit[:end] for end in ends)
            return next((self.answers[name] for name in named if name in self.answers), "")
        return self.items.get(item, "")

    def is_about(self, item: str, kind: str, unit: str, family: str, other: bool = False) -> bool:
        """Whether a unit is about an answer of `family`, or of any known family if that is empty.

        With `other`, it is whether the answer is of another known family. A pair is about a family
        if exactly one of its answers is, and the family of the other answer is known.
        """
        if kind == "pair":
            both = self.of_pair(unit)
            return not other and all(both) and sum(each == family for each in both) == 1
        found = self.of(item, kind, unit)
        return bool(found) and (not family or (found == family) != other)

    def of_pair(self, unit: str) -> tuple[str, str]:
        """Return the families of a pair's two answers, each empty if it is unknown."""
        cuts = (n for n, letter in enumerate(unit) if letter == "/")
        halves = [(unit[:cut], unit[cut + 1 :]) for cut in cuts]
        known = [half for half in halves if half[0] in self.answers or half[1] in self.answers]
        # Ids may contain the slash that separates them, so try each slash.
        best = max(known, key=lambda half: sum(h in self.answers for h in half), default=("", ""))
        return self.answers.get(best[0], ""), self.answers.get(best[1], "")


@dataclass(frozen=True)
class Frame:
    """The selected labels of a campaign or a file; `strata` are values by stratum and item.

    `inputs` describes all of its labels, selected or not. `backgrounds` are people's answers to
    background questions, if the report was asked for them. `guidelines` are the versions of the
    guideline that people answered under, in their order, if there is more than one. `warnings` are
    those about how the labels were read.
    """

    raters: tuple[RaterFacts, ...]
    items: tuple[ItemFacts, ...]
    variables: Mapping[str, VariableFrame]
    queries: int
    assisted: tuple[Assisted, ...] = ()
    exposed: ExposedLabels = field(default_factory=ExposedLabels)
    strata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=lambda: Inputs.from_facts(()))
    evidence: Evidence = field(default_factory=Evidence)
    families: Families = field(default_factory=Families)
    backgrounds: tuple[Question, ...] = ()
    guidelines: tuple[Guideline, ...] = ()
    warnings: tuple[Warning, ...] = ()


@dataclass
class _Columns:
    """The labels of one variable, collected one by one.

    `facts` holds the first label of each unit, and `first` each rater's first label by unit.
    """

    units: dict[tuple[str, str, str], int] = field(default_factory=dict)
    facts: list[LabelFact] = field(default_factory=list)
    first: dict[str, dict[int, LabelFact]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, fact: LabelFact) -> None:
        key = (fact.item, fact.kind, fact.unit)
        unit = self.units.setdefault(key, len(self.facts))
        if unit == len(self.facts):
            self.facts.append(fact)
        # Repeated judgements are not additional raters. The first one represents the rater even if
        # it is missing, since a later one would be selected for having an answer.
        first = self.first[fact.rater]
        if fact.replicate < first.setdefault(unit, fact).replicate:
            first[unit] = fact

    def verdict(self, fact: LabelFact) -> str | None:
        """Return the assisting judge's own label of the unit."""
        unit = self.units.get((fact.item, fact.kind, fact.unit), -1)
        first = self.first.get(fact.assisted_by or "", {}).get(unit)
        return first.value if first else None


def make_frame(
    facts: Iterable[LabelFact],
    scales: Mapping[str, Scale],
    excluded: Mapping[str, str] | None = None,
    verdicts: Mapping[AssistedKey, str] | None = None,
    with_assisted: bool = False,
    with_exposed: bool = False,
) -> Frame:
    """Build the frame of labels.

    Variables without a scale in `scales` are nominal. Their categories are those that people used,
    or all if no person labelled. Labels given with a judge's label in view are left out, unless
    `with_assisted`. They are compared with that judge's labels, from these facts or from
    `verdicts`. Labels whose rater could see others' labels of the unit are left out, unless
    `with_exposed`.
    """
    columns: dict[str, _Columns] = defaultdict(_Columns)
    items: dict[str, ItemFacts] = {}
    people: dict[str, str] = {}
    seen: list[LabelFact] = []
    marked: list[Exposed] = []
    unknown = 0
    for fact in facts:
        if fact.assisted_by:
            seen.append(fact)
            if not with_assisted:
                continue
        if fact.exposed and fact.value:
            marked.append(Exposed(fact.rater, fact.item, fact.variable))
            if not with_exposed:
                continue
        unknown += fact.exposed is None and fact.rater_kind == "human" and fact.value is not None
        columns[fact.variable].add(fact)
        if fact.item not in items:
            items[fact.item] = ItemFacts(fact.item, fact.query, fact.system, fact.setting)
        people.setdefault(fact.rater, fact.rater_kind)
    raters = tuple(_raters(people, columns, excluded or {}))
    numbers = {key: n for n, key in enumerate(items)}
    # Sorted by name, so that the order of the labels does not affect the resamples.
    named = {fact.query for found in columns.values() for fact in found.facts}
    queries = {q: n for n, q in enumerate(sorted(named | {i.query for i in items.values()}))}
    frames = {
        name: _variable(name, found, scales.get(name), raters, numbers, queries)
        for name, found in columns.items()
    }
    counted = [fact for fact in seen if fact.value and fact.rater not in (excluded or {})]
    assisted = tuple(_assisted_label(fact, columns, verdicts or {}) for fact in counted)
    kept = tuple(each for each in marked if each.rater not in (excluded or {}))
    marks = ExposedLabels(kept, unknown)
    return Frame(raters, tuple(items.values()), frames, len(queries), assisted, marks)


def _assisted_label(
    fact: LabelFact, columns: Mapping[str, _Columns], verdicts: Mapping[AssistedKey, str]
) -> Assisted:
    by = fact.assisted_by or ""
    here = columns[fact.variable].verdict(fact) if fact.variable in columns else None
    place = (by, fact.item, fact.kind, fact.unit, fact.variable)
    verdict = here or verdicts.get(place)
    return Assisted(fact.variable, fact.rater, by, fact.value or "", verdict, fact.query)


def _raters(
    kinds: Mapping[str, str], columns: Mapping[str, _Columns], excluded: Mapping[str, str]
) -> Iterator[RaterFacts]:
    """Yield the raters by name, counting only the first of repeated labels."""
    items: dict[str, set[str]] = defaultdict(set)
    labels: Counter[str] = Counter()
    for found in columns.values():
        for rater, first in found.first.items():
            given = [each.item for each in first.values() if each.value is not None]
            items[rater].update(given)
            labels[rater] += len(given)
    for name in sorted(kinds):
        yield RaterFacts(name, kinds[name], len(items[name]), labels[name], excluded.get(name))


def _variable(
    name: str,
    found: _Columns,
    scale: Scale | None,
    raters: Sequence[RaterFacts],
    items: Mapping[str, int],
    queries: Mapping[str, int],
) -> VariableFrame:
    people = {r.name for r in raters if r.kind == "human"}
    used = {
        (rater in people, value)
        for rater, first in found.first.items()
        for value in {each.value for each in first.values()}
        if value is not None
    }
    scale, code = coded_scale(scale or Scale((), "nominal"), used)
    column = {r.name: n for n, r in enumerate(raters)}
    codes = np.full((len(found.facts), len(raters)), -1, dtype=np.int64)
    scores = np.full(codes.shape, np.nan)
    asides: list[EscapeOrMissing] = []
    for rater, facts in found.first.items():
        own_codes, own_scores = codes[:, column[rater]], scores[:, column[rater]]
        for unit, first in facts.items():
            if first.score is not None:
                own_scores[unit] = first.score
            if first.value is None:
                asides.append(EscapeOrMissing(unit, rater, True, first.missing or "error"))
            elif first.value in code:
                own_codes[unit] = code[first.value]
            else:
                asides.append(EscapeOrMissing(unit, rater, False, first.value))
    units = _unit_facts(found.facts, items, queries)
    return VariableFrame(name, scale, units, tuple(raters), codes, scores, tuple(asides))


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


def selected_frame(
    facts: list[LabelFact],
    options: ReportOptions,
    strata: Strata,
    scales: Mapping[str, Scale],
    verdicts: dict[AssistedKey, str] | None = None,
    out: Mapping[str, str] | None = None,
) -> Frame:
    """Return the frame of the selected labels. Its `inputs` count all labels."""
    kept = options.select(facts, strata)
    frame = make_frame(kept, scales, out, verdicts, options.assisted, options.exposed)
    return replace(frame, strata=strata, inputs=Inputs.from_facts(facts))


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the search for reference cycles while many lasting objects are created.

    Each search visits all existing objects, which takes a tenth of a report's time. The pause
    affects the whole process. If two threads are in this block, the first to leave ends it.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


STRATUM = "role"
ROLES = DEVELOPMENT, EVALUATION, AUDIT = "development", "evaluation", "audit"
"""The splits of queries, by the names that campaigns store."""


def evaluation_items(strata: Strata, options: ReportOptions) -> Collection[str] | None:
    """Return the items on which judges and people may be compared; None for all.

    If the options select a split, it is used instead.
    """
    roles = strata.get(STRATUM)
    if not roles or any(name == STRATUM for name, _ in options.strata):
        return None
    return {item for item, role in roles.items() if role == EVALUATION}


def item_mask(items: Sequence[str], evaluated: Collection[str]) -> Bools:
    return np.array([item in evaluated for item in items], dtype=bool)


def splits_as_json(strata: Strata, comparable: Collection[str] | None) -> JSON | None:
    """Return the items of each split, and those used in comparisons; None with a single split."""
    roles = strata.get(STRATUM)
    if not roles:
        return None
    counts = Counter(roles.values())
    return {
        **{name: counts[name] for name in ROLES},
        "compared": "chosen" if comparable is None else EVALUATION,
    }
