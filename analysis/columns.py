"""Labels files read by columns: the newest revisions, what they offer, and what is chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from analysis.choices import OWN_STRATA, Choices, Offered, Strata
from analysis.labels import number_of
from analysis.metas import meta_strata
from analysis.statistics import Bools, Ints
from analysis.statistics.arrays import distinct
from annotation.imports.columns import Codes, LabelColumns, Metas
from annotation.label_rows import LabelRow


def _moved(of: Metas, place: Ints) -> Metas:
    """The same where lines stand at other places, -1 for those that are gone."""
    lines = place[of.lines]
    kept = np.flatnonzero(lines >= 0)
    kept = kept[np.argsort(lines[kept], kind="stable")]
    return Metas(of.values, lines[kept], of.codes[kept])


class Labels:
    """The labels of files of which the newest revisions alone are left, by columns (N,).

    `rows` are those lines that have spans, or a meta that is no plain one; `metas` the members of
    all others, by the places of these.
    """

    def __init__(self, read: LabelColumns, kept: Ints) -> None:
        self.values = {**read.values}
        # Most files have one revision of each label, whose columns need no copy.
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
            self.metas = {name: _moved(of, place) for name, of in read.metas.items()}
        self._fill("kind", "")
        self._query()

    def __len__(self) -> int:
        return len(self.score)

    def strata(self) -> Strata:
        """As `meta_strata`: what the first line of an item says that says something."""
        firsts: list[tuple[int, str, dict[str, str]]] = []
        for name, of in self.metas.items():
            items = self.codes["item"][of.lines].astype(np.int64)
            for n in distinct(items)[1].tolist():
                item = self.values["item"][items[n]]
                firsts.append((int(of.lines[n]), item, {name: of.values[of.codes[n]]}))
        firsts += [(n, row.item, dict(row.meta or {})) for n, row in self.rows.items()]
        return meta_strata((item, meta) for _, item, meta in sorted(firsts, key=lambda f: f[0]))

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
        """An item is a query of its own where none is named."""
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
        """The different values of a column, in the order in which they first stand."""
        codes = self.codes[name]
        names, first, _ = distinct(codes[codes >= 0].astype(np.int64))
        return [self.values[name][n] for n in names[np.argsort(first, kind="stable")]]

    def texts(self, name: str, places: Ints) -> list[str | None]:
        """The texts of a column at some places."""
        values = [*self.values[name], None]
        return [values[n] for n in self.codes[name][places].tolist()]

    def answers(self) -> Iterator[tuple[str, str]]:
        """Each different value of each variable."""
        there = self.codes["value"] >= 0
        names, values = self.codes["variable"][there], self.codes["value"][there]
        for n in distinct(combined(names, values))[1].tolist():
            yield self.values["variable"][names[n]], self.values["value"][values[n]]

    def kinds(self) -> dict[str, str]:
        """Raters with their kinds, in the order in which they first stand."""
        _, first, _ = distinct(self.codes["rater"].astype(np.int64))
        first = np.sort(first)
        raters, kinds = (self.texts(name, first) for name in ("rater", "rater_kind"))
        return {str(r): str(k) for r, k in zip(raters, kinds, strict=True)}


def whole(read: LabelColumns) -> Labels | None:
    """The newest revision of each label; None where the line reader has to say what is wrong.

    That is where a label stands twice, a rater is of two kinds, or a label was assisted.
    """
    if (read.codes["assisted_by"] >= 0).any():
        return None
    kinds = combined(read.codes["rater"], read.codes["rater_kind"])
    if len(distinct(kinds)[0]) != len(distinct(read.codes["rater"].astype(np.int64))[0]):
        return None
    empty = read.values["kind"].index("") if "" in read.values["kind"] else -1
    kind = np.where(read.codes["kind"] == empty, -1, read.codes["kind"])
    names = ("item", "unit", "variable", "rater")
    label = combined(*(read.codes[name] for name in names), kind, read.replicate)
    versions = combined(label, read.revision)
    if len(distinct(versions)[0]) != len(label):
        return None
    if not read.revision.any():
        return Labels(read, np.arange(len(label)))
    order = np.lexsort((-read.revision, label))
    newest = order[np.diff(label[order], prepend=-1) != 0]
    # A label stands where its first revision stood.
    _, first, which = distinct(label)
    return Labels(read, newest[np.argsort(first[which[newest]], kind="stable")])


def combined(*columns: Ints | Codes) -> Ints:
    """One number from 0 for each combination of whole numbers from -1 on, (N,)."""
    made = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        span = int(column.max(initial=-1)) + 2
        if int(made.max(initial=0)) > 2**62 // span:
            made = np.unique(made, return_inverse=True)[1].astype(np.int64)
        made = made * span + column + 1
    return np.unique(made, return_inverse=True)[1].astype(np.int64)


def offered(labels: Labels, strata: Strata) -> Offered:
    """As `offered_by`."""
    values: dict[str, set[str]] = {name: set(of.values()) for name, of in strata.items()}
    for name in OWN_STRATA:
        if own := set(filter(None, labels.used(name))):
            values[name] = values.get(name, set()) | own
    cuts = {number for text in labels.used("value") if (number := number_of(text)) is not None}
    return Offered(
        variables=labels.used("variable"),
        raters=labels.kinds(),
        strata={name: sorted(of) for name, of in values.items()},
        thresholds=sorted(cuts),
    )


def chosen(labels: Labels, choices: Choices, strata: Strata) -> Ints:
    """The places of the labels that are taken, as `Choices.kept`."""
    kept = np.ones(len(labels), dtype=bool)
    if choices.variables:
        kept &= _among(labels, "variable", lambda text: text in choices.variables)
    if choices.raters or choices.judges:
        kinds = labels.kinds()
        taken = choices.taken(kinds)
        kept &= _among(labels, "rater", lambda text: text in taken)
    wanted: dict[str, list[str]] = defaultdict(list)
    for name, value in choices.strata:
        wanted[name].append(value)
    for name, values in wanted.items():
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
