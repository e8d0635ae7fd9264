"""A list of disagreements: the units that match its filters, for the page, the file and actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np

from analysis.campaigns.frames import families_of_answers
from analysis.disagreements.actions import tagged_units
from analysis.disagreements.choose import (
    ORDERED,
    QUICK,
    SHOWS,
    SORTS,
    WITH_CELL,
    Choice,
    Show,
    cells,
    choose_units,
    matching,
)
from analysis.disagreements.votes import ANY, VoteTable
from analysis.models import UnitTag
from annotation.models import Campaign, Unit
from annotation.presentation import schema
from datasets.models import Query
from datasets.text import number_in
from tandem.labels.categories import categories_of
from tandem.labels.metadata import in_order
from tandem.labels.selection import OWN_STRATA, read_stratum
from tandem.statistics import Bools

FILTER_HELP: Mapping[str, str] = {
    "show": "which units: differ, judge, people, judges, all, or another list of the page",
    "variable": "the variable whose labels differ",
    "judge": "the judge that people are compared with",
    "system": "only units of this system",
    "query": "only units of the query with this number",
    "slice": "only units of one slice of the report, such as length:short",
    "guideline": "only units that people labelled under the version with this digest",
    "one": "only units that this rater labelled",
    "other": "only units that this rater labelled, too",
    "label": "only units with this label from the one rater, or without a rater from any person",
    "people": "only units with this label from most people",
    "said": "only units with this label from the judge",
    "score": "only units whose score from the judge is within this range, such as 0.25:0.5",
    "grade": "only units with this grade of the judge’s own, or with any if it is *",
    "baseline": "only units with this label from word overlap, the baseline, or any if it is *",
    "family": "only units about answers of this model family, of any (*) or of others (!name)",
    "tag": "only units with this tag",
    "find": "only units with these words in the query or the unit’s id",
    "sort": "the order: unanimous, sure, query or order",
}
"""The parts of an address, each with its meaning; `people` and `said` are the codes of a cell."""
MOST_QUERIES = 200
MOST_CODES = 25
"""The most codes of which each has a row, whether it was given or not."""


@dataclass(frozen=True)
class FamilyFilter:
    """A model family of answers, any if the name is empty, or every `other` one."""

    name: str
    other: bool


@dataclass(frozen=True)
class QuickList:
    """A list that one click opens: its name, its number of units, and its address."""

    name: str
    number: int
    query: str
    is_shown: bool


class UnitList:
    """The units that match the filters (`found`, indices of the table), and the filter options."""

    def __init__(
        self, given: Mapping[str, str], campaign: Campaign, variable: str, table: VoteTable
    ) -> None:
        self.campaign, self.variable, self.table = campaign, variable, table
        self.given = {name: (given.get(name) or "").strip() for name in FILTER_HELP}
        self.variables = [each.name for each in schema(campaign).variables]
        self.word = partial(schema(campaign).word, variable)
        asked = [each for each in schema(campaign).variables if each.name == variable]
        codes = (code for each in asked for code in categories_of(each, table.values))
        self.codes = tuple(dict.fromkeys(codes))
        self.is_ordered = any(each.level != "nominal" and not each.several for each in asked)
        self.judges = list(table.judges)
        self.systems = sorted(table.strata["system"].names)
        self.choice = self._choice()
        tag = self.given["tag"]
        self.tag = tag if tag in UnitTag.Tag.values else ""
        self.among = self._among()
        self.found = choose_units(table, self.choice, self.among)

    def _choice(self) -> Choice:
        given, table = self.given, self.table
        judge = given["judge"] if given["judge"] in self.judges else next(iter(self.judges), "")
        # Whoever names a judge only asks about its own disagreements.
        show = "judge" if given["judge"] in self.judges else "differ"
        show = given["show"] if given["show"] in self.shows else show
        stratum = read_stratum(given["slice"]) if given["slice"] else None
        pair = (given["one"], given["other"])
        return Choice(
            show,  # type: ignore[arg-type]  # checked above
            judge,
            given["system"] if given["system"] in self.systems else "",
            number_in(given["query"]) or None,
            (given["people"], given["said"])
            if (given["people"] or given["said"]) and show in WITH_CELL
            else None,
            given["sort"] if given["sort"] in SORTS else "unanimous",  # type: ignore[arg-type]
            stratum,
            given["guideline"] if given["guideline"] in table.guidelines else "",
            pair if pair[0] != pair[1] and set(pair) <= set(table.names) else None,
            (given["one"], given["label"])
            if (given["one"] in table.names or (given["label"] and not given["one"]))
            and not given["other"]
            else None,
            self.codes,
            _range(given["score"]) if judge else None,
            given["grade"] if judge else "",
        )

    @property
    def shows(self) -> dict[str, str]:
        """The lists to choose from, in words. Above and below exist only if codes have an order."""
        return {
            name: text for name, text in SHOWS.items() if self.is_ordered or name not in ORDERED
        }

    @property
    def family(self) -> FamilyFilter:
        """The model family whose answers the list is restricted to."""
        name = self.given["family"]
        return FamilyFilter("" if name == ANY else name.removeprefix("!"), name.startswith("!"))

    def _among(self) -> Bools | None:
        """Return the units matched by a tag or by words. None without either."""
        found: Bools | None = None
        if self.tag:
            found = self._have(tagged_units(self.campaign, self.variable, self.tag))
        if words := self.given["find"]:
            queries = Query.objects.filter(batch=self.campaign.batch_id, text__icontains=words)
            named = Unit.objects.filter(item__campaign=self.campaign, key__icontains=words)
            units = set(named.order_by().values_list("pk", flat=True))
            ids = list(queries.order_by().values_list("pk", flat=True))
            hits = np.isin(self.table.queries, ids) | self._have(units)
            found = hits if found is None else found & hits
        for name, is_of in (("baseline", self.table.by_baseline), ("family", self._of_family)):
            if wanted := self.given[name]:
                hits = is_of(wanted)
                found = hits if found is None else found & hits
        return found

    def _of_family(self, wanted: str) -> Bools:
        families, asked = families_of_answers(self.campaign), self.family
        return self._placed(
            lambda item, kind, key: families.is_about(item, kind, key, asked.name, asked.other)
        )

    def _placed(self, is_of: Callable[[str, str, str], bool]) -> Bools:
        """Return the units that pass a test on the item's key, the unit's kind and its key."""
        rows = Unit.objects.filter(item__campaign=self.campaign).order_by()
        places = rows.values_list("pk", "item__key", "kind", "key").iterator(chunk_size=5000)
        return self._have({pk for pk, *place in places if is_of(*place)})

    def _have(self, units: set[int]) -> Bools:
        return np.isin(self.table.units, np.fromiter(units, np.int64, len(units)))

    @property
    def units(self) -> list[int]:
        """The primary keys of the units found, in the list's order."""
        return [int(unit) for unit in self.table.units[self.found]]

    def query(self, **changes: str) -> str:
        """Return the address's query with changes, without empty parts."""
        values = {name: text for name, text in ({**self.given, **changes}).items() if text}
        return urlencode(values)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The filters without a field on the page, which the form keeps."""
        names = ["one", "other"] if self.choice.pair else []
        names += ["one", "label"] if self.choice.by else []
        names += ["people", "said"] if self.choice.cell else []
        names += ["score"] if self.choice.score else []
        names += ["grade", "baseline", "family"]
        return [(name, self.given[name]) for name in names if self.given[name]]

    def quick(self) -> list[QuickList]:
        """Return the lists that one click opens, each with its number under the other filters.

        A list that would need a judge or a second one is left out.
        """
        needed = {"judge": 1, "judges": 2}
        return [
            QuickList(words, self._number(name), self._query_of(name), self._is_shown(name))
            for name, words in QUICK.items()
            if len(self.judges) >= needed.get(name, 0)
        ]

    def _is_shown(self, name: Show) -> bool:
        return self.choice.show == name and not self.choice.cell

    def _number(self, name: Show) -> int:
        if self._is_shown(name):
            return len(self.found)
        choice = replace(self.choice, show=name, cell=None)
        return int(matching(self.table, choice, self.among).sum())

    def _query_of(self, name: Show) -> str:
        return self.query(show=name, people="", said="")

    def active(self) -> Iterator[tuple[str, str]]:
        """Yield the filters in use, in words, each with the query of the list without it."""
        choice, given = self.choice, self.given
        if choice.show not in QUICK:
            yield self.shows[choice.show], self.query(show="", people="", said="")
        for words, names in (
            (choice.system, "system"),
            (self._query_text(), "query"),
            (given["slice"].replace(":", ": ", 1) if choice.stratum else "", "slice"),
            (dict(self.guidelines()).get(choice.guideline, ""), "guideline"),
            (UnitTag.Tag(self.tag).label.lower() if self.tag else "", "tag"),
            (f"“{given['find']}”" if given["find"] else "", "find"),
            (f"{given['one']} and {given['other']}" if choice.pair else "", "one other"),
            (self._rater_words(), "one label"),
            (self._cell_words(), "people said"),
            (self._score_words(), "score"),
            (self._grade_words(), "grade"),
            (self._says("word overlap", given["baseline"].strip(ANY), bool(given["baseline"])),
             "baseline"),
            (self._family_words(), "family"),
        ):  # fmt: skip
            if words:
                yield words, self.query(**dict.fromkeys(names.split(), ""))

    def _query_text(self) -> str:
        if self.choice.query is None:
            return ""
        found = Query.objects.filter(pk=self.choice.query, batch=self.campaign.batch_id)
        return next(iter(found.values_list("text", flat=True)), f"query {self.choice.query}")

    def _says(self, who: str, code: str, applies: bool) -> str:
        if not applies:
            return ""
        return f"{who} says {self.word(code)}" if code else f"{who} has a label"

    def _rater_words(self) -> str:
        given = self.given
        return self._says(given["one"] or "a person", given["label"], self.choice.by is not None)

    def _cell_words(self) -> str:
        if not self.choice.cell:
            return ""
        people, said = (code and self.word(code) for code in self.choice.cell)
        words = [f"people say {people}"] if people else []
        words += [f"{self.choice.judge} says {said}"] if said else []
        return ", ".join(words)

    def _score_words(self) -> str:
        if not self.choice.score:
            return ""
        low, high = (f"{end:.3f}" for end in self.choice.score)
        return f"score {low} to {high} from {self.choice.judge}"

    def _grade_words(self) -> str:
        grade = self.choice.grade
        if not grade:
            return ""
        which = "with a grade" if grade == ANY else f"grade {grade}"
        return f"{which} from {self.choice.judge}"

    def _family_words(self) -> str:
        if not self.given["family"]:
            return ""
        family = self.family
        others = "model families other than " if family.other else ""
        return f"about answers of {others}{family.name or 'a known model family'}"

    def place_of(self, unit: int) -> int | None:
        """Return a unit's index in the list, None if the list does not have it."""
        places = np.flatnonzero(self.table.units[self.found] == unit)
        return int(places[0]) if places.size else None

    def slices(self) -> list[tuple[str, list[str]]]:
        """Return the report's slices with their values, apart from systems and single values."""
        return [
            (name, in_order(sorted(of.names)))
            for name, of in self.table.strata.items()
            if name != OWN_STRATA[0] and len(of.names) > 1
        ]

    def guidelines(self) -> list[tuple[str, str]]:
        """Return digest and name of each guideline that people followed, if they are several."""
        if len(self.table.guidelines) < 2:
            return []
        rows = self.campaign.guidelines.exclude(digest="").values_list("digest", "version")
        named = {digest: f"version {version}" for digest, version in rows}
        return [
            (digest, named.get(digest, "the protocol’s own"))
            for digest in self.table.guidelines
            if digest
        ]

    def queries(self) -> list[tuple[int, str]]:
        """Return the queries, each primary key with its words; none if there are too many."""
        ids = np.unique(self.table.queries)
        if not 1 < len(ids) <= MOST_QUERIES:
            return []
        rows = Query.objects.filter(pk__in=ids.tolist()).order_by("position")
        return list(rows.values_list("pk", "text"))

    def crosstab(self) -> list[dict[str, Any]]:
        """Return the table of people's codes by the judge's codes: counts with addresses."""
        if not self.choice.judge or self.choice.show not in WITH_CELL or self.choice.pair:
            return []
        counts = cells(self.table, self.choice)
        given = {code for cell in counts for code in cell}
        # Of a long scale, and of sets of codes, only what was given has a row.
        codes = [code for code in self.codes if len(self.codes) <= MOST_CODES or code in given]
        codes += sorted(given - set(codes))
        return [
            {
                "code": people,
                "word": self.word(people),
                "cells": [
                    {
                        "code": said,
                        "word": self.word(said),
                        "number": counts.get((people, said), 0),
                        "same": people == said,
                        "here": self.choice.cell == (people, said),
                        "query": self.query(people=people, said=said, judge=self.choice.judge),
                    }
                    for said in codes
                ],
            }
            for people in codes
        ]


def _range(text: str) -> tuple[float, float] | None:
    """Read a range of scores, such as 0.25:0.5; None for anything else."""
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        return None
