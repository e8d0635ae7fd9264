"""Agreement on marked spans of texts: exact, overlapping, by character, by token.

Offsets are code points, ends exclusive. A span is a set of fragments with a label; a document is
what one text's raters marked, None standing for a rater who has not worked on it. A rater who
marked nothing has an empty list. Two raters who both marked nothing agree fully (1); where only one
marked something they agree not at all (0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.statistics.arrays import Bools, Floats, Ints, ratio
from analysis.statistics.bootstrap import mean_by_cluster
from analysis.statistics.estimate import SHARE, Estimate

#: Intersection over union from which two spans are the same one.
SAME = 0.5


@dataclass(frozen=True)
class Span:
    """Fragments (start, end) in rising order, which do not touch, and a label."""

    fragments: tuple[tuple[int, int], ...]
    label: str = ""


Fragments = Sequence[tuple[int, int]]
Marked = Sequence[Span]
Document = Sequence[Marked | None]
Measure = Callable[[Marked, Marked], float]


def exact_f1(one: Marked, other: Marked) -> float:
    """2 * spans that both marked alike, to the character and label / all spans of both."""
    return _dice(len(set(one) & set(other)), len(set(one)), len(set(other)))


def overlap_f1(one: Marked, other: Marked) -> float:
    """Spans of either that share a character with one of the other's of the same label / all."""
    return _matched(one, other, lambda common, covered: common > 0)


def iou_f1(one: Marked, other: Marked) -> float:
    """The same where at least half of what the two spans cover together is common to both."""
    return _matched(one, other, lambda common, covered: common >= SAME * covered > 0)


def character_f1(one: Marked, other: Marked) -> float:
    """2 * characters that both marked with the same label / all characters that either marked."""
    a, b = _by_label(one), _by_label(other)
    common = sum(_common(a[label], b[label]) for label in set(a) & set(b))
    return _dice(common, *(sum(map(_length, each.values())) for each in (a, b)))


SPAN_MEASURES: dict[str, Measure] = {
    "exact_f1": exact_f1,
    "overlap_f1": overlap_f1,
    "iou_f1": iou_f1,
    "character_f1": character_f1,
}

LABELS = {
    "exact_f1": "exact F1",
    "overlap_f1": "overlap F1",
    "iou_f1": "IoU F1",
    "character_f1": "character F1",
}


@dataclass(frozen=True)
class SpanPairs:
    """The measures of P pairs of raters (P, 4), in the order of `SPAN_MEASURES`, the document of
    each (P,), whether both marked something (P,); D documents, and what the pairs are of."""

    values: Floats
    document: Ints
    both_marked: Bools
    documents: int
    over: str

    @classmethod
    def of(cls, documents: Sequence[Document], one: int | None = None) -> SpanPairs:
        """All pairs, or those of the rater `one`, such as a judge, with each other one."""
        over = "pairs of raters" if one is None else "the raters that it is paired with"
        found = [
            (n, *pair) for n, document in enumerate(documents) for pair in _pairs(document, one)
        ]
        values = np.array([_measures(a, b) for _, a, b in found], float)
        both = np.array([bool(a) and bool(b) for _, a, b in found], bool)
        index = np.array([n for n, _, _ in found], np.int64)
        return cls(values.reshape(-1, len(SPAN_MEASURES)), index, both, len(documents), over)

    def estimates(self, clusters: Ints, both_marked: bool = False) -> dict[str, Estimate]:
        """The mean of each measure over documents; `both_marked` takes only such pairs."""
        kept = self.both_marked if both_marked else np.ones(len(self.document), bool)
        index = self.document[kept]
        sizes = np.bincount(index, minlength=self.documents).astype(float)
        found = {}
        for name, values in zip(SPAN_MEASURES, self.values[kept].T, strict=True):
            sums = np.bincount(index, values, minlength=self.documents).astype(float)
            method = f"{LABELS[name]} of spans, mean over {self.over}"
            made = mean_by_cluster(ratio(sums, sizes), clusters, method)
            found[name] = made.within(*SHARE)
        return found


def span_agreement(documents: Sequence[Document], clusters: Ints) -> dict[str, Estimate]:
    """Exact, overlap, IoU and character F1: means over documents of the means over rater pairs.

    `clusters` (D,) holds the query of each document; the intervals are t on queries. Documents
    that fewer than two raters worked on are left out.
    """
    return SpanPairs.of(documents).estimates(clusters)


def token_codes(document: Document, tokens: Sequence[tuple[int, int]], label: str = "") -> Ints:
    """Whether each rater's spans of a label touch each token (start, end): 1, 0, (T, R).

    -1 for a rater who has not worked on the document. With these codes any coefficient of
    categories corrects agreement on spans for chance, documents being the clusters.
    """
    starts = np.array([start for start, _ in tokens], np.int64)
    ends = np.array([end for _, end in tokens], np.int64)
    columns = [_touched(marked, starts, ends, label) for marked in document]
    return np.stack(columns, axis=1) if columns else np.empty((len(tokens), 0), np.int64)


def _touched(marked: Marked | None, starts: Ints, ends: Ints, label: str) -> Ints:
    if marked is None:
        return np.full(len(starts), -1, np.int64)
    inside = np.zeros(len(starts), bool)
    for span in marked:
        for start, end in span.fragments if span.label == label else ():
            inside |= (starts < end) & (ends > start)
    return inside.astype(np.int64)


def _pairs(document: Document, one: int | None) -> list[tuple[Marked, Marked]]:
    if one is None:
        return list(combinations([marked for marked in document if marked is not None], 2))
    own = document[one]
    others = [marked for n, marked in enumerate(document) if n != one and marked is not None]
    return [] if own is None else [(own, other) for other in others]


def _measures(one: Marked, other: Marked) -> tuple[float, ...]:
    """All measures of a pair; the frequent cases of no span and of one each are short."""
    if not one or not other:
        return (0.0 if one or other else 1.0,) * len(SPAN_MEASURES)
    if len(one) == len(other) == 1 and len(one[0].fragments) == len(other[0].fragments) == 1:
        return _single(one[0], other[0])
    return tuple(measure(one, other) for measure in SPAN_MEASURES.values())


def _single(a: Span, b: Span) -> tuple[float, ...]:
    common = _common(a.fragments, b.fragments) if a.label == b.label else 0
    both = _length(a.fragments) + _length(b.fragments)
    alike = common >= SAME * (both - common) > 0
    return float(a == b), float(common > 0), float(alike), _dice(common, both, 0)


def _matched(one: Marked, other: Marked, same: Callable[[int, int], bool]) -> float:
    """`same` is told how many characters two spans have in common, and cover together."""
    first, second = list(set(one)), list(set(other))
    pairs = []
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            common = _common(a.fragments, b.fragments) if a.label == b.label else 0
            if same(common, _length(a.fragments) + _length(b.fragments) - common):
                pairs.append((i, j))
    hits = len({i for i, _ in pairs}) + len({j for _, j in pairs})
    return _dice(hits / 2, len(first), len(second))


def merged(fragments: Fragments) -> list[tuple[int, int]]:
    """The same places in rising order, those that touch or overlap joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(fragments):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _by_label(marked: Marked) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for span in marked:
        found.setdefault(span.label, []).extend(span.fragments)
    return {label: merged(fragments) for label, fragments in found.items()}


def _length(fragments: Fragments) -> int:
    return sum(end - start for start, end in fragments)


def _common(one: Fragments, other: Fragments) -> int:
    """Characters in both, each of the two without overlaps within itself."""
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other)


def _dice(common: float, one: int, other: int) -> float:
    return 2 * common / (one + other) if one + other else 1.0
