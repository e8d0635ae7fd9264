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

from analysis.statistics.arrays import Ints
from analysis.statistics.bootstrap import mean_by_cluster
from analysis.statistics.estimate import Estimate

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


def span_agreement(
    documents: Sequence[Document], clusters: Ints, one: int | None = None
) -> dict[str, Estimate]:
    """Exact, overlap, IoU and character F1: means over documents of the means over rater pairs.

    `clusters` (D,) holds the query of each document; the intervals are t on queries. Documents
    that fewer than two raters worked on are left out. `one` takes only the pairs of that rater,
    such as a judge, with each other one.
    """
    over = "pairs of raters" if one is None else "the raters that it is paired with"
    pairs = [_pairs(document, one) for document in documents]
    return {
        name: mean_by_cluster(
            np.array([_mean_of(measure, each) for each in pairs], float),
            clusters,
            f"{LABELS[name]} of spans, mean over {over}",
        )
        for name, measure in SPAN_MEASURES.items()
    }


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


def _mean_of(measure: Measure, pairs: Sequence[tuple[Marked, Marked]]) -> float:
    return sum(measure(*pair) for pair in pairs) / len(pairs) if pairs else float("nan")


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
