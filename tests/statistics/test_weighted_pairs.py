"""Kappa with quadratic weights from sums equals that of tables, and its slopes are derivatives."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tandem.statistics import (
    ceiling_estimates,
    coefficients,
    cohen_kappa,
    confusion,
    crowd_ceiling_estimates,
    gap_estimates,
    two_way,
    with_people_estimates,
)
from tandem.statistics.pairwise import PairMean, weighted_slopes
from tandem.statistics.two_way import two_way_pairs
from tests.statistics.cast import random_codes

WEIGHTED = coefficients.WEIGHTED.key
VALUES = np.array([0.0, 1.0, 2.5, 9.0])
CODES = random_codes(3, units=60, raters=4)
QUERIES = np.arange(60) % 15
PAIRS = list(combinations(range(4), 2))


def from_tables(codes: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    tables = [confusion(codes[:, a], codes[:, b], 4) for a, b in pairs]
    kappas = [float(cohen_kappa(table, "quadratic", VALUES)) for table in tables]
    return float(np.average(kappas, weights=[table.sum() for table in tables]))


def test_two_raters_match_the_calculation_by_hand() -> None:
    # Squared distances: 0, 1, 0, 4, sum 5. Ada has 0 0 1 2 and Bram 0 1 1 0: by their margins
    # sum (x - y)^2 over all 16 pairs is 4 * (5 + 2) - 2 * 3 * 2 = 16, of 4 units 4 in expectation.
    codes = np.array([[0, 0], [0, 1], [1, 1], [2, 0]])
    made = ceiling_estimates(codes, np.arange(4), 3, names=(WEIGHTED,))[WEIGHTED]
    assert made.value == pytest.approx(1 - 5 / 4)


def test_means_over_pairs_of_people_and_of_a_judge_match_their_tables() -> None:
    codes, queries = random_codes(3, units=240, raters=4), np.arange(240) % 15
    judge = random_codes(9, units=240, raters=1)[:, 0]
    both = (judge >= 0) & ((codes >= 0).sum(axis=1) >= 2)
    columns = np.where(both[:, None], np.column_stack([judge, codes]), -1)
    own = from_tables(columns, [(0, n) for n in range(1, 5)])
    people = from_tables(columns[:, 1:], PAIRS)
    found = with_people_estimates(
        judge, codes, queries, 4, names=(WEIGHTED,), values=VALUES, draws=10
    )[WEIGHTED]
    assert found.value == pytest.approx(own)
    assert found.method.startswith("Cohen's kappa with quadratic weights of the judge with each")
    gap = gap_estimates(judge, codes, queries, 4, names=(WEIGHTED,), values=VALUES, draws=10)[
        WEIGHTED
    ]
    assert gap.value == pytest.approx(own - people)


@pytest.mark.parametrize("constant", [0, 3])
def test_a_pair_with_a_single_category_has_none_and_is_left_out(constant: int) -> None:
    codes = np.column_stack([CODES[:, :2], np.full((60, 2), constant)])
    mean = PairMean(codes, np.array([(0, 1), (2, 3)]), 4, VALUES)
    assert mean.weighted_kappa(np.ones(60)) == pytest.approx(from_tables(codes, [(0, 1)]))
    alone = PairMean(codes, np.array([(2, 3)]), 4, VALUES)
    assert np.isnan(alone.weighted_kappa(np.ones(60)))
    assert weighted_slopes(codes, VALUES, np.array([2]), np.array([3])) is None


def test_a_crowd_has_the_same_mean_and_its_slopes_are_derivatives() -> None:
    one, other = np.array(PAIRS).T
    found = weighted_slopes(CODES, VALUES, one, other)
    assert found is not None
    value, slopes, entered = found
    assert value == pytest.approx(from_tables(CODES, PAIRS))
    assert entered.tolist() == ((CODES >= 0).sum(axis=1) >= 2).tolist()
    mean, step = PairMean(CODES, np.array(PAIRS), 4, VALUES), 1e-6
    for unit in range(60):
        more = mean.weighted_kappa(np.ones(60) + step * (np.arange(60) == unit))
        assert slopes[unit] == pytest.approx((more - value) / step, abs=1e-6)
    made = crowd_ceiling_estimates(CODES, QUERIES, 4, names=(WEIGHTED,), values=VALUES, fewest=1)
    assert made[WEIGHTED].value == pytest.approx(value)


def test_resampled_raters_have_it_only_on_an_ordered_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    ones = lambda raters, draws, seed: np.ones((draws, raters))  # noqa: E731
    monkeypatch.setattr(two_way, "sample_raters", ones)
    judge = np.zeros(60, int)
    assert WEIGHTED not in two_way_pairs(judge, CODES, QUERIES, 4, 5, 0)[0]
    ceiling, _, _ = two_way_pairs(judge, CODES, np.zeros(60, int), 4, 1, 0, VALUES)
    assert ceiling[WEIGHTED] == pytest.approx([from_tables(CODES, PAIRS)])
