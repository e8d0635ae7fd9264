"""The interval of a median follows from ranks, with chances worked by hand."""

import numpy as np
import pytest

from tandem.statistics import median_interval


def test_the_interval_of_six_values_is_their_range():
    # All six values are on one side of the median with chance 2 / 64, three per cent.
    assert median_interval(np.array([3.0, 1.0, 6.0, 2.0, 5.0, 4.0])) == (1.0, 6.0)


def test_the_interval_of_nine_values_excludes_the_extremes():
    # At most one value is below the median with chance (1 + 9) / 512: two per cent on each side.
    assert median_interval(np.arange(9.0)) == (1.0, 7.0)


@pytest.mark.parametrize("number", [0, 1, 5])
def test_fewer_than_six_values_have_no_interval(number):
    assert median_interval(np.arange(float(number))) is None


def test_the_interval_contains_the_median_of_a_skewed_distribution_as_often_as_stated():
    draws = np.random.default_rng(1).lognormal(0, 1.5, (2000, 24))
    ends = [median_interval(each) or (0, 0) for each in draws]
    assert np.mean([low <= 1 <= high for low, high in ends]) >= 0.94


def test_clusters_of_one_value_each_do_not_change_the_interval():
    values = np.random.default_rng(2).normal(size=40)
    assert median_interval(values, clusters=np.arange(40)) == median_interval(values)


def test_clusters_of_equal_values_widen_the_interval():
    # 12 clusters of 5 equal values. Each has 5 or 0 values below the median, 2.5 away from half;
    # the t interval of the share is 0.5 +- 2.201 * sqrt(12/11 * 12 * 2.5**2) / 60, or 0.5 +- 0.332,
    # and the rank floor(60 * 0.168) = 10 is a value of the second cluster.
    values, clusters = np.repeat(np.arange(12.0), 5), np.repeat(np.arange(12), 5)
    assert median_interval(values, clusters=clusters) == (1.0, 10.0)
    low, high = median_interval(values) or (0, 0)
    assert (low, high) == (4.0, 7.0)


def test_below_ten_clusters_there_is_no_interval():
    values = np.arange(90.0)
    assert median_interval(values, clusters=np.arange(90) % 9) is None
    assert median_interval(values, clusters=np.arange(90) % 10) is not None


def test_the_interval_by_clusters_contains_the_median_where_the_plain_one_often_does_not():
    random, clusters = np.random.default_rng(3), np.repeat(np.arange(15), 8)
    shared = random.normal(size=(600, 15))[:, clusters]
    draws = np.sqrt(0.5) * shared + np.sqrt(0.5) * random.normal(size=(600, 120))
    plain = [median_interval(each) or (0, 0) for each in draws]
    aware = [median_interval(each, clusters=clusters) or (0, 0) for each in draws]
    assert np.mean([low <= 0 <= high for low, high in plain]) < 0.85
    assert np.mean([low <= 0 <= high for low, high in aware]) >= 0.94
