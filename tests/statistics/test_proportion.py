"""Intervals of shares match numbers worked by hand and statsmodels."""

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from tandem.statistics import clopper_pearson_interval, proportion, wilson_interval

pytestmark = pytest.mark.every_case

Z = 1.959963984540054


def test_the_wilson_interval_matches_the_calculation_by_hand():
    # p = 8/10, z² = 3.841459: middle (0.8 + 0.19207)/1.3841459 = 0.716738,
    # half 1.959964 sqrt(0.016 + 0.0096036)/1.3841459 = 0.226577.
    low, high = wilson_interval(8, 10)
    assert low == pytest.approx(0.490162, abs=1e-6)
    assert high == pytest.approx(0.943318, abs=1e-6)


def test_the_ends_of_the_wilson_interval_solve_the_score_equation():
    for successes, n in [(3, 7), (40, 41), (1, 250)]:
        for end in wilson_interval(successes, n):
            assert abs(successes / n - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n))


@pytest.mark.parametrize("n", [1, 4, 100])
def test_shares_of_none_and_all_have_an_end_at_0_and_1(n):
    # One end is exact, the other n/(n + z²) away.
    assert wilson_interval(0, n) == (0.0, pytest.approx(Z * Z / (n + Z * Z)))
    assert wilson_interval(n, n) == (pytest.approx(n / (n + Z * Z)), 1.0)


def test_more_labels_give_a_narrower_interval():
    widths = [high - low for low, high in (wilson_interval(n // 2, n) for n in (10, 100, 1000))]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_counts_that_are_not_a_share_are_refused(successes, n):
    with pytest.raises(ValueError, match="is not a share"):
        wilson_interval(successes, n)


def test_a_share_of_zero_labels_is_undefined_with_a_reason():
    found = proportion(0, 0, 0, "share", "nothing to compare with")
    assert (found.value, found.reason, found.n) == (None, "nothing to compare with", 0)


@pytest.mark.parametrize(("queries", "has_interval"), [(9, False), (10, True)])
def test_below_ten_queries_there_is_no_interval(queries, has_interval):
    found = proportion(15, 20, queries, "share", "nothing")
    assert found.value == 0.75
    assert ((found.low, found.high) == wilson_interval(15, 20)) is has_interval
    assert found.method == "share, Wilson interval"


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (3, 7), (45, 100), (12, 12)])
def test_both_intervals_agree_with_statsmodels(successes, n):
    for ours, method in ((wilson_interval, "wilson"), (clopper_pearson_interval, "beta")):
        assert ours(successes, n) == pytest.approx(proportion_confint(successes, n, method=method))


def test_the_exact_interval_of_none_of_twenty_ends_at_17_percent():
    # 1 - 0.025^(1/20) = 0.16843.
    assert clopper_pearson_interval(0, 20) == pytest.approx((0, 1 - 0.025**0.05))


def test_the_exact_interval_is_wider_than_the_wilson_interval():
    for successes in range(21):
        exact, score = clopper_pearson_interval(successes, 20), wilson_interval(successes, 20)
        assert exact[1] - exact[0] > score[1] - score[0]


def test_the_exact_interval_of_zero_labels_is_refused():
    with pytest.raises(ValueError, match="count again"):
        clopper_pearson_interval(0, 0)
