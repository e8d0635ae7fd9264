"""The frame of labels read by columns: what `make_frame` makes, without a row at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.choices import OWN_STRATA
from analysis.columns import Labels, combined
from analysis.frames import (
    Aside,
    Frame,
    ItemFacts,
    RaterFacts,
    Scale,
    UnitFacts,
    VariableFrame,
    whole_scale,
)
from analysis.statistics import Ints
from analysis.statistics.arrays import distinct
from annotation.imports.columns import Codes


def frame_of(labels: Labels, places: Ints, scales: Mapping[str, Scale]) -> Frame:
    """The frame of the labels at some places."""
    first = _first(labels.codes["item"][places])
    columns = (labels.texts(name, places[first]) for name in ("item", "query", *OWN_STRATA))
    items = tuple(ItemFacts(str(i), str(q), s, t) for i, q, s, t in zip(*columns, strict=True))
    numbers = np.full(len(labels.values["item"]), -1, np.int64)
    numbers[labels.codes["item"][places[first]]] = np.arange(len(first))
    of = {
        name: places[labels.codes["variable"][places] == code]
        for code, name in _variables(labels, places)
    }
    units = [each[_first(_units(labels, each))] for each in of.values()]
    named = {str(text) for each in units for text in labels.texts("query", each)}
    names = sorted({item.query for item in items} | named)
    query = {name: n for n, name in enumerate(names)}
    by_query = np.array([query.get(text, -1) for text in labels.values["query"]], np.int64)
    said = {name: _said(labels, each) for name, each in of.items()}
    raters = tuple(_raters(labels, places, list(said.values())))
    frames = {
        name: _variable(labels, name, places, scales.get(name), raters, numbers, by_query)
        for name, places in said.items()
    }
    return Frame(raters, items, frames, len(names))


def _first(codes: Ints | Codes) -> Ints:
    """Where each different number first stands, in that order."""
    return np.sort(distinct(codes.astype(np.int64))[1])


def _variables(labels: Labels, places: Ints) -> Iterator[tuple[int, str]]:
    codes = labels.codes["variable"][places]
    return ((int(codes[n]), labels.values["variable"][codes[n]]) for n in _first(codes))


def _units(labels: Labels, places: Ints) -> Ints:
    """The unit of each place, numbered as they first stand."""
    units = combined(*(labels.codes[name][places] for name in ("item", "kind", "unit")))
    order = np.argsort(distinct(units)[1], kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    found: Ints = number[units]
    return found


def _said(labels: Labels, places: Ints) -> Ints:
    """Of repeated judgements of a unit by a rater the first, in the order of units and raters."""
    replicate = labels.replicate[places]
    if not replicate.any():
        return places
    label = combined(_units(labels, places), labels.codes["rater"][places])
    order = np.lexsort((np.arange(len(places)), replicate, label))
    kept = order[np.diff(label[order], prepend=-1) != 0]
    _, first, which = distinct(label)
    found: Ints = places[kept[np.argsort(first[which[kept]], kind="stable")]]
    return found


def _raters(labels: Labels, places: Ints, said: Sequence[Ints]) -> Iterator[RaterFacts]:
    kinds, size = labels.kinds(), len(labels.values["rater"])
    given = np.concatenate([np.zeros(0, np.int64), *said])
    given = given[labels.codes["value"][given] >= 0]
    rater = labels.codes["rater"][given].astype(np.int64)
    item = labels.codes["item"][given]
    counts = np.bincount(rater, minlength=size)
    pairs = np.unique(rater * len(labels.values["item"]) + item)
    responses = np.bincount(pairs // max(1, len(labels.values["item"])), minlength=size)
    there = np.unique(labels.codes["rater"][places]).tolist()
    for n in sorted(there, key=labels.values["rater"].__getitem__):
        name = labels.values["rater"][n]
        yield RaterFacts(name, kinds[name], int(responses[n]), int(counts[n]))


def _variable(
    labels: Labels,
    name: str,
    places: Ints,
    scale: Scale | None,
    raters: Sequence[RaterFacts],
    items: Ints,
    queries: Ints,
) -> VariableFrame:
    by = {name: of[places] for name, of in labels.codes.items()}
    people = _is_human(labels, by)
    values = labels.values["value"]
    used = {
        (bool(people[n]), values[by["value"][n]])
        for n in _first(by["value"] * 2 + people)
        if by["value"][n] >= 0
    }
    scale = whole_scale(scale or Scale((), "nominal"), used)
    unit = _units(labels, places)
    first = places[_first(unit)]
    column = {r.name: n for n, r in enumerate(raters)}
    rater = np.array([column.get(r, -1) for r in labels.values["rater"]], np.int64)[by["rater"]]
    code = {category: n for n, category in enumerate(scale.categories)}
    table = np.array([*(code.get(value, -1) for value in values), -1], np.int64)
    codes = np.full((len(first), len(raters)), -1, dtype=np.int64)
    scores = np.full(codes.shape, np.nan)
    codes[unit, rater], scores[unit, rater] = table[by["value"]], labels.score[places]
    facts = UnitFacts(
        tuple(zip(*(labels.texts(n, first) for n in ("item", "kind", "unit")), strict=True)),
        queries[labels.codes["query"][first]],
        items[labels.codes["item"][first]],
        tuple(labels.texts("system", first)),
        tuple(labels.texts("setting", first)),
    )
    aside = np.flatnonzero(codes[unit, rater] < 0)
    # By rater, and by unit as they first stand.
    _, begins, which = distinct(by["rater"].astype(np.int64))
    turn = np.argsort(begins[which][aside], kind="stable")
    asides = tuple(_asides(labels, places, unit, aside[turn]))
    return VariableFrame(name, scale, facts, tuple(raters), codes, scores, asides)


def _is_human(labels: Labels, by: Mapping[str, Codes]) -> Ints:
    human = np.array([kind == "human" for kind in labels.values["rater_kind"]], np.int64)
    found: Ints = human[by["rater_kind"]]
    return found


def _asides(labels: Labels, places: Ints, unit: Ints, aside: Ints) -> Iterator[Aside]:
    texts = (labels.texts(name, places[aside]) for name in ("rater", "value", "missing"))
    for n, rater, value, missing in zip(unit[aside].tolist(), *texts, strict=True):
        yield Aside(n, str(rater), value is None, str(missing if value is None else value))
