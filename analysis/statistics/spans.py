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

    @property
    def characters(self) -> frozenset[int]:
        """The positions that it covers."""
        return frozenset(at for start, end in self.fragments for at in range(start, end))


Marked = Sequence[Span]
Document = Sequence[Marked | None]
Measure = Callable[[Marked, Marked], float]


def exact_f1(one: Marked, other: Marked) -> float:
    """2 * spans that both marked alike, to the character and label / all spans of both."""
    return _dice(len(set(one) & set(other)), len(set(one)), len(set(other)))


def overlap_f1(one: Marked, other: Marked) -> float:
    """Spans of either that share a character with one of the other's of the same label / all."""
    return _matched(one, other, lambda a, b: bool(a & b))


def iou_f1(one: Marked, other: Marked) -> float:
    """The same where at least half of what the two spans cover together is common to both."""
    return _matched(one, other, lambda a, b: len(a & b) >= SAME * len(a | b) > 0)


def character_f1(one: Marked, other: Marked) -> float:
    """2 * characters that both marked with the same label / all characters that either marked."""
    a, b = _labelled(one), _labelled(other)
    return _dice(len(a & b), len(a), len(b))


SPAN_MEASURES: dict[str, Measure] = {
    "exact_f1": exact_f1,
    "overlap_f1": overlap_f1,
    "iou_f1": iou_f1,
    "character_f1": character_f1,
}


def span_agreement(documents: Sequence[Document], clusters: Ints) -> dict[str, Estimate]:
    """Exact, overlap, IoU and character F1: means over documents of the means over rater pairs.

    `clusters` (D,) holds the query of each document; the intervals are t on queries. Documents
    that fewer than two raters worked on are left out.
    """
    return {
        name: mean_by_cluster(
            np.array([_over_pairs(document, measure) for document in documents], float),
            clusters,
            f"{name.replace('_', ' ')} of spans, mean over pairs of raters",
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


def _over_pairs(document: Document, measure: Measure) -> float:
    worked = [marked for marked in document if marked is not None]
    values = [measure(one, other) for one, other in combinations(worked, 2)]
    return float(np.mean(values)) if values else float("nan")


def _matched(
    one: Marked, other: Marked, same: Callable[[frozenset[int], frozenset[int]], bool]
) -> float:
    first, second = ([(s.label, s.characters) for s in set(marked)] for marked in (one, other))
    pairs = [
        (i, j)
        for i, (label, a) in enumerate(first)
        for j, (also, b) in enumerate(second)
        if label == also and same(a, b)
    ]
    hits = len({i for i, _ in pairs}) + len({j for _, j in pairs})
    return _dice(hits / 2, len(first), len(second))


def _labelled(marked: Marked) -> frozenset[tuple[str, int]]:
    return frozenset((span.label, at) for span in marked for at in span.characters)


def _dice(common: float, one: int, other: int) -> float:
    return 2 * common / (one + other) if one + other else 1.0
