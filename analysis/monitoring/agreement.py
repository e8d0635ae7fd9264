"""Live agreement of each person with the others, and of the others with each other.

Both use the same coefficients, over all pairs of labels of a unit. Only the newest labels of a
campaign are read, so that a large campaign takes no longer than a medium one. The report uses all
labels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from annotation.exposure.detection import exposed_labels
from annotation.models import Campaign, Item, Label, Rater
from tandem.grouping import grouped
from tandem.labels.resampling import MAX_CATEGORIES, TOO_MANY
from tandem.statistics import (
    KAPPA,
    WEIGHTED,
    Estimate,
    Floats,
    Ints,
    Scale,
    counts_of,
    mean_by_cluster,
)
from tandem.statistics.estimate import SHARE, defined, undefined

NEWEST = 50_000
_COLUMNS = (
    "pk",
    "unit_id",
    "variable",
    "value",
    "response__assignment__rater_id",
    "response__assignment__item__query_id",
)
PERCENT = "share of the others' labels of a unit that are equal, mean over units"
NOBODY, ALONE = "no other person has labelled these units", "the person gave no label of a category"
ONE_CATEGORY = "all labels are the same category"
NO_OTHERS = "no unit has labels from two other people"


class _Row(NamedTuple):
    label: int
    unit: int
    variable: str
    value: str
    rater: int
    query: int


@dataclass(frozen=True)
class VariableLabels:
    """People's labels of one variable.

    `codes` (U, R) are indices into `values`, -1 without an answer. `labels` (U, R) are the labels'
    keys, 0 for none. `queries` (U,) are the clusters, `units` (U,) the units' keys, and `raters`
    the raters' keys. Several units are called `noun`.
    """

    variable: str
    values: Sequence[str]
    raters: Sequence[int]
    queries: Ints
    codes: Ints
    labels: Ints
    units: Ints
    noun: str = "units"

    def recoded(self, categories: Sequence[str]) -> Ints:
        """Return the codes as indices into other categories, (U, R); -1 if not among them."""
        place = {category: n for n, category in enumerate(categories)}
        table = np.array([*(place.get(value, -1) for value in self.values), -1], dtype=np.int64)
        found: Ints = table[self.codes]
        return found


@dataclass(frozen=True)
class Newest:
    """The newest labels by variable; `is_part` if there are more than were read.

    `exposed` counts the labels left out because their rater could see others' labels of the unit.
    """

    labels: int
    is_part: bool
    variables: Mapping[str, VariableLabels]
    exposed: int = 0


def newest_labels(campaign: Campaign, most: int = NEWEST) -> Newest:
    """Return current labels of study items that people gave without seeing others' labels."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
        response__assignment__rater__kind=Rater.Kind.HUMAN,
        response__assignment__replicate=0,
        response__assignment__assisted_by="",
    )
    marked = exposed_labels(labels)
    rows = [
        _Row(*row)
        for row in labels.order_by("-pk").values_list(*_COLUMNS)[: most + 1 + len(marked)]
        if row[0] not in marked
    ][: most + 1]
    of = grouped((row.variable, row) for row in reversed(rows[:most]))
    table = {variable: _variable_labels(variable, each) for variable, each in of.items()}
    return Newest(min(len(rows), most), len(rows) > most, table, len(marked))


def _variable_labels(variable: str, rows: Sequence[_Row]) -> VariableLabels:
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
    keys = np.array(list(units), dtype=np.int64)
    return VariableLabels(variable, list(values), list(raters), queries, codes, labels, keys)


@dataclass(frozen=True)
class WithOthers:
    """A person's agreement with the others on `units` that both labelled.

    `percent` is the share of equal labels, and `others` the kappa of the others with each other.
    """

    rater: int
    units: int
    percent: Estimate
    kappa: Estimate
    others: Estimate

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> WithOthers:
        estimates = {name: Estimate(**found[name]) for name in ("percent", "kappa", "others")}
        return cls(found["rater"], found["units"], **estimates)


def with_others(
    raters: Sequence[int],
    codes: Ints,
    clusters: Ints,
    k: int,
    values: Floats | None,
    out: Collection[int] = (),
) -> list[WithOthers]:
    """Compare each of `raters` (R,) with the others; `codes` (U, R) of k categories, -1 = none.

    `values` (K,) are the numbers of the categories if they have an order. Raters in `out` are
    compared, but are not among the others.
    """
    counted = np.array([rater not in out for rater in raters], dtype=bool)
    every = counts_of(codes[:, counted], k)
    found = []
    for column, rater in enumerate(raters):
        own = codes[:, column]
        rest = every - counts_of(own[:, None], k) if counted[column] else every
        found.append(_one(rater, own, rest, clusters, k, values))
    return found


def _one(
    rater: int, own: Ints, rest: Ints, clusters: Ints, k: int, values: Floats | None
) -> WithOthers:
    both = np.flatnonzero((own >= 0) & (rest.sum(axis=1) > 0))
    shares = rest[both, own[both]] / rest[both].sum(axis=1)
    why = NOBODY if (own >= 0).any() else ALONE
    percent = (
        mean_by_cluster(shares, clusters[both], PERCENT, SHARE)
        if len(both)
        else undefined(why, 0, PERCENT)
    )
    table = np.zeros((k, k))
    np.add.at(table, own[both], rest[both])
    kappa = _kappa(table, len(both), values, why)
    paired = rest[rest.sum(axis=1) >= 2].astype(float)
    # Each pair of two others counts in both orders, so that the table is symmetric.
    among = paired.T @ paired - np.diag(paired.sum(axis=0))
    others = _kappa(among, len(paired), values, NO_OTHERS)
    return WithOthers(rater, len(both), percent, kappa, others)


def _kappa(table: Floats, units: int, values: Floats | None, why: str) -> Estimate:
    kappa = KAPPA if values is None else WEIGHTED
    method = f"{kappa.method}{',' if ',' in kappa.method else ''} over all pairs"
    if not units:
        return undefined(why, 0, method)
    if len(table) > MAX_CATEGORIES:
        return undefined(TOO_MANY, units, method)
    value = kappa.compute(table, Scale(len(table), values=values))
    if not np.isfinite(value):
        return undefined(ONE_CATEGORY, units, method)
    return defined(float(value), None, units, method)
