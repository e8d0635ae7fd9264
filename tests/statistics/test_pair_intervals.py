"""The interval of a pair of systems has the level of its adjusted p-value."""

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import adjust_tests, compare_systems, holm, paired_t, wilcoxon_signed_rank
from tests.statistics.cast import interval

TWENTY = np.arange(20)


def scores(seed: int, systems: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.2, (20, systems)) + 0.06 * np.arange(systems)


@pytest.mark.parametrize("seed", range(12))
def test_an_interval_excludes_zero_exactly_if_the_adjusted_p_value_is_below_5_percent(seed):
    for each in compare_systems(scores(seed), "abcd"):
        low, high = interval(each.test.difference)
        assert each.adjusted_p_value is not None
        assert (low > 0 or high < 0) == (each.adjusted_p_value < 0.05)


def test_the_level_is_the_share_by_which_holm_multiplies_p():
    found = compare_systems(scores(3, 3), "abc")
    raw = np.array([each.test.p_value for each in found])
    order = np.argsort(raw)
    # Three tests: the smallest p counts three times, the next twice, unless that is smaller.
    expected = np.maximum.accumulate(np.array([3, 2, 1]) * raw[order]) / raw[order]
    for place, times in zip(order, expected, strict=True):
        made = found[place].test.difference
        values = scores(3, 3)
        a, b = [(0, 1), (0, 2), (1, 2)][place]
        difference = values[:, a] - values[:, b]
        half = stats.t.ppf(1 - 0.025 / times, 19) * difference.std(ddof=1) / 20**0.5
        assert interval(made) == pytest.approx((difference.mean() - half, difference.mean() + half))
        assert ("widened" in made.method) == (times > 1)


def test_a_single_pair_keeps_its_95_percent_interval():
    values = scores(1, 2)
    (each,) = compare_systems(values, "ab")
    assert each.test == paired_t(values[:, 0], values[:, 1], TWENTY)


def test_other_paired_tests_are_adjusted_alike():
    values = scores(5, 3)
    tests = [wilcoxon_signed_rank(values[:, 0] - values[:, n]) for n in (1, 2)]
    made = adjust_tests(tests)
    raw = np.array([test.p_value for test in tests], float)
    assert [adjusted for _, adjusted in made] == pytest.approx(holm(raw).tolist())
    assert "widened to 97.50 % by Holm's adjustment" in made[raw.argmin()][0].difference.method


def test_a_pair_that_differs_on_fewer_than_five_queries_is_not_tested_by_t():
    one = np.random.default_rng(2).random(20)
    for differing in (4, 5):
        test = paired_t(one, one + 0.1 * (differing > TWENTY) * (1 + TWENTY), TWENTY)
        assert (test.p_value is None) == (test.difference.low is None) == (differing < 5)
    assert paired_t(one, one + (TWENTY < 1), TWENTY).reason == (
        "the two differ on 1 of 20 queries, at least 5 must"
    )
