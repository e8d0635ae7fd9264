"""Krippendorff's alphas for unitising: do raters mark the same stretches of a text?

There are two, and they differ in what counts as disagreement. `unitising_alpha` is that of 1995,
which compares where units begin and end. `binary_unitising_alpha` is that of 2016, which compares
which characters are marked; it replaces the earlier one, which its authors found to misbehave with
more than two raters. Both follow the conventions of `spans`: offsets are code points, ends are
exclusive, and each fragment of a span is a unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

import numpy as np

from .cluster_means import SEVERAL, count_informative
from .estimate import COEFFICIENT, Estimate, Floats, Ints, Value, ratio, unbatch, undefined
from .resampling import Bootstrap, Draws, Interval
from .spans import Document, Marked, merge_fragments
from .tally import Tally

Unit = tuple[int, int]
#: What `_sums_by_text` holds: N_0, N_1, o and the sum of l^2, and the numbers of gaps and of units.
_SUMS = 6
_GAPS, _UNITS = np.eye(_SUMS)[4:]


@dataclass(frozen=True)
class _Lengths:
    """The lengths of units and gaps for one category's expected disagreement."""

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
    """Return alpha_U = 1 - Do/De on texts of `lengths` characters (Krippendorff 1995; 2004, 11.6).

    Do is the sum of Do_c, and De the sum of De_c, over the categories c. For m raters and L
    characters,

        Do_c = sum of the differences over ordered pairs of raters / (m (m - 1) L^2),
        De_c = (2/L) * sum over units of [(N_c - 1)/3 * (2 l^3 - 3 l^2 + l)
               + l^2 * sum over gaps g >= l of (g - l + 1)]
               / (m L (m L - 1) - sum over units of l (l - 1)),

    where l is the length of a unit, and N_c the number of units of c. The difference of two units
    that intersect is the sum of the squared distances of their starts and of their ends. The
    difference of a unit that intersects no unit of the other rater is its squared length.

    All texts together are one continuum, and gaps end where a text ends. Each fragment of a span is
    a unit. Units of the same rater and category that touch or overlap count as one. Texts that some
    rater has not worked on are left out.
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

    bootstrap = Bootstrap(Tally.of_sums(sums, queries, sizes.astype(float)), draws, seed, interval)
    return bootstrap.estimate(alpha, len(whole), method, "no rater marked anything").within(
        -inf, 1.0
    )


def _observed(squares: Value, total: Floats, raters: int) -> Floats:
    return ratio(np.asarray(squares) * 2, raters * (raters - 1) * total**2)


def _expected(block: Floats, scale: _Lengths, total: Floats, raters: int) -> Floats:
    """Return De of one category from the numbers of units and gaps of each length."""
    units, gaps = np.split(block, [len(scale.units)], axis=-1)
    n, squares = units.sum(axis=-1), units @ (scale.units * (scale.units - 1))
    cubes = units @ (2 * scale.units**3 - 3 * scale.units**2 + scale.units)
    first = np.searchsorted(scale.gaps, scale.units)
    fitting, length = (_sum_from(each)[..., first] for each in (gaps, gaps * scale.gaps))
    free = (units * scale.units**2 * (length - fitting * (scale.units - 1))).sum(axis=-1)
    cells = raters * total
    return ratio(2 * ((n - 1) / 3 * cubes + free), total * (cells * (cells - 1) - squares))


def _sum_from(values: Floats) -> Floats:
    """Return the sums of values (..., G) from each position to the end, (..., G + 1)."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    sums[..., :-1] = np.cumsum(values[..., ::-1], axis=-1)[..., ::-1]
    return sums


def _sums(
    documents: list[Document], size: Floats, category: str, index: Ints
) -> tuple[Floats, _Lengths]:
    """Return by query (C, 1 + P + G) the squared differences and the counts of units and gaps."""
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
    return merge_fragments(fragments)


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
    """Return the lengths that occur (P,), and their counts in the texts of each query (C, P)."""
    scale, place = np.unique([n for each in lengths for n in each], return_inverse=True)
    counted = np.zeros((int(index.max(initial=-1)) + 1, len(scale)))
    np.add.at(counted, (np.repeat(index, list(map(len, lengths))), place), 1)
    return scale.astype(float), counted


def binary_unitising_alpha(
    documents: Sequence[Document],
    lengths: Sequence[int],
    clusters: Ints,
    *,
    draws: Draws = None,
    seed: int = 0,
    interval: Interval = "bca",
) -> Estimate:
    """Return binary alpha for unitising: are the same characters marked, beyond chance?

    This is the coefficient that Krippendorff, Mathet, Bouvry and Widlöcher (2016) write as |u-alpha
    (Content Analysis, 4th edition, 2019, section 12.6.4), for D texts of `lengths` (D,) code points
    and the queries `clusters` (D,). Labels of spans do not matter.

    In a text of L characters with m raters, c of whom have a character in a unit, each character
    adds c (m - c) / (m - 1) to the observed coincidences o of marked with unmarked. With N_1 = the
    sum of the lengths l of units, N = the sum of m L and N_0 = N - N_1,

        alpha = 1 - o / e,  e = N N_0 N_1 / (N^2 - N_0 - sum over units of l^2).

    By chance any two characters may meet, except those of one unit, since a unit does not meet
    itself; a character in a gap is a unit of its own. If each unit is one character long, this is
    `token_alpha` of characters. With longer units it is higher.

    o, N_0, N_1 and the sum of l^2 are added up over the texts, as if these followed each other.
    Texts may have different raters: those of a rater who has not worked on one (None) are not
    affected, and texts with fewer than two raters are left out. A rater who marked nothing left the
    whole text unmarked. Units of a rater that overlap count as one, and units that only touch as
    two. What lies beyond the end of a text is ignored. n counts the texts. Whole queries are
    resampled; one is informative if it has at least two units (of gaps, if these are rarer), or
    half of its segments if that is fewer. Undefined if no text has two raters, or if nothing or
    everything is marked.

    Only ends of units are visited, so that the length of a text does not matter.
    """
    queries, index = np.unique(np.asarray(clusters), return_inverse=True)
    raters = np.array([sum(m is not None for m in each) for each in documents], np.int64)
    sums = np.zeros((len(queries), _SUMS))
    np.add.at(sums, index, _sums_by_text(documents, lengths, raters))
    outside, inside = sums.sum(axis=0)[:2]
    tally = Tally.of_sums(sums, queries, sums[:, :2].sum(axis=1))
    rarer = _UNITS if inside <= outside else _GAPS
    informative = count_informative(tally, rarer, _GAPS + _UNITS, SEVERAL)
    bootstrap = Bootstrap(tally, draws, seed, interval, informative)
    method = "Krippendorff's binary alpha for unitising, of marked and unmarked characters"
    reason = _why_no_alpha(inside, outside)
    n = int((raters >= 2).sum())
    return bootstrap.estimate(_binary_alpha, n, method, reason).within(*COEFFICIENT)


def _why_no_alpha(inside: float, outside: float) -> str:
    if not inside + outside:
        return "fewer than two raters"
    return "everything is marked" if inside else "no rater marked anything"


def _binary_alpha(sums: Floats) -> Value:
    outside, inside, mixed, squares = np.moveaxis(sums, -1, 0)[:4]
    total = outside + inside
    expected = ratio(total * outside * inside, total**2 - outside - squares)
    return unbatch(1 - ratio(mixed, expected))


def _sums_by_text(documents: Sequence[Document], lengths: Sequence[int], raters: Ints) -> Floats:
    """Return the `_SUMS` of each text, (D, 6); 0 with fewer than two raters."""
    segments = np.array(
        [
            (n, *segment)
            for n, document in enumerate(documents)
            if raters[n] >= 2
            for marked in document
            if marked is not None
            for segment in _segments(marked, lengths[n])
        ],
        np.int64,
    ).reshape(-1, 4)
    text, start, end, marked = segments.T
    size = (end - start).astype(float)
    units = marked == 1
    gaps = ~units
    by_text = (
        np.bincount(text, values, minlength=len(documents))
        for values in (size * gaps, size * units, size**2 * units, gaps, units)
    )
    outside, inside, squares, *numbers = by_text
    mixed = _mixed(text[units], start[units], end[units], raters)
    return np.stack([outside, inside, mixed, squares, *numbers], axis=1)


def _mixed(text: Ints, start: Ints, end: Ints, raters: Ints) -> Floats:
    """Return o of each text (D,) from the units (U,)."""
    text, at = np.tile(text, 2), np.concatenate([start, end])
    order = np.lexsort((at, text))
    opened = np.repeat([1, -1], len(start))[order]
    text, at = text[order], at[order]
    # After the last end in a text no unit is open, so the distance to the next text has no weight.
    c, m = np.cumsum(opened), raters[text]
    width = np.diff(at, append=0)
    mixed = np.bincount(text, c * (m - c) / (m - 1) * width, minlength=len(raters))
    return mixed.astype(float)


def _segments(marked: Marked, length: int) -> Iterator[tuple[int, int, bool]]:
    """Yield a rater's units and gaps in rising order, and whether each is a unit."""
    at = 0
    for start, end in _apart(marked, length):
        if at < start:
            yield at, start, False
        yield start, end, True
        at = end
    if at < length:
        yield at, length, False


def _apart(marked: Marked, length: int) -> list[Unit]:
    """Return a rater's units in rising order; those that overlap are merged."""
    found: list[Unit] = []
    for start, end in sorted((a, min(b, length)) for span in marked for a, b in span.fragments):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif start < end:
            found.append((start, end))
    return found
