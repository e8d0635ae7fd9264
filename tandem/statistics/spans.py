"""Agreement on marked spans: F1 by overlap, characters or tokens, and alpha of tokens.

Offsets are code points, and ends are exclusive. A span is a set of fragments with a label. A
document holds each rater's spans in one text: None for a rater who has not worked on it, and an
empty list for a rater who marked nothing. If neither of two raters marked anything, their agreement
is 1. If only one of them did, it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .agreement import krippendorff_alpha
from .cluster_means import informative_among, mean_by_cluster
from .estimate import COEFFICIENT, SHARE, Bools, Estimate, Floats, Ints, Value, ratio
from .resampling import Bootstrap, Draws, Interval
from .tally import Tally

#: The intersection over union at which two spans count as the same.
SAME = 0.5
Fragments = Sequence[tuple[int, int]]
LABELS = {
    "exact_f1": "exact F1",
    "overlap_f1": "overlap F1",
    "iou_f1": "IoU F1",
    "character_f1": "character F1",
}
INSIDE, OUTSIDE = 1, 0


@dataclass(frozen=True)
class Span:
    """Fragments (start, end) in rising order that do not touch each other, and a label."""

    fragments: tuple[tuple[int, int], ...]
    label: str = ""


Marked = Sequence[Span]
Document = Sequence[Marked | None]
Measure = Callable[[Marked, Marked], float]


def exact_f1(one: Marked, other: Marked) -> float:
    """Return the F1 of spans with equal characters and labels: 2 * equal spans / all spans."""
    return _dice(len(set(one) & set(other)), len(set(one)), len(set(other)))


def overlap_f1(one: Marked, other: Marked) -> float:
    """Return the share of all spans that overlap a span of the other rater with the same label."""
    return _matched(one, other, lambda common, covered: common > 0)


def iou_f1(one: Marked, other: Marked) -> float:
    """Return `overlap_f1`, counting only overlaps of at least half of the two spans' union."""
    return _matched(one, other, lambda common, covered: common >= SAME * covered > 0)


def character_f1(one: Marked, other: Marked) -> float:
    """Return the F1 of characters: 2 * those both marked with the same label / all marked ones."""
    a, b = _by_label(one), _by_label(other)
    common = sum(_common(a[label], b[label]) for label in set(a) & set(b))
    return _dice(common, *(sum(map(_length, each.values())) for each in (a, b)))


SPAN_MEASURES: dict[str, Measure] = {
    "exact_f1": exact_f1,
    "overlap_f1": overlap_f1,
    "iou_f1": iou_f1,
    "character_f1": character_f1,
}


@dataclass(frozen=True)
class SpanPairs:
    """The measures of P pairs of raters.

    The columns of `values` (P, 4) are in the order of `SPAN_MEASURES`. `document` (P,) is each
    pair's document, and `both_marked` (P,) says whether both marked something. `documents` is the
    number of documents, and `over` describes the pairs.
    """

    values: Floats
    document: Ints
    both_marked: Bools
    documents: int
    over: str

    @classmethod
    def of(cls, documents: Sequence[Document], one: int | None = None) -> SpanPairs:
        """Return all pairs, or those of the rater `one`, such as a judge, with each other rater."""
        over = "pairs of raters" if one is None else "the raters that it is paired with"
        found = [
            (n, *pair) for n, document in enumerate(documents) for pair in _pairs(document, one)
        ]
        values = np.array([_measures(a, b) for _, a, b in found], float)
        both = np.array([bool(a) and bool(b) for _, a, b in found], bool)
        index = np.array([n for n, _, _ in found], np.int64)
        return cls(values.reshape(-1, len(SPAN_MEASURES)), index, both, len(documents), over)

    def estimates(self, clusters: Ints, both_marked: bool = False) -> dict[str, Estimate]:
        """Return the mean of each measure over documents; `both_marked` takes only such pairs."""
        kept = self.both_marked if both_marked else np.ones(len(self.document), bool)
        index = self.document[kept]
        sizes = np.bincount(index, minlength=self.documents).astype(float)
        found = {}
        for name, values in zip(SPAN_MEASURES, self.values[kept].T, strict=True):
            sums = np.bincount(index, values, minlength=self.documents).astype(float)
            method = f"{LABELS[name]} of spans, mean over {self.over}"
            found[name] = mean_by_cluster(ratio(sums, sizes), clusters, method, SHARE)
        return found


def span_agreement(documents: Sequence[Document], clusters: Ints) -> dict[str, Estimate]:
    """Return exact, overlap, IoU and character F1: means over documents of means over rater pairs.

    `clusters` (D,) holds the query of each document, for the interval of the mean. Documents
    with fewer than two raters are left out.
    """
    return SpanPairs.of(documents).estimates(clusters)


def token_codes(document: Document, tokens: Sequence[tuple[int, int]], label: str = "") -> Ints:
    """Return whether each rater's spans with a label touch each token (start, end): 1 or 0, (T, R).

    The code is -1 for a rater who has not worked on the document. From these codes, any coefficient
    for categories computes chance-corrected agreement on spans, with documents as the clusters.
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
    """Return all measures of a pair, with shortcuts for no span and for one span each."""
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
    """Return the F1 of spans; `same` decides from common and total characters if two match."""
    first, second = list(set(one)), list(set(other))
    pairs = []
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            common = _common(a.fragments, b.fragments) if a.label == b.label else 0
            if same(common, _length(a.fragments) + _length(b.fragments) - common):
                pairs.append((i, j))
    hits = len({i for i, _ in pairs}) + len({j for _, j in pairs})
    return _dice(hits / 2, len(first), len(second))


def merge_fragments(fragments: Fragments) -> list[tuple[int, int]]:
    """Return the ranges in rising order, merged if they touch or overlap."""
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
    return {label: merge_fragments(fragments) for label, fragments in found.items()}


def _length(fragments: Fragments) -> int:
    return sum(end - start for start, end in fragments)


def _common(one: Fragments, other: Fragments) -> int:
    """Count the characters in both. The ranges of one argument do not overlap each other."""
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other)


def _dice(common: float, one: int, other: int) -> float:
    return 2 * common / (one + other) if one + other else 1.0


def token_alpha(
    documents: Sequence[Document],
    tokens: Sequence[Ints],
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return Krippendorff's nominal alpha of whether each token is in a span, of any label.

    `tokens` holds, for each document, the start and end of each token, (T, 2). A span includes
    every token that it touches. Whole queries, `clusters` (D,), are resampled. n counts the tokens
    in documents that two or more raters worked on.
    """
    raters = max(map(len, documents), default=0)
    queries, index = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((len(queries), (raters + 1) ** 2))
    known: _Inside = {}
    for row, document, of in zip(index, documents, tokens, strict=True):
        _count(sums[row], document, of, raters + 1, known)
    judged, inside = np.divmod(np.arange(sums.shape[1]), raters + 1)
    kinds = np.stack([judged - inside, inside], axis=1).clip(0)
    sums[:, (judged < 2) | (inside > judged)] = 0

    def alpha(weights: Floats) -> Value:
        return krippendorff_alpha(kinds, "nominal", None, weights)

    tally = Tally.of_sums(sums, queries, sums.sum(axis=1))
    bootstrap = Bootstrap(tally, draws, seed, interval, informative_among(tally, kinds))
    reason = "all tokens are in spans, or none is" if sums.any() else "no text is labelled"
    method = "Krippendorff's alpha, nominal, of tokens in or out of spans"
    return bootstrap.estimate(alpha, int(sums.sum()), method, reason).within(*COEFFICIENT)


_Inside = dict[tuple[int, int], Ints]
"""By a rater's spans and a text's tokens, whether each token is inside: documents share both."""


def _count(row: Floats, document: Document, tokens: Ints, base: int, known: _Inside) -> None:
    """Add to `row` the tokens by number of raters, and by number of raters with a span there."""
    worked = [marked for marked in document if marked is not None]
    if not any(worked):
        row[len(worked) * base] += len(tokens)
        return
    inside = np.full(len(tokens), len(worked) * base)
    for marked in filter(None, worked):
        key = id(marked), id(tokens)
        if key not in known:
            known[key] = _inside_tokens(marked, tokens)
        inside += known[key]
    row += np.bincount(inside, minlength=len(row))


def _inside_tokens(marked: Marked, tokens: Ints) -> Ints:
    found = np.full(len(tokens), OUTSIDE, np.int64)
    for span in marked:
        for start, end in span.fragments:
            first = np.searchsorted(tokens[:, 1], start, side="right")
            found[first : np.searchsorted(tokens[:, 0], end, side="left")] = INSIDE
    return found
