"""Means between two bounds, such as shares, have Wilson's interval for an effective size."""

import numpy as np
import pytest

from tandem.statistics import (
    SHARE,
    difference_by_cluster,
    mean_by_cluster,
    mean_of_clusters,
    people_only_mean,
)
from tests.statistics.cast import interval, width

T11, T19 = 2.200985, 2.093024
TWELVE, TWENTY = np.arange(12), np.arange(20)


def wilson(share: float, size: float, t: float) -> tuple[float, float]:
    """Wilson's interval, written as the solutions of (share - p)^2 = t^2 p (1 - p) / size."""
    a, b, c = 1 + t**2 / size, -2 * share - t**2 / size, share**2
    root = (b**2 - 4 * a * c) ** 0.5
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_twelve_equal_queries_have_an_interval_with_width(value):
    low = 12 / (12 + T11**2)
    assert low == pytest.approx(0.712, abs=1e-3)
    expected = (low, 1.0) if value else (0.0, 1 - low)
    values = np.full(12, value)
    for made in (
        mean_by_cluster(values, TWELVE, bounds=SHARE),
        mean_by_cluster(np.repeat(values, 10), np.repeat(TWELVE, 10), bounds=SHARE),
        mean_of_clusters(values, TWELVE, bounds=SHARE),
        people_only_mean(values, SHARE),
    ):
        assert interval(made) == pytest.approx(expected, abs=1e-5)
        assert "95 % Wilson interval" in made.method


def test_the_effective_size_comes_from_the_variance_of_query_means():
    # Ten query means of 0.6 and ten of 0.8: s2 = 20/19 * 0.01, s2/n = 0.01/19, and
    # 0.7 * 0.3 * 19 / 0.01 = 399.
    values = np.tile([0.6, 0.8], 10)
    made = mean_by_cluster(values, TWENTY, bounds=SHARE)
    assert interval(made) == pytest.approx(wilson(0.7, 399, T19), abs=1e-6)
    assert "clustered by 20 queries, effective size 399" in made.method


def test_the_effective_size_is_at_least_the_number_of_queries():
    # One yes or no a query, 14 of 20: by variance the size would be 19.
    values = (TWENTY < 14).astype(float)
    made = mean_by_cluster(values, TWENTY, bounds=SHARE)
    assert interval(made) == pytest.approx(wilson(0.7, 20, T19), abs=1e-6)


def test_equal_query_means_between_the_bounds_count_as_independent_cells():
    values, clusters = np.tile([1.0, 0.0, 1.0, 1.0], 12), np.repeat(TWELVE, 4)
    made = mean_by_cluster(values, clusters, bounds=SHARE)
    assert interval(made) == pytest.approx(wilson(0.75, 48, T11), abs=1e-6)
    # A single query that is hardly different does not make the mean certain.
    values = np.r_[np.full(11, 0.5), 0.51]
    assert width(mean_by_cluster(values, TWELVE, bounds=SHARE)) > 0.5


def test_few_queries_away_from_the_end_say_little_about_the_variance():
    # One of 20 queries is 0.9, the others 1: p = 0.995, s2/n = (0.1^2 / 20) / 20, and
    # 0.995 * 0.005 / 0.000025 = 199. It counts 1/5: the inverse of the size is
    # 1/5 * 1/199 + 4/5 * 1/20.
    size = 1 / (0.2 / 199 + 0.8 / 20)
    cells = np.ones(200)
    cells[0] = 0.0
    for made in (
        mean_by_cluster(np.r_[0.9, np.ones(19)], TWENTY, bounds=SHARE),
        mean_by_cluster(cells, np.repeat(TWENTY, 10), bounds=SHARE),
    ):
        assert interval(made) == pytest.approx(wilson(0.995, size, T19), abs=1e-4)


def test_t_has_fewer_degrees_of_freedom_if_queries_differ_in_size():
    # Ten queries of one item and ten of three: (10 + 30)^2 / (10 + 90) = 16 queries.
    sizes = np.repeat([1, 3], 10)
    made = mean_by_cluster(np.ones(40), np.repeat(TWENTY, sizes), bounds=SHARE)
    assert interval(made) == pytest.approx((16 / (16 + 2.131450**2), 1.0), abs=1e-6)
    assert "20 queries, 16.0 by their sizes" in made.method


def test_queries_of_very_unequal_sizes_have_no_interval():
    sizes = np.r_[np.ones(19, int), 200]
    made = mean_by_cluster(np.ones(219), np.repeat(TWENTY, sizes), bounds=SHARE)
    assert (made.value, made.low) == (1.0, None)
    assert "20 queries of very unequal sizes count as 1.2" in made.method


def test_other_bounded_scales_have_the_interval_of_a_share_mapped_to_them():
    values = np.random.default_rng(3).random(20)
    share = np.array(interval(mean_by_cluster(values, TWENTY, bounds=SHARE)))
    likert = interval(mean_by_cluster(1 + 4 * values, TWENTY, bounds=(1, 5)))
    assert likert == pytest.approx(tuple(1 + 4 * share))


def test_a_value_beyond_the_bounds_widens_them():
    made = mean_by_cluster(np.r_[np.ones(19), 1.05], TWENTY, bounds=SHARE)
    assert made.value is not None
    assert made.value == pytest.approx(1.0025)
    assert made.value < interval(made)[1] <= 1.05


def test_an_unbounded_mean_keeps_its_t_interval_and_has_none_without_width():
    values = np.arange(12.0)
    half = T11 * values.std(ddof=1) / 12**0.5
    made = mean_by_cluster(values, TWELVE)
    assert interval(made) == pytest.approx((5.5 - half, 5.5 + half), abs=1e-5)
    same = mean_by_cluster(np.full(12, 3.0), TWELVE)
    assert (same.value, same.low) == (3.0, None)
    assert "no interval: all queries have the same mean" in same.method


@pytest.mark.parametrize("differing", [4, 5])
def test_a_difference_has_an_interval_if_five_queries_differ(differing):
    made = difference_by_cluster((differing > TWELVE).astype(float), TWELVE)
    assert made.value == pytest.approx(differing / 12)
    assert (made.low is None) == (differing < 5)


def test_the_interval_of_a_difference_is_cut_at_its_bounds():
    made = difference_by_cluster(np.r_[np.full(12, 1.0), np.full(5, -1)], np.arange(17))
    cut = difference_by_cluster(
        np.r_[np.full(12, 1.0), np.full(5, -1)], np.arange(17), "", (-1, 0.5)
    )
    assert interval(cut) == (interval(made)[0], 0.5)
