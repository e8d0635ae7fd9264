"""The labels of one variable by unit, as columns, from each person and each judge.

A table of 100,000 units is filtered and counted in some milliseconds, and only the units that a
page shows become objects.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
from django.db.models import QuerySet

from analysis.campaigns.frames import campaign_strata
from annotation.adjudication.disputes import counted_labels
from annotation.exposure.detection import exposed_labels
from annotation.models import Campaign, Item, Label, Rater, Unit
from annotation.presentation import schema
from datasets.work.guard import for_workers
from judging.floor import get_floor
from tandem.labels.grades import KEY, grade_of
from tandem.labels.selection import OWN_STRATA
from tandem.statistics import Bools, Floats, Ints

NONE = -1
"""The code of a unit without a value."""
ANY = "*"
"""The filter value for units with any value, such as any grade."""


@dataclass(slots=True)
class Votes:
    """Raters' labels of a unit. `position` is the item's and the unit's in the campaign.

    `escapes` are answers outside the categories, which do not count in a majority.
    """

    unit: int
    position: tuple[int, int]
    query: int
    system: str
    escapes: frozenset[str] = frozenset()
    people: dict[str, str] = field(default_factory=dict)
    judges: dict[str, str] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def majority(self) -> str | None:
        """The most frequent category of people, None without one or on a tie."""
        given = (value for value in self.people.values() if value not in self.escapes)
        most = Counter(given).most_common(2)
        if not most or (len(most) == 2 and most[0][1] == most[1][1]):
            return None
        return most[0][0]

    @property
    def dissent(self) -> float:
        """The share of people whose label is not the most frequent one; 0 if all agree."""
        if not self.people:
            return 0.0
        most = Counter(self.people.values()).most_common(1)[0][1]
        return 1 - most / len(self.people)


@dataclass(frozen=True)
class Stratum:
    """The value of each unit in a stratum, such as its report's length, as an index of `names`."""

    names: tuple[str, ...]
    values: Ints


@dataclass(frozen=True)
class VoteTable:
    """The units (U,) of a variable that anybody labelled, in the campaign's order, and labels (L,).

    `units` and `queries` are primary keys, and `decided` is 1 if an adjudicator decided for a
    category, 0 for an escape, and -1 without a decision. For each label `at` is the index of its
    unit, `raters` and `codes` those of its rater and value, `versions` that of the guideline that
    the answer followed, and `grades` that of the judge's own grade, or -1. Escapes are answers that
    are no category, and so no part of a majority. The first `people` raters are people. `baseline`
    has what word overlap says of each unit, as an index of `baseline_codes` or -1; it is empty
    unless it was asked for.
    """

    units: Ints
    queries: Ints
    decided: Ints
    at: Ints
    raters: Ints
    codes: Ints
    versions: Ints
    scores: Floats
    values: tuple[str, ...]
    escapes: frozenset[str]
    names: tuple[str, ...]
    people: int
    guidelines: tuple[str, ...]
    strata: Mapping[str, Stratum]
    grades: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    own_grades: tuple[str, ...] = ()
    baseline: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    baseline_codes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.units)

    @property
    def judges(self) -> tuple[str, ...]:
        return self.names[self.people :]

    @cached_property
    def categories(self) -> Bools:
        """Which of the values are categories, (K,)."""
        return np.array([value not in self.escapes for value in self.values], bool)

    @cached_property
    def majority(self) -> Ints:
        """People's most frequent category of each unit, (U,); -1 without one or on a tie."""
        counts = self._by_people
        if not counts.size:
            return np.full(len(self), NONE, np.int64)
        most = counts.max(axis=1)
        alone = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
        return np.where(alone, counts.argmax(axis=1), NONE).astype(np.int64)

    @cached_property
    def number_of_people(self) -> Ints:
        return np.bincount(self.at[self.raters < self.people], minlength=len(self))

    @cached_property
    def dissent(self) -> Floats:
        """The share of people whose label is not the most frequent one, (U,); 0 without any."""
        counts = self._counts(by_people=True)
        most = counts.max(axis=1, initial=0)
        share: Floats = 1 - most / np.maximum(self.number_of_people, 1)
        return np.where(self.number_of_people > 0, share, 0.0)

    @cached_property
    def has_people(self) -> Bools:
        """Whether a person gave a category, (U,)."""
        return np.asarray((self._by_people > 0).any(axis=1), bool)

    @cached_property
    def _by_people(self) -> Ints:
        """Count people's labels of each unit by category, (U, K)."""
        return np.where(self.categories, self._counts(by_people=True), 0)

    @cached_property
    def has_several(self) -> Bools:
        """Whether two people gave a category, (U,)."""
        return np.asarray(self._by_people.sum(axis=1) > 1, bool)

    @cached_property
    def people_differ(self) -> Bools:
        return self._differ(by_people=True)

    @cached_property
    def judges_differ(self) -> Bools:
        return self._differ(by_people=False)

    def codes_by(self, rater: str) -> Ints:
        """Return the code of each unit by one rater, (U,), -1 without a label or for an escape."""
        found = self.answers_by(rater)
        given = found >= 0
        found[given] = np.where(self.categories[found[given]], found[given], NONE)
        return found

    def answers_by(self, rater: str) -> Ints:
        """Return the code of each unit by one rater, (U,), -1 without a label; with escapes."""
        found = np.full(len(self), NONE, np.int64)
        if rater in self.names:
            own = self.raters == self.names.index(rater)
            found[self.at[own]] = self.codes[own]
        return found

    def given(self, code: str) -> Bools:
        """Return which units got a code or an escape from any person, (U,)."""
        if code not in self.values:
            return np.zeros(len(self), bool)
        return np.asarray(self._counts(by_people=True)[:, self.values.index(code)] > 0, bool)

    def graded(self, judge: str, grade: str) -> Bools:
        """Return which units got a grade from a judge, (U,); any grade for `ANY`."""
        found = np.zeros(len(self), bool)
        if judge in self.names and self.own_grades:
            own = (self.raters == self.names.index(judge)) & (self.grades >= 0)
            if grade != ANY:
                number = self.own_grades.index(grade) if grade in self.own_grades else NONE - 1
                own &= self.grades == number
            found[self.at[own]] = True
        return found

    def by_baseline(self, code: str) -> Bools:
        """Return the units on which word overlap says a code, (U,); any if it is `ANY`."""
        if not self.baseline.size or code not in (ANY, *self.baseline_codes):
            return np.zeros(len(self), bool)
        said = self.baseline
        found = said >= 0 if code == ANY else said == self.baseline_codes.index(code)
        return np.asarray(found, bool)

    def scores_by(self, rater: str) -> Floats:
        found = np.full(len(self), np.nan)
        if rater in self.names:
            own = self.raters == self.names.index(rater)
            found[self.at[own]] = self.scores[own]
        return found

    def under(self, guideline: str) -> Bools:
        """Return the units that a person labelled under a version of the guideline, (U,)."""
        found = np.zeros(len(self), bool)
        if guideline in self.guidelines:
            own = self.versions == self.guidelines.index(guideline)
            found[self.at[own & (self.raters < self.people)]] = True
        return found

    def within(self, stratum: str, value: str) -> Bools:
        """Return the units of one value of a stratum, (U,)."""
        of = self.strata.get(stratum)
        if of is None or value not in of.names:
            return np.zeros(len(self), bool)
        return np.asarray(of.values == of.names.index(value), bool)

    def value_in(self, stratum: str, index: int) -> str:
        """Return a unit's value in a stratum, empty without one."""
        of = self.strata.get(stratum)
        return of.names[of.values[index]] if of is not None and of.values[index] >= 0 else ""

    def names_of(self, units: Ints) -> list[str]:
        """Return the names of the raters who labelled any of the units at these indices."""
        there = np.zeros(len(self), bool)
        there[units] = True
        return sorted(self.names[n] for n in np.unique(self.raters[there[self.at]]))

    def votes(self, index: int) -> Votes:
        """Return raters' labels of the unit at an index."""
        found = Votes(
            int(self.units[index]),
            (0, index),
            int(self.queries[index]),
            self.value_in("system", index),
            self.escapes,
        )
        first, last = np.searchsorted(self.at, (index, index + 1))
        for label in range(first, last):
            rater, value = self.names[self.raters[label]], self.values[self.codes[label]]
            if self.raters[label] < self.people:
                found.people[rater] = value
                continue
            found.judges[rater] = value
            if np.isfinite(self.scores[label]):
                found.scores[rater] = float(self.scores[label])
        return found

    def as_bytes(self) -> bytes:
        """Return the table as an NPZ archive, without pickled objects."""
        rest = {
            "values": self.values,
            "escapes": sorted(self.escapes),
            "names": self.names,
            "people": self.people,
            "guidelines": self.guidelines,
            "own_grades": self.own_grades,
            "baseline_codes": self.baseline_codes,
            "strata": {name: of.names for name, of in self.strata.items()},
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"stratum {name}": of.values for name, of in self.strata.items()}
        text = json.dumps(rest, ensure_ascii=False).encode("utf-8", "surrogatepass")
        file = io.BytesIO()
        np.savez(file, rest=np.frombuffer(text, np.uint8), **arrays)
        return file.getvalue()

    @classmethod
    def from_file(cls, file: BinaryIO) -> VoteTable:
        with np.load(file) as found:
            rest: dict[str, Any] = json.loads(found["rest"].tobytes())
            strata = {
                name: Stratum(tuple(names), found[f"stratum {name}"])
                for name, names in rest["strata"].items()
            }
            return cls(
                **{name: found[name] for name in _ARRAYS},
                values=tuple(rest["values"]),
                escapes=frozenset(rest["escapes"]),
                names=tuple(rest["names"]),
                people=rest["people"],
                guidelines=tuple(rest["guidelines"]),
                own_grades=tuple(rest["own_grades"]),
                baseline_codes=tuple(rest["baseline_codes"]),
                strata=strata,
            )

    def _counts(self, by_people: bool) -> Ints:
        """Count the labels of each unit by value, (U, K)."""
        own = (self.raters < self.people) == by_people
        k = len(self.values)
        flat = np.bincount(self.at[own] * k + self.codes[own], minlength=len(self) * k)
        return flat.reshape(len(self), k)

    def _differ(self, by_people: bool) -> Bools:
        """Return where two labels of one kind of rater are different categories, (U,)."""
        given = (self._counts(by_people) > 0) & self.categories
        return np.asarray(given.sum(axis=1) > 1, bool)


_ARRAYS = tuple(each.name for each in fields(VoteTable) if each.type in ("Ints", "Bools", "Floats"))


@for_workers
def votes_of(campaign: Campaign, variable: str, baseline: bool = False) -> VoteTable:
    """Return the units of a variable that anybody labelled, in the campaign's order.

    As in the report, this leaves out excluded raters, replicates, labels given with a judge's label
    in view, and labels whose rater had seen other labels of the unit.
    With `baseline`, the table also has what word overlap says.
    """
    labels = counted_labels(campaign).filter(variable=variable)
    exposed = exposed_labels(labels)
    rows = labels.values_list(
        "pk", "unit_id", "response__assignment__rater_id", "value", "score", "response__basis"
    )
    units, raters, values = _Index(), _Index(), _Index()
    versions, columns = _Index(), ([], [], [], [], [], [])  # type: ignore[var-annotated]
    own_grades, graded = _Index(), _grades(labels)
    for pk, unit, rater, value, score, basis in rows.iterator(chunk_size=5000):
        if pk in exposed:
            continue
        guideline = (basis or "").rpartition("-")[2]
        grade = graded.get(pk)
        numbers = (
            *(units.of(unit), raters.of(rater), values.of(value), versions.of(guideline)),
            NONE if grade is None else own_grades.of(grade),
        )
        for column, each in zip(columns, (*numbers, score), strict=True):
            column.append(each)
    facts = _UnitFacts.of(campaign, list(units), variable)
    people, names, order = _raters(list(raters))
    at = facts.places[np.array(columns[0], np.int64)]
    by = order[np.array(columns[1], np.int64)]
    sort = np.lexsort((by, at))
    said = _by_overlap(campaign, variable, facts.units) if baseline else {}
    codes = sorted(set(said.values()))
    of = [codes.index(said[unit]) if unit in said else NONE for unit in facts.units.tolist()]
    return VoteTable(
        facts.units,
        facts.queries,
        facts.decided,
        at[sort],
        by[sort],
        np.array(columns[2], np.int64)[sort],
        np.array(columns[3], np.int64)[sort],
        np.array(columns[5], float)[sort],
        tuple(values),
        escapes_of(campaign, variable),
        names,
        people,
        tuple(versions),
        facts.strata,
        np.array(columns[4], np.int64)[sort],
        tuple(own_grades),
        np.array(of if baseline else (), np.int64),
        tuple(codes),
    )


def _by_overlap(campaign: Campaign, variable: str, units: Ints) -> dict[int, str]:
    """Return the baseline's code of each unit, by primary key."""
    said = get_floor(campaign).codes.get(variable, {})
    rows = Unit.objects.filter(item__campaign=campaign).order_by()
    places = rows.values_list("pk", "item__key", "kind", "key").iterator(chunk_size=5000)
    wanted = set(units.tolist())
    found = ((pk, said.get((item, kind, key))) for pk, item, kind, key in places if pk in wanted)
    return {pk: code for pk, code in found if code is not None}


def _grades(labels: QuerySet[Label]) -> dict[int, str]:
    """Return judges' own grades by the primary key of the label."""
    graded = labels.filter(response__assignment__rater__kind=Rater.Kind.JUDGE, meta__has_key=KEY)
    rows = graded.values_list("pk", "meta").iterator(chunk_size=5000)
    return {pk: grade for pk, meta in rows if (grade := grade_of(meta))}


def _decisions(campaign: Campaign, variable: str) -> dict[int, int]:
    """Return 1 for each unit that was decided for a category, and 0 for an escape."""
    rows = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater__kind=Rater.Kind.REFERENCE,
        variable=variable,
    ).order_by()
    escapes = escapes_of(campaign, variable)
    given = rows.exclude(value="").values_list("unit", "value").iterator(chunk_size=5000)
    return {unit: int(value not in escapes) for unit, value in given}


class _Index(dict[Any, int]):
    """Numbers values from 0 in order of first appearance."""

    def of(self, thing: Any) -> int:
        return self.setdefault(thing, len(self))


@dataclass(frozen=True)
class _UnitFacts:
    """The units' columns in the campaign's order.

    `places` (U,) has the position of each given unit.
    """

    units: Ints
    queries: Ints
    decided: Ints
    places: Ints
    strata: dict[str, Stratum]

    @classmethod
    def of(cls, campaign: Campaign, given: Sequence[int], variable: str) -> _UnitFacts:
        columns = ("pk", "position", "key", "query_id", *(f"report__{name}" for name in OWN_STRATA))
        rows = Item.objects.filter(campaign=campaign).order_by().values_list(*columns)
        items = {pk: rest for pk, *rest in rows}
        found = Unit.objects.filter(item__campaign=campaign).order_by()
        placed = {
            pk: (items[item][0], position, item)
            for pk, item, position in found.values_list("pk", "item_id", "position")
        }
        order = sorted(range(len(given)), key=lambda n: placed[given[n]])
        places = np.empty(len(given), np.int64)
        places[order] = np.arange(len(given))
        units = [given[n] for n in order]
        of_units = [items[placed[unit][2]] for unit in units]
        decided = _decisions(campaign, variable)
        strata = {
            name: _stratum([row[3 + n] for row in of_units]) for n, name in enumerate(OWN_STRATA)
        }
        strata |= {
            name: _stratum([of.get(row[1]) for row in of_units])
            for name, of in campaign_strata(campaign).items()
        }
        return cls(
            np.array(units, np.int64),
            np.array([row[2] for row in of_units], np.int64),
            np.array([decided.get(unit, NONE) for unit in units], np.int64),
            places,
            strata,
        )


def _stratum(values: Sequence[str | None]) -> Stratum:
    names = tuple(dict.fromkeys(value for value in values if value))
    number = {name: n for n, name in enumerate(names)}
    return Stratum(names, np.array([number.get(value or "", NONE) for value in values], np.int64))


def _raters(keys: Sequence[int]) -> tuple[int, tuple[str, ...], Ints]:
    """Return the number of people, all names (people first), and each key's position among them."""
    known = {
        pk: (kind != Rater.Kind.HUMAN, name)
        for pk, kind, name in Rater.objects.filter(pk__in=keys).values_list("pk", "kind", "name")
    }
    order = sorted(range(len(keys)), key=lambda n: known[keys[n]])
    places = np.empty(len(keys), np.int64)
    places[order] = np.arange(len(keys))
    people = sum(not is_judge for is_judge, _ in known.values())
    return people, tuple(known[keys[n]][1] for n in order), places


def escapes_of(campaign: Campaign, variable: str) -> frozenset[str]:
    """Return the answers of a variable that are not a category."""
    asked = schema(campaign).variables
    return frozenset(code for v in asked if v.name == variable for code in v.escapes)
