import re

import numpy as np
import pytest

from tandem.statistics import calibration
from tandem.statistics.curves import equal_count_bins
from tests.statistics.cast import number

TWENTY = np.arange(400) // 20


def honest(n=400, seed=0):
    """Perfectly calibrated probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def test_calibration_of_four_units_matches_the_calculation_by_hand():
    # Bins {0.1, 0.2} and {0.6, 0.9}; people 0 1 | 1 1.
    # Brier (0.01 + 0.64 + 0.16 + 0.01)/4 = 0.205.
    # Errors |0.15 - 0.5| and |0.75 - 1|, each on half of the units: 0.3.
    made = calibration(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 1, 1, 1]), np.arange(4), 2)
    assert made.brier.value == pytest.approx(0.205)
    assert made.expected_calibration_error.value == pytest.approx(0.3)
    assert [(b.units, b.probability, b.share.value) for b in made.reliability] == [
        (2, pytest.approx(0.15), 0.5),
        (2, pytest.approx(0.75), 1.0),
    ]


def test_bins_have_about_equal_counts_and_keep_equal_values_together():
    assert np.bincount(equal_count_bins(np.arange(100.0), 10)).tolist() == [10] * 10
    values = np.array([0.0] * 50 + [1.0] * 50)
    assert np.bincount(equal_count_bins(values, 10)).tolist() == [50, 50]
    assert equal_count_bins(np.array([0.5]), 10).tolist() == [0]


def test_a_judge_that_is_certain_and_right_has_no_error():
    people = np.arange(40) % 2
    made = calibration(people.astype(float), people, np.arange(40))
    assert (made.brier.value, made.expected_calibration_error.value) == (0, 0)


def test_a_judge_that_is_certain_and_wrong_has_the_largest_error():
    people = np.arange(40) % 2
    made = calibration((1 - people).astype(np.float64), people, np.arange(40))
    assert (made.brier.value, made.expected_calibration_error.value) == (1, 1)


def test_a_calibrated_judge_has_a_smaller_error_than_an_overconfident_one():
    p, people = honest()
    good = calibration(p, people, TWENTY, draws=50).expected_calibration_error
    sure = calibration(np.where(p > 0.5, 0.99, 0.01), people, TWENTY, draws=50)
    assert number(good.value) < 0.08
    assert number(sure.expected_calibration_error.value) > 0.2


def test_the_curve_has_intervals_over_queries():
    p, people = honest()
    made = calibration(p, people, TWENTY, draws=300)
    assert len(made.reliability) == 10
    assert all(re.search(r"of (1\d|20) queries", b.share.method) for b in made.reliability)
    # Bins near 0 and 1 may have no interval: too few of their queries have the rarer answer.
    given = [b for b in made.reliability if b.share.low is not None]
    inside = [number(b.share.low) <= b.probability <= number(b.share.high) for b in given]
    assert len(given) >= 7
    assert sum(inside) >= len(given) - 1


@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_the_interval_of_the_calibration_error_contains_the_truth_in_most_studies(shift):
    """For a calibrated judge, whose estimated error is never 0, and for one that is too low."""
    held = 0
    for seed in range(60):
        p, people = honest(200, seed)
        p = np.clip(p - shift, 0, 1)
        error = calibration(p, people, TWENTY[:200], draws=200).expected_calibration_error
        # Uniform probabilities less 0.2, cut at 0: 80 % err by 0.2, the others by 0.1 on average.
        held += number(error.low) <= (0.18 if shift else 0) <= number(error.high)
        assert number(error.high) - number(error.low) < 0.4
    assert held >= 55


def test_units_without_probability_or_label_are_left_out():
    p = np.array([0.1, 0.2, 0.6, 0.9, np.nan, 0.3])
    made = calibration(p, np.array([0, 1, 1, 1, 1, -1]), np.arange(6), 2)
    assert (made.brier.value, made.brier.n) == (pytest.approx(0.205), 4)


def test_without_any_unit_every_figure_is_undefined():
    made = calibration(np.array([np.nan]), np.array([1]), np.array([0]))
    assert (made.brier.reason, made.reliability) == ("no values", [])
    assert made.expected_calibration_error.reason == "no values"


def test_a_rating_above_one_is_refused_as_a_probability():
    with pytest.raises(ValueError, match="between 0 and 1"):
        calibration(np.array([3.0]), np.array([1]), np.array([0]))


def test_a_bin_of_few_queries_has_no_interval():
    # The upper bin has twenty units, but all of one query.
    p, queries = np.repeat([0.1, 0.9], 20), np.append(np.arange(20), np.full(20, 19))
    low, high = calibration(p, np.tile([0, 1], 20), queries, 2, draws=100).reliability
    assert low.share.low is not None
    assert (high.share.value, high.share.low) == (0.5, None)


def test_the_method_says_how_the_interval_was_found_or_why_there_is_none():
    p, people = honest()
    made = calibration(p, people, TWENTY, draws=50).expected_calibration_error
    assert "within reach of 95 % of resamples: 20 queries" in made.method
    few = calibration(p, people, TWENTY // 4, draws=50).expected_calibration_error
    assert (few.low, few.high) == (None, None)
    assert "5 queries" in few.method


def test_a_bin_in_which_few_queries_have_the_rarer_label_has_no_interval():
    # Each bin has twelve queries of two units; in the upper one only four queries have a no.
    p, queries = np.repeat([0.1, 0.9], 24), np.tile(np.arange(12).repeat(2), 2)
    odd = np.arange(24) % 2
    people = np.r_[np.arange(24) % 5 < 2, np.where(np.arange(24) < 8, odd, 1)].astype(np.int64)
    low, high = calibration(p, people, queries, 2, draws=100).reliability
    assert low.share.low is not None
    assert high.share.low is None
    assert "4 of 12 queries hold enough of the rarer labels" in high.share.method


@pytest.mark.parametrize(
    ("probability", "refused"), [(0.0, False), (1.0, False), (-0.01, True), (1.01, True)]
)
def test_a_probability_outside_zero_to_one_is_refused(probability, refused):
    p = np.full(12, probability)
    if refused:
        with pytest.raises(ValueError, match="between 0 and 1"):
            calibration(p, np.zeros(12, int), np.arange(12), draws=0)
    else:
        made = calibration(p, np.zeros(12, int), np.arange(12), draws=0)
        assert made.brier.value == probability


def test_many_probabilities_are_put_into_ten_bins():
    made = calibration(np.arange(40) / 40, np.arange(40) % 2, np.arange(40), draws=0)
    assert [each.units for each in made.reliability] == [4] * 10


def test_the_interval_of_a_bin_counts_the_queries_with_a_unit_in_it():
    p = np.r_[np.full(12, 0.2), np.full(9, 0.8)]
    queries = np.r_[np.arange(12), np.arange(9)]
    y = (np.arange(21) % 3 == 0).astype(int)
    low, high = calibration(p, y, queries, draws=50).reliability
    assert low.share.low is not None
    assert (high.share.low, "9 queries" in high.share.method) == (None, True)
