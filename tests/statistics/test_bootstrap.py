import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    MINIMUM_CLUSTERS,
    Resamples,
    cluster_weights,
    estimate,
    estimate_from,
    mean_by_cluster,
    percentile_interval,
)
from tests.statistics.cast import covers, width

pytestmark = pytest.mark.every_case

TWENTY = np.repeat(np.arange(20), 5)


def clustered(rng, queries, items, icc):
    """Normal values with the share `icc` of their variance between queries; the mean is 0."""
    between = rng.normal(0, np.sqrt(icc), (queries, 1))
    return (between + rng.normal(0, np.sqrt(1 - icc), (queries, items))).ravel()


def mean_of(values):
    return lambda w: values.mean() if w is None else (w @ values) / w.sum(axis=1)


def test_equal_seeds_give_equal_weights():
    assert (cluster_weights(TWENTY, 50, 7) == cluster_weights(TWENTY, 50, 7)).all()
    assert (cluster_weights(TWENTY, 50, 7) != cluster_weights(TWENTY, 50, 8)).any()


def test_all_items_of_a_query_are_resampled_together():
    weights = cluster_weights(TWENTY, 50, 0).reshape(50, 20, 5)
    assert (weights == weights[:, :, :1]).all()


def test_each_resample_has_as_many_queries_as_the_data():
    weights = cluster_weights(TWENTY, 50, 0)
    assert (weights[:, ::5].sum(axis=1) == 20).all()


def test_the_items_of_a_query_need_not_be_adjacent():
    scattered = np.tile([907, 3, 55], 4)
    weights = cluster_weights(scattered, 30, 0)
    assert (weights[:, 0] == weights[:, 3]).all()
    assert (weights[:, 0:3].sum(axis=1) == 3).all()


@pytest.mark.parametrize(("block", "lengths"), [(700, [7] * 7 + [1]), (1, [1] * 50)])
def test_the_blocks_concatenated_are_the_weights(monkeypatch, block, lengths):
    monkeypatch.setattr("tandem.statistics.tally.BLOCK", block)
    resamples = Resamples.draw(TWENTY, 50, 0)
    blocks = list(resamples.blocks())
    assert [len(b) for b in blocks] == lengths
    assert (np.concatenate(blocks) == cluster_weights(TWENTY, 50, 0)).all()


def test_the_interval_is_the_central_part_of_the_resamples():
    # 0, 1, .., 1000: 2.5 % below 25, 2.5 % above 975.
    assert percentile_interval(np.arange(1001.0)) == pytest.approx((25, 975))
    assert percentile_interval(np.arange(1001.0), level=0.9) == pytest.approx((50, 950))


def test_a_few_undefined_resamples_are_left_out_of_the_interval():
    values = np.r_[np.arange(1001.0), [np.nan] * 20]
    assert percentile_interval(values) == pytest.approx((25, 975))


def test_many_undefined_resamples_leave_no_interval():
    assert percentile_interval(np.r_[np.arange(90.0), [np.nan] * 10]) is None
    assert percentile_interval(np.array([])) is None


def test_below_ten_queries_there_is_a_value_and_no_interval():
    values, nine = np.arange(45.0), np.repeat(np.arange(9), 5)
    made = estimate(mean_of(values), cluster_weights(nine, 100, 0), nine, 45, "mean")
    assert (made.value, made.low, made.high) == (22.0, None, None)
    assert "9 queries" in made.method


def test_ten_queries_are_enough_for_an_interval():
    values, ten = np.arange(50.0), np.repeat(np.arange(MINIMUM_CLUSTERS), 5)
    made = estimate(mean_of(values), cluster_weights(ten, 100, 0), ten, 50, "mean")
    assert covers(made, 24.5)
    assert width(made) > 0
    assert "percentile bootstrap of 10 queries, 100 resamples" in made.method


def test_weights_and_resamples_give_the_same_estimate(monkeypatch):
    monkeypatch.setattr("tandem.statistics.tally.BLOCK", 3000)
    values = np.random.default_rng(0).normal(size=100)
    drawn = Resamples.draw(TWENTY, 200, 3)
    whole = estimate(mean_of(values), drawn.weights(), TWENTY, 100, "mean")
    assert estimate(mean_of(values), drawn, TWENTY, 100, "mean").low == pytest.approx(whole.low)


def test_an_undefined_value_has_the_given_reason():
    made = estimate(lambda w: float("nan"), None, TWENTY, 100, "kappa", "no labels")
    assert (made.value, made.reason) == (None, "no labels")


def test_the_method_says_if_too_many_resamples_are_undefined():
    resampled = np.r_[np.ones(50), [np.nan] * 50]
    made = estimate_from(1.0, resampled, 20, 100, "kappa", "")
    assert made.low is None
    assert "undefined in many resamples" in made.method


def test_without_resamples_the_method_says_so():
    assert "not resampled" in estimate(lambda w: 1.0, None, TWENTY, 100, "kappa").method


def test_with_queries_of_equal_size_the_mean_has_the_t_interval_of_query_means():
    values = clustered(np.random.default_rng(1), 20, 5, 0.3)
    means = values.reshape(20, 5).mean(axis=1)
    low, high = stats.t.interval(0.95, 19, means.mean(), stats.sem(means))
    made = mean_by_cluster(values, TWENTY)
    assert (made.value, made.low, made.high) == pytest.approx((values.mean(), low, high))


def test_with_queries_of_unequal_size_the_item_mean_has_a_linearised_interval():
    # Ten queries: nine of one item 0 and one of eleven items 1: the mean is 11/20 = 0.55.
    # Residuals s - mean*n: 9 times -0.55 and 11 - 6.05 = 4.95; squares 9*0.3025 + 24.5025 =
    # 27.225; variance 10/9 * 27.225 / 400 = 0.075625, root 0.275; t(9) = 2.262157.
    values, clusters = np.r_[np.zeros(9), np.ones(11)], np.r_[np.arange(9), [9] * 11]
    made = mean_by_cluster(values, clusters)
    half = 2.262157 * 0.275
    assert (made.value, made.low, made.high) == pytest.approx((0.55, 0.55 - half, 0.55 + half))


def test_items_without_a_value_do_not_enter_the_mean():
    made = mean_by_cluster(np.r_[np.nan, np.arange(20.0)], np.r_[0, np.arange(20)])
    assert (made.value, made.n) == (9.5, 20)


def test_a_mean_without_values_is_undefined():
    made = mean_by_cluster(np.array([np.nan]), np.array([0]))
    assert (made.value, made.n, made.reason) == (None, 0, "no values")


def test_a_mean_below_ten_queries_has_no_interval():
    made = mean_by_cluster(np.arange(20.0), np.repeat(np.arange(4), 5))
    assert (made.value, made.low) == (9.5, None)


@pytest.mark.parametrize(("queries", "icc"), [(20, 0.1), (20, 0.3), (50, 0.3)])
def test_the_t_interval_covers_the_truth_as_often_as_it_says(queries, icc):
    rng, clusters = np.random.default_rng(5), np.repeat(np.arange(queries), 15)
    runs = [mean_by_cluster(clustered(rng, queries, 15, icc), clusters) for _ in range(1000)]
    assert np.mean([covers(run, 0) for run in runs]) >= 0.93


@pytest.mark.parametrize(("queries", "at_least"), [(20, 0.91), (50, 0.93)])
def test_the_bootstrap_interval_covers_the_truth_nearly_as_often(queries, at_least):
    rng, clusters = np.random.default_rng(6), np.repeat(np.arange(queries), 5)
    covered = []
    for seed in range(600):
        values = clustered(rng, queries, 5, 0.2)
        weights = cluster_weights(clusters, 300, seed)
        made = estimate(mean_of(values), weights, clusters, len(values), "mean")
        covered.append(covers(made, 0))
    assert np.mean(covered) >= at_least


def test_weights_are_created_one_block_at_a_time(monkeypatch):
    drawn = Resamples.draw(np.arange(6) // 2, 7, 0)
    for block, sizes in ((18, [3, 3, 1]), (6, [1] * 7), (5, [1] * 7), (42, [7])):
        monkeypatch.setattr("tandem.statistics.tally.BLOCK", block)
        blocks = list(drawn.blocks())
        assert [len(each) for each in blocks] == sizes
        assert (np.concatenate(blocks) == drawn.weights()).all()
