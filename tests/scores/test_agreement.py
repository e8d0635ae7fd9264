"""System rankings are compared correctly in blocks of resamples."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from tandem.scores import agreement
from tandem.scores.agreement import _excess
from tandem.statistics import Floats


def means(resamples: int, tables: int, systems: int) -> Floats:
    drawn = np.random.default_rng(0).integers(0, systems, (resamples, tables, systems))
    return drawn.astype(float)


@pytest.mark.parametrize("near", [1, 200, 1_000_000])
def test_the_excess_of_pairs_ordered_alike_is_the_same_for_any_block_size(
    monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    monkeypatch.setattr(agreement, "NEAR", near)
    given = means(7, 3, 5)
    for made, of in zip(_excess(given), given.astype(int), strict=True):
        for a in range(3):
            for b in range(3):
                by_hand = sum(
                    np.sign(of[a, x] - of[a, y]) * np.sign(of[b, x] - of[b, y])
                    for x, y in combinations(range(5), 2)
                )
                assert made[a, b] == by_hand


def test_many_resamples_take_no_more_memory_than_few() -> None:
    many = means(10_000, 2, 40)
    tracemalloc.start()
    try:
        _excess(many)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Signs of all pairs at once would take 78 MB as floats.
    assert peak < 20_000_000
