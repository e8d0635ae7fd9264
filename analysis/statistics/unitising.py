"""Krippendorff's alpha for unitising: where on a continuum raters begin and end their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

import numpy as np

from analysis.statistics.arrays import Floats, Ints, Value, ratio, unbatch
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.intervals import Bootstrap, Draws, Interval
from analysis.statistics.spans import Document, Marked, merged
from analysis.statistics.tally import Tally

Unit = tuple[int, int]


@dataclass(frozen=True)
class _Lengths:
    """What one category's expected disagreement needs: which lengths units and gaps have."""

    units: Floats
    gaps: Floats


def unitising_alpha(
    documents: Sequence[Document],
    lengths: Sequence[int],
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """alpha_U = 1 - Do/De over texts of `lengths` characters (Krippendorff 1995; 2004, 11.6).

    For each category c, over all pairs of raters: two units that intersect differ by the sum of
    the squares of the distances of their begins and of their ends; a unit that meets none of the
    other's differs by its squared length. Do_c = that, over ordered pairs / (m (m - 1) L^2) for m
    raters and L characters. De_c = (2/L) * sum over units of [(N_c - 1)/3 * (2 l^3 - 3 l^2 + l) +
    l^2 * sum over gaps g >= l of (g - l + 1)] / (m L (m L - 1) - sum over units of l (l - 1)), with
    l the length of a unit and N_c their number. alpha_U = 1 - sum_c Do_c / sum_c De_c.

    All texts together are one continuum, of which gaps end where a text ends. Each fragment of a
    span is a unit; units of a rater and category that touch or overlap count as one. Texts on
    which not all raters worked are left out.
    """
    whole = [i for i, d in enumerate(documents) if all(marked is not None for marked in d)]
    raters = len(documents[0]) if documents else 0
    method = "Krippendorff's alpha for unitising"
    if raters < 2:
        return undefined("fewer than two raters", len(whole), method)
    size = np.array([float(lengths[i]) for i in whole])
    kept = [documents[i] for i in whole]
    categories = sorted({s.label for d in kept for marked in d for s in marked or ()})
    queries, index = np.unique(np.asarray(clusters)[whole], return_inverse=True)
    parts = [_sums(kept, size, category, index) for category in categories]
    sizes = np.bincount(index, size, minlength=len(queries))
    sums = np.concatenate([sizes[:, None], *(each for each, _ in parts)], axis=1)
    ends = np.cumsum([1] + [each.shape[1] for each, _ in parts])

    def alpha(weights: Floats) -> Value:
        total, *blocks = np.split(weights, ends, axis=-1)[: len(ends)]
        of = [
            _expected(b[..., 1:], scale, total[..., 0], raters)
            for b, (_, scale) in zip(blocks, parts, strict=True)
        ]
        squares = [b[..., 0] for b in blocks]
        if not blocks:
            return unbatch(np.full(total.shape[:-1], np.nan))
        return unbatch(1 - ratio(_observed(sum(squares), total[..., 0], raters), sum(of)))

    bootstrap = Bootstrap(Tally.of_sums(sums, queries), draws, seed, interval)
    return bootstrap.estimate(alpha, len(whole), method, "nobody marked anything").within(-inf, 1.0)


def _observed(squares: Value, total: Floats, raters: int) -> Floats:
    return ratio(np.asarray(squares) * 2, raters * (raters - 1) * total**2)


def _expected(block: Floats, scale: _Lengths, total: Floats, raters: int) -> Floats:
    """De of one category from how many units and gaps there are of each length."""
    units, gaps = np.split(block, [len(scale.units)], axis=-1)
    n, squares = units.sum(axis=-1), units @ (scale.units * (scale.units - 1))
    cubes = units @ (2 * scale.units**3 - 3 * scale.units**2 + scale.units)
    room = np.maximum(scale.gaps[None, :] - scale.units[:, None] + 1, 0)
    free = ((units * scale.units**2) @ room * gaps).sum(axis=-1)
    cells = raters * total
    return ratio(2 * ((n - 1) / 3 * cubes + free), total * (cells * (cells - 1) - squares))


def _sums(
    documents: list[Document], size: Floats, category: str, index: Ints
) -> tuple[Floats, _Lengths]:
    """By query, (C, 1 + P + G): squared differences, how many units and gaps have each length."""
    units = [[_units(marked or (), category) for marked in document] for document in documents]
    gaps = [
        [gap for rater in each for gap in _gaps(rater, int(length))]
        for each, length in zip(units, size, strict=True)
    ]
    spans = [[end - start for rater in each for start, end in rater] for each in units]
    differences = [sum(_difference(a, b) for a, b in combinations(each, 2)) for each in units]
    of_units, of_gaps = _histogram(spans, index), _histogram(gaps, index)
    columns = [np.bincount(index, differences)[:, None], of_units[1], of_gaps[1]]
    return np.concatenate(columns, axis=1), _Lengths(of_units[0], of_gaps[0])


def _units(marked: Marked, category: str) -> list[Unit]:
    if not marked:
        return []
    fragments = [f for span in marked if span.label == category for f in span.fragments]
    return merged(fragments)


def _gaps(units: list[Unit], length: int) -> list[int]:
    edges = [0, *(at for unit in units for at in unit), length]
    return [b - a for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _difference(one: list[Unit], other: list[Unit]) -> int:
    if not (one and other):
        return sum((end - start) ** 2 for start, end in (*one, *other))
    meeting = [(a, b) for a in one for b in other if a[0] < b[1] and b[0] < a[1]]
    met, also = {a for a, _ in meeting}, {b for _, b in meeting}
    alone = [u for u in one if u not in met] + [u for u in other if u not in also]
    apart = sum((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a, b in meeting)
    return apart + sum((end - start) ** 2 for start, end in alone)


def _histogram(lengths: list[list[int]], index: Ints) -> tuple[Floats, Floats]:
    """The lengths that occur (P,), and how often in the documents of each query (C, P)."""
    scale, place = np.unique([n for each in lengths for n in each], return_inverse=True)
    counted = np.zeros((int(index.max(initial=-1)) + 1, len(scale)))
    np.add.at(counted, (np.repeat(index, list(map(len, lengths))), place), 1)
    return scale.astype(float), counted
