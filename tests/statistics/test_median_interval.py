"""The interval of a median by ranks, with the chances worked by hand."""

import numpy as np
import pytest

from analysis.statistics import median_interval


def test_the_interval_of_six_values_is_their_range():
    # Six values all lie on one side of the median with chance 2 / 64, three per cent.
    assert median_interval(np.array([3.0, 1.0, 6.0, 2.0, 5.0, 4.0])) == (1.0, 6.0)


def test_the_interval_of_nine_values_excludes_the_extremes():
    # One value or none below the median: (1 + 9) / 512, two per cent on each side.
    assert median_interval(np.arange(9.0)) == (1.0, 7.0)


@pytest.mark.parametrize("number", [0, 1, 5])
def test_fewer_than_six_values_have_no_interval(number):
    assert median_interval(np.arange(float(number))) is None


def test_the_interval_contains_the_median_of_a_skewed_distribution_as_often_as_stated():
    draws = np.random.default_rng(1).lognormal(0, 1.5, (2000, 24))
    ends = [median_interval(each) or (0, 0) for each in draws]
    assert np.mean([low <= 1 <= high for low, high in ends]) >= 0.94
