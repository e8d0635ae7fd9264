"""Tests that follow from intervals: of a difference from 0, and of equivalence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.replacing import MARGIN, known_at, measure_family, simulated
from tandem.statistics import (
    Estimate,
    gap_and_equivalence,
    gap_estimates,
    height,
    interval_p_value,
    is_equivalent,
    strictness,
)

pytestmark = pytest.mark.every_case


def test_the_p_value_of_a_t_interval_is_that_of_the_t_test() -> None:
    values = np.random.default_rng(1).normal(0.3, 1, 25)
    test = stats.ttest_1samp(values, 0)
    low, high = test.confidence_interval()
    assert interval_p_value(values.mean(), low, high, 25) == pytest.approx(test.pvalue)


@pytest.mark.parametrize(("low", "high"), [(-0.001, 0.3), (-0.3, 0.001), (0.0, 0.2)])
def test_p_is_not_below_a_twentieth_if_the_interval_contains_0(low: float, high: float) -> None:
    assert interval_p_value((low + high) / 2, low, high, 40) >= 0.05 - 1e-12


def test_the_longer_side_of_a_skewed_interval_gives_a_larger_p_value() -> None:
    assert (
        interval_p_value(0.2, 0.1, 0.5, 40)
        < 0.05
        < interval_p_value(0.2, 0.1, 0.5, 40, longer=True)
    )
    both = (interval_p_value(0.2, 0.1, 0.3, 40, longer=each) for each in (False, True))
    assert next(both) == next(both)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.09, 0.05, True), (-0.11, 0.05, False), (-0.05, 0.1, False), (None, None, None)],
)
def test_equivalence_is_shown_if_the_narrow_interval_lies_within_the_margin(
    low: float | None, high: float | None, expected: bool | None
) -> None:
    assert is_equivalent(Estimate(0.0, low, high, 9, "m"), 0.1) is expected


def test_the_narrow_interval_lies_within_the_wide_one_and_the_gap_is_the_same() -> None:
    people, judge, clusters = simulated("as good", 30, 0.3, seed=0)
    both = gap_and_equivalence(judge, people, clusters, 2, draws=500)
    alone = gap_estimates(judge, people, clusters, 2, draws=500)
    for name, (wide, narrow) in both.items():
        assert alone[name] == wide
        assert narrow.value == wide.value
        assert wide.low is not None
        assert narrow.low is not None
        assert wide.high is not None
        assert narrow.high is not None
        assert narrow.value is not None
        assert narrow.high - narrow.low < 1.2 * (wide.high - wide.low)
        assert narrow.high - narrow.value == pytest.approx(narrow.value - narrow.low)
        assert "90 % BCa" in narrow.method


def test_a_judge_whose_gap_is_the_margin_is_seldom_called_equivalent() -> None:
    for side in (-1, 1):
        known = known_at(side * MARGIN, 0.3)
        shown = 0
        for seed in range(40):
            people, judge, clusters = simulated("as good", 40, 0.3, seed, known)
            of = gap_and_equivalence(
                judge, people, clusters, 2, names=("cohen_kappa",), draws=300, seed=seed
            )
            shown += is_equivalent(of["cohen_kappa"][1], MARGIN) is True
        assert shown <= 6, side


def test_of_six_judges_as_good_as_people_few_are_called_different_after_holm() -> None:
    shares = measure_family(40, 0.3, 25)
    assert shares["after Holm"] <= 0.17 < shares["one of six, by intervals"] + 0.1


def test_strictness_matches_the_calculation_by_hand() -> None:
    # Two of four yes are missed, one of four no is added; the last unit has no label of the judge.
    people = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1])
    judge = np.array([1, 1, 0, 0, 0, 0, 0, 1, -1])
    found = strictness(people, judge, np.arange(9), yes=1, no=0)
    assert found.value == pytest.approx(1 / 2 - 1 / 4)
    assert found.n == 8
    assert strictness(people[:4], judge[:4], np.arange(4), yes=1, no=0).value is None


def test_height_matches_the_calculation_by_hand() -> None:
    people, judge = np.array([1.0, 2, 3, 0, np.nan]), np.array([3.0, 2, 4, -1, 2])
    found = height(people, judge, np.arange(5))
    assert found.value == pytest.approx(2 / 4 - 1 / 4)
