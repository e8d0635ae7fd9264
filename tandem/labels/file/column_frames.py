"""Labels files read by columns, the frame built from them, and the digest of their labels.

The frame equals that of `make_frame`, without a Python object for each row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tandem.grouping import grouped
from tandem.labels.file.columns import Codes, LabelColumns, Metas
from tandem.labels.file.rows import LabelRow

from ...statistics import Bools, Ints
from ...statistics.estimate import unique_integers
from ..categories import coded_scale
from ..exposed import ExposedLabels
from ..facts import DIGEST_FIELDS, Inputs, LabelKey, Scale, number_of
from ..frame import (
    EscapeOrMissing,
    Frame,
    ItemFacts,
    RaterFacts,
    UnitFacts,
    VariableFrame,
)
from ..metadata import meta_strata
from ..readings import KEY as STEPS
from ..selection import OWN_STRATA, AvailableValues, ReportOptions, Strata

AT_ONCE = 10_000
_encode = json.JSONEncoder(ensure_ascii=False).encode


def _reorder(of: Metas, place: Ints) -> Metas:
    """Return the lines' new positions after a move, -1 for removed ones."""
    lines = place[of.lines]
    kept = np.flatnonzero(lines >= 0)
    kept = kept[np.argsort(lines[kept], kind="stable")]
    return Metas(of.values, lines[kept], of.codes[kept])


PLACE = ("item", "kind", "unit", "variable", "rater")
"""The columns of a `LabelKey`."""


class Labels:
    """The labels of files by columns (N,), reduced to the newest revision of each.

    `rows` are the lines that have spans, or a `meta` with nested values. `metas` holds the members
    of all others, by position.
    """

    def __init__(self, read: LabelColumns, kept: Ints) -> None:
        self.values = {**read.values}
        # Most files have one revision of each label, and their columns need no copy.
        every = len(kept) == len(read)
        self.codes = {name: of if every else of[kept] for name, of in read.codes.items()}
        self.replicate = read.replicate if every else read.replicate[kept]
        self.score = read.score if every else read.score[kept]
        self.rows: dict[int, LabelRow] = {}
        if read.rows:
            self.rows = {n: read.rows[k] for n, k in enumerate(kept.tolist()) if k in read.rows}
        self.metas = read.metas
        if not every:
            place = np.full(len(read), -1, np.int64)
            place[kept] = np.arange(len(kept))
            self.metas = {name: _reorder(of, place) for name, of in read.metas.items()}
        self._fill("kind", "")
        self._query()

    def __len__(self) -> int:
        return len(self.score)

    def strata(self) -> Strata:
        """Return strata like `meta_strata`: the first line with a value for an item counts."""
        firsts: list[tuple[int, str, dict[str, str]]] = []
        for name, of in self.metas.items():
            items = self.codes["item"][of.lines].astype(np.int64)
            for n in unique_integers(items)[1].tolist():
                item = self.values["item"][items[n]]
                firsts.append((int(of.lines[n]), item, {name: of.values[of.codes[n]]}))
        firsts += [(n, row.item, dict(row.meta or {})) for n, row in self.rows.items()]
        return meta_strata((item, meta) for _, item, meta in sorted(firsts, key=lambda f: f[0]))

    def steps(self) -> Iterator[tuple[LabelKey, str]]:
        """Yield the reading steps of judges' first labels, from `metas`."""
        if (of := self.metas.get(STEPS)) is None:
            return
        first = self.replicate[of.lines] == 0
        lines, codes = of.lines[first], of.codes[first]
        places = zip(*(self.texts(name, lines) for name in PLACE), strict=True)
        kinds = self.texts("rater_kind", lines)
        for place, kind, code in zip(places, kinds, codes.tolist(), strict=True):
            if kind == "judge":
                yield LabelKey(*(part or "" for part in place)), of.values[code]

    def _fill(self, name: str, text: str) -> None:
        absent = self.codes[name] < 0
        if absent.any():
            if text not in self.values[name]:
                self.values[name] = [*self.values[name], text]
            place = np.int32(self.values[name].index(text))
            self.codes[name] = (
                np.broadcast_to(place, absent.shape)
                if absent.all()
                else np.where(absent, place, self.codes[name])
            )

    def _query(self) -> None:
        """Treat each item as a query of its own if no query is named."""
        absent = (self.codes["query"] < 0) | self._is_empty("query")
        if not absent.any():
            return
        texts = list(self.values["query"])
        place = {text: n for n, text in enumerate(texts)}
        table = np.zeros(len(self.values["item"]), np.int64)
        for item in np.unique(self.codes["item"][absent]).tolist():
            text = self.values["item"][item]
            if text not in place:
                place[text] = len(texts)
                texts.append(text)
            table[item] = place[text]
        made = np.where(absent, table[self.codes["item"]], self.codes["query"])
        self.codes["query"] = made.astype(np.int32)
        self.values["query"] = texts

    def _is_empty(self, name: str) -> Bools:
        empty = np.array([text == "" for text in self.values[name]] + [False], dtype=bool)
        found: Bools = empty[self.codes[name]]
        return found

    def used(self, name: str) -> list[str]:
        """Return the distinct values of a column, in order of first occurrence."""
        codes = self.codes[name]
        names, first, _ = unique_integers(codes[codes >= 0].astype(np.int64))
        return [self.values[name][n] for n in names[np.argsort(first, kind="stable")]]

    def texts(self, name: str, places: Ints) -> list[str | None]:
        """Return the texts of a column at some positions."""
        values = [*self.values[name], None]
        return [values[n] for n in self.codes[name][places].tolist()]

    def answers(self) -> Iterator[tuple[str, str, bool]]:
        """Yield the distinct values of each variable, by judges and by others."""
        there = self.codes["value"] >= 0
        names, values = self.codes["variable"][there], self.codes["value"][there]
        judged = np.array([kind == "judge" for kind in self.values["rater_kind"]], np.int64)
        judge = judged[self.codes["rater_kind"][there]]
        for n in unique_integers(combine_codes(names, values, judge))[1].tolist():
            yield self.values["variable"][names[n]], self.values["value"][values[n]], bool(judge[n])

    def counts(self) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
        """Count the labels by variable and value, and by rater, in the order of the lines."""
        there = self.codes["value"] >= 0
        names, values = self.codes["variable"][there], self.codes["value"][there]
        _, first, which = unique_integers(combine_codes(names, values))
        number = np.bincount(which, minlength=len(first)) if len(which) else np.zeros(0, np.int64)
        found: dict[str, dict[str, int]] = {}
        for n in np.argsort(first, kind="stable").tolist():
            of = found.setdefault(self.values["variable"][names[first[n]]], {})
            of[self.values["value"][values[first[n]]]] = int(number[n])
        given = np.bincount(self.codes["rater"][there], minlength=len(self.values["rater"]))
        place = {rater: n for n, rater in enumerate(self.values["rater"])}
        return found, {rater: int(given[place[rater]]) for rater in self.used("rater")}

    def kinds(self) -> dict[str, str]:
        """Return raters with their kinds, in the order of their first occurrence."""
        _, first, _ = unique_integers(self.codes["rater"].astype(np.int64))
        first = np.sort(first)
        raters, kinds = (self.texts(name, first) for name in ("rater", "rater_kind"))
        return {str(r): str(k) for r, k in zip(raters, kinds, strict=True)}


def newest_revisions(read: LabelColumns) -> Labels | None:
    """Keep the newest revision of each label. Return None if the line reader has to take over.

    That is the case if a label occurs twice, a rater has two kinds, or a label was assisted or
    exposed.
    """
    if (read.codes["assisted_by"] >= 0).any() or "true" in read.values["exposed"]:
        return None
    kinds = combine_codes(read.codes["rater"], read.codes["rater_kind"])
    if len(unique_integers(kinds)[0]) != len(
        unique_integers(read.codes["rater"].astype(np.int64))[0]
    ):
        return None
    empty = read.values["kind"].index("") if "" in read.values["kind"] else -1
    kind = np.where(read.codes["kind"] == empty, -1, read.codes["kind"])
    names = ("item", "unit", "variable", "rater")
    label = combine_codes(*(read.codes[name] for name in names), kind, read.replicate)
    versions = combine_codes(label, read.revision)
    if len(unique_integers(versions)[0]) != len(label):
        return None
    if not read.revision.any():
        return Labels(read, np.arange(len(label)))
    order = np.lexsort((-read.revision, label))
    newest = order[np.diff(label[order], prepend=-1) != 0]
    # A label keeps the position of its first revision.
    _, first, which = unique_integers(label)
    return Labels(read, newest[np.argsort(first[which[newest]], kind="stable")])


def combine_codes(*columns: Ints | Codes) -> Ints:
    """Return one number from 0 for each combination of integers from -1 on, (N,)."""
    made = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        span = int(column.max(initial=-1)) + 2
        if int(made.max(initial=0)) > 2**62 // span:
            made = np.unique(made, return_inverse=True)[1].astype(np.int64)
        made = made * span + column + 1
    return np.unique(made, return_inverse=True)[1].astype(np.int64)


def column_values(labels: Labels, strata: Strata) -> AvailableValues:
    """Return the available options, like `available_values`."""
    values: dict[str, set[str]] = {name: set(of.values()) for name, of in strata.items()}
    for name in OWN_STRATA:
        if own := set(filter(None, labels.used(name))):
            values[name] = values.get(name, set()) | own
    cuts = {number for text in labels.used("value") if (number := number_of(text)) is not None}
    return AvailableValues(
        variables=labels.used("variable"),
        raters=labels.kinds(),
        strata={name: sorted(of) for name, of in values.items()},
        thresholds=sorted(cuts),
    )


def selected_positions(labels: Labels, options: ReportOptions, strata: Strata) -> Ints:
    """Return the positions of the selected labels, like `ReportOptions.select`."""
    kept = np.ones(len(labels), dtype=bool)
    if options.variables:
        kept &= _among(labels, "variable", lambda text: text in options.variables)
    if options.raters or options.judges:
        kinds = labels.kinds()
        taken = options.selected_raters(kinds)
        kept &= _among(labels, "rater", lambda text: text in taken)
    for name, values in grouped(options.strata).items():
        if name in OWN_STRATA:
            kept &= _among(labels, name, values.__contains__)
        else:
            of = strata.get(name, {})
            items = {item for item, value in of.items() if value in values}
            kept &= _among(labels, "item", items.__contains__)
    return np.flatnonzero(kept)


def _among(labels: Labels, name: str, holds: Callable[[str], bool]) -> Bools:
    table = np.array([*map(holds, labels.values[name]), False], dtype=bool)
    found: Bools = table[labels.codes[name]]
    return found


def frame_of(labels: Labels, places: Ints, scales: Mapping[str, Scale]) -> Frame:
    """Return the frame of the labels at some positions."""
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
    said = {name: _first_judgements(labels, each) for name, each in of.items()}
    raters = tuple(_raters(labels, places, list(said.values())))
    frames = {
        name: _variable(labels, name, places, scales.get(name), raters, numbers, by_query)
        for name, places in said.items()
    }
    marks = ExposedLabels((), _of_unknown_exposure(labels, places))
    return Frame(raters, items, frames, len(names), exposed=marks)


def _of_unknown_exposure(labels: Labels, places: Ints) -> int:
    """Count people's labels of which the file does not say whether they are exposed."""
    by = {name: labels.codes[name][places] for name in ("rater_kind", "value", "exposed")}
    human = _is_human(labels, by).astype(bool)
    return int((human & (by["value"] >= 0) & (by["exposed"] < 0)).sum())


def _first(codes: Ints | Codes) -> Ints:
    """Return the first position of each distinct number, in that order."""
    return np.sort(unique_integers(codes.astype(np.int64))[1])


def _variables(labels: Labels, places: Ints) -> Iterator[tuple[int, str]]:
    codes = labels.codes["variable"][places]
    return ((int(codes[n]), labels.values["variable"][codes[n]]) for n in _first(codes))


def _units(labels: Labels, places: Ints) -> Ints:
    """Return the unit of each position, numbered by first occurrence."""
    units = combine_codes(*(labels.codes[name][places] for name in ("item", "kind", "unit")))
    order = np.argsort(unique_integers(units)[1], kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    found: Ints = number[units]
    return found


def _first_judgements(labels: Labels, places: Ints) -> Ints:
    """Return each rater's first judgement of each unit, ordered by unit and rater."""
    replicate = labels.replicate[places]
    if not replicate.any():
        return places
    label = combine_codes(_units(labels, places), labels.codes["rater"][places])
    order = np.lexsort((np.arange(len(places)), replicate, label))
    kept = order[np.diff(label[order], prepend=-1) != 0]
    _, first, which = unique_integers(label)
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
    scale, code = coded_scale(scale or Scale((), "nominal"), used)
    unit = _units(labels, places)
    first = places[_first(unit)]
    column = {r.name: n for n, r in enumerate(raters)}
    rater = np.array([column.get(r, -1) for r in labels.values["rater"]], np.int64)[by["rater"]]
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
    # By rater, and by unit in the order of first occurrence.
    _, begins, which = unique_integers(by["rater"].astype(np.int64))
    turn = np.argsort(begins[which][aside], kind="stable")
    asides = tuple(_escapes_and_missing(labels, places, unit, aside[turn]))
    return VariableFrame(name, scale, facts, tuple(raters), codes, scores, asides)


def _is_human(labels: Labels, by: Mapping[str, Codes]) -> Ints:
    human = np.array([kind == "human" for kind in labels.values["rater_kind"]], np.int64)
    found: Ints = human[by["rater_kind"]]
    return found


def _escapes_and_missing(
    labels: Labels, places: Ints, unit: Ints, aside: Ints
) -> Iterator[EscapeOrMissing]:
    texts = (labels.texts(name, places[aside]) for name in ("rater", "value", "missing"))
    for n, rater, value, missing in zip(unit[aside].tolist(), *texts, strict=True):
        yield EscapeOrMissing(
            n, str(rater), value is None, str(missing if value is None else value)
        )


def inputs_of(labels: Labels) -> Inputs:
    """Digest the labels as `Inputs.from_facts` does: lines sort like the ranks of their members.

    A member's JSON together with the following separator is never a prefix of another's.
    """
    made = [_encoded(labels, name) for name in DIGEST_FIELDS]
    # Members that are the same on all lines do not affect the order.
    ranks = [rank[codes] for rank, _, codes in made if codes.strides[0] and len(rank) > 1]
    order = np.lexsort(ranks[::-1]) if ranks else np.arange(len(labels))
    digest, count = sha256(), len(order)
    for start in range(0, count, AT_ONCE):
        rows = order[start : start + AT_ONCE]
        parts = [texts.take(pa.array(codes[rows])) for _, texts, codes in made]
        lines = pc.binary_join_element_wise(*parts, "")
        digest.update("".join(lines.to_pylist()).encode("utf-8"))
    pa.default_memory_pool().release_unused()
    missing = int((labels.codes["value"] < 0).sum())
    return Inputs(count - missing, missing, digest.hexdigest())


def _encoded(labels: Labels, name: str) -> tuple[Ints, pa.Array, Ints | Codes]:
    """Encode a field of the labels: each value's rank and JSON, and the labels' values (N,)."""
    codes: Ints | Codes
    if name == "replicate":
        numbers, codes = np.unique(labels.replicate, return_inverse=True)
        texts = [str(n) for n in numbers.tolist()]
    elif name == "score":
        known, codes = np.unique(labels.score, return_inverse=True)
        texts = ["null" if math.isnan(n) else _encode(n) for n in known.tolist()]
    else:
        texts = [*map(_encode, labels.values[name]), "null"]
        codes = labels.codes[name]
        absent = codes < 0
        if absent.all():
            codes = np.broadcast_to(np.int64(len(texts) - 1), codes.shape)
        elif absent.any():
            codes = np.where(absent, len(texts) - 1, codes)
    begins = "[" if name == DIGEST_FIELDS[0] else ""
    ends = "]\n" if name == DIGEST_FIELDS[-1] else ", "
    texts = [f"{begins}{text}{ends}" for text in texts]
    rank = np.empty(len(texts), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return rank, pa.array(texts, pa.string()), codes
