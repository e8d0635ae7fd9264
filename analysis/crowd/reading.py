"""The newest labels of a campaign's people as arrays, one for each variable.

Only the newest are read, so that a look at a large campaign takes no longer than at a middle one;
the report is of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.statistics import Ints
from annotation.models import Campaign, Item, Label, Rater

NEWEST = 50_000
_COLUMNS = (
    "pk",
    "unit_id",
    "variable",
    "value",
    "response__assignment__rater_id",
    "response__assignment__item__query_id",
)


class _Row(NamedTuple):
    label: int
    unit: int
    variable: str
    value: str
    rater: int
    query: int


@dataclass(frozen=True)
class Said:
    """What people said of one variable: `codes` (U, R) are places in `values`, -1 for no answer;
    `labels` (U, R) the labels' keys, 0 for none; `queries` (U,) clusters; `raters` keys."""

    variable: str
    values: Sequence[str]
    raters: Sequence[int]
    queries: Ints
    codes: Ints
    labels: Ints

    def recoded(self, categories: Sequence[str]) -> Ints:
        """The codes as places in other categories, (U, R); -1 for what is none of them."""
        place = {category: n for n, category in enumerate(categories)}
        table = np.array([*(place.get(value, -1) for value in self.values), -1], dtype=np.int64)
        found: Ints = table[self.codes]
        return found


@dataclass(frozen=True)
class Newest:
    """The newest labels by variable; `is_part` where there are more than were read."""

    labels: int
    is_part: bool
    variables: Mapping[str, Said]


def newest_labels(campaign: Campaign, most: int = NEWEST) -> Newest:
    """Current labels of study items that people gave by themselves: with no suggestion in view."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
        response__assignment__rater__kind=Rater.Kind.HUMAN,
        response__assignment__replicate=0,
        response__assignment__assisted_by="",
    )
    rows = [_Row(*row) for row in labels.order_by("-pk").values_list(*_COLUMNS)[: most + 1]]
    of: dict[str, list[_Row]] = {}
    for row in reversed(rows[:most]):
        of.setdefault(row.variable, []).append(row)
    said = {variable: _said(variable, each) for variable, each in of.items()}
    return Newest(min(len(rows), most), len(rows) > most, said)


def _said(variable: str, rows: Sequence[_Row]) -> Said:
    units = {unit: n for n, unit in enumerate(dict.fromkeys(row.unit for row in rows))}
    raters = {rater: n for n, rater in enumerate(sorted({row.rater for row in rows}))}
    values = {value: n for n, value in enumerate(sorted({row.value for row in rows}))}
    codes = np.full((len(units), len(raters)), -1, dtype=np.int64)
    labels = np.zeros(codes.shape, dtype=np.int64)
    queries = np.zeros(len(units), dtype=np.int64)
    for row in rows:
        place = units[row.unit], raters[row.rater]
        codes[place], labels[place] = values[row.value], row.label
        queries[place[0]] = row.query
    return Said(variable, list(values), list(raters), queries, codes, labels)
