import gc

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tandem.statistics import Resamples, compare_systems, holm, system_rank_correlation
from tandem.statistics.paired import RankCorrelation, kendall_of_rows, spearman_of_rows
from tests.statistics.cast import covers, number

pytestmark = pytest.mark.every_case


def systems(queries=30, count=5, seed=0, noise=0.5):
    """People's and a judge's scores of systems that differ by 0.3 each."""
    rng = np.random.default_rng(seed)
    truth = 0.3 * np.arange(count) + rng.normal(0, 1, (queries, 1))
    return (truth + rng.normal(0, noise, truth.shape) for _ in range(2))


@pytest.fixture
def garbage_stays(monkeypatch):
    """Keep statsmodels from collecting garbage at each call, which takes seconds in a test run."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.mark.usefixtures("garbage_stays")
@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values_agree_with_statsmodels(seed):
    p = np.random.default_rng(seed).random(9) ** 3
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_without_tests_there_are_no_adjusted_p_values():
    assert holm(np.empty(0)).tolist() == []


def test_holms_adjustment_matches_the_calculation_by_hand():
    # 0.01 * 3, then 0.02 * 2 = 0.04, then 0.03 * 1, which may not fall below the one before.
    assert holm(np.array([0.03, 0.01, 0.02])) == pytest.approx([0.04, 0.03, 0.04])


def test_every_pair_of_systems_is_tested_on_their_common_queries():
    people, _ = systems(count=3)
    people[:4, 0] = np.nan
    made = compare_systems(people, ["a", "b", "c"])
    assert [(c.a, c.b) for c in made] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert made[0].test.difference.n == 26
    for comparison, (i, j) in zip(made, [(0, 1), (0, 2), (1, 2)], strict=True):
        expected = stats.ttest_rel(people[:, i], people[:, j], nan_policy="omit").pvalue
        assert comparison.test.p_value == pytest.approx(expected)
    p = np.array([number(c.test.p_value) for c in made])
    assert [c.adjusted_p_value for c in made] == pytest.approx(list(holm(p)))


def test_a_pair_without_a_test_does_not_count_in_the_adjustment():
    people, _ = systems(count=3)
    people[:, 2] = people[:, 0]
    made = compare_systems(people, ["a", "b", "c"])
    assert (made[1].adjusted_p_value, made[1].test.reason) == (None, "all differences are equal")
    assert made[0].adjusted_p_value == pytest.approx(min(1, 2 * number(made[0].test.p_value)))


@pytest.mark.parametrize("seed", range(5))
def test_correlations_of_rows_agree_with_scipy(seed):
    x, y = np.random.default_rng(seed).integers(0, 5, (2, 7)).astype(float)
    assert kendall_of_rows(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    assert spearman_of_rows(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    stacked = kendall_of_rows(np.stack([x, y]), np.stack([y, y]))
    assert stacked == pytest.approx([float(kendall_of_rows(x, y)), 1])


@pytest.mark.parametrize("function", ["kendall", "spearman"])
def test_systems_are_ranked_by_their_means(function):
    people, judge = systems()
    made = system_rank_correlation(people, judge, function, draws=200)
    scipys = stats.kendalltau if function == "kendall" else stats.spearmanr
    assert made.value == pytest.approx(scipys(people.mean(axis=0), judge.mean(axis=0)).statistic)
    assert covers(made, number(made.value))
    assert "30 queries, 200 resamples" in made.method


def test_the_interval_matches_rankings_on_resampled_queries():
    people, judge = systems(noise=2, seed=1)
    people[::4, 2] = np.nan
    drawn = Resamples.draw(np.arange(30), 100, 0)
    made = system_rank_correlation(people, judge, draws=drawn, interval="percentile")
    one_by_one = []
    for times in drawn.draws.astype(int):
        again = [np.nanmean(np.repeat(s, times, axis=0), axis=0) for s in (people, judge)]
        one_by_one.append(stats.kendalltau(*again).statistic)
    assert (made.low, made.high) == pytest.approx(tuple(np.quantile(one_by_one, [0.025, 0.975])))


def test_a_judge_that_ranks_like_people_has_1_and_a_reversed_one_minus_1():
    people, _ = systems(noise=0.01)
    assert system_rank_correlation(people, 2 * people + 1).value == 1
    assert system_rank_correlation(people, -people).value == -1


def test_two_systems_have_no_rank_correlation():
    people, judge = systems(count=2)
    made = system_rank_correlation(people, judge)
    assert (made.value, made.reason) == (None, "fewer than three systems")


def test_equal_systems_have_no_rank_correlation():
    made = system_rank_correlation(np.full((20, 3), 0.1), np.full((20, 3), 0.3))
    assert made.value is None
    assert "all equal" in str(made.reason)


def test_a_system_without_scores_makes_the_correlation_undefined():
    people, judge = systems()
    people[:, 1] = np.nan
    made = system_rank_correlation(people, judge)
    assert made.value is None
    assert "has no scores" in str(made.reason)


def test_means_are_tied_if_they_agree_to_twelve_decimals():
    def tau(apart):
        people = np.tile([0.1, 0.2, 0.2 + apart, 0.4], (12, 1))
        return system_rank_correlation(people, np.tile([1.0, 2, 3, 4], (12, 1)), draws=0).value

    assert tau(2e-12) == pytest.approx(1)
    assert tau(2e-13) == pytest.approx(5 / np.sqrt(5 * 6))


def test_the_method_names_the_correlation():
    people, judge = systems(count=4)
    named: dict[RankCorrelation, str] = {
        "kendall": "Kendall's tau-b",
        "spearman": "Spearman's rank",
    }
    for function, name in named.items():
        made = system_rank_correlation(people, judge, function, draws=0)
        assert made.method.startswith(name)
        few = system_rank_correlation(people[:, :2], judge[:, :2], function)
        assert (few.value, few.n, few.reason) == (None, 2, "fewer than three systems")
        assert few.method.startswith(name)


def test_a_query_counts_if_both_people_and_judge_scored_any_system():
    people, judge = systems(queries=12, count=4)
    people[:3, 0], judge[2:5, 1:] = np.nan, np.nan
    assert "of 12 queries" in system_rank_correlation(people, judge, draws=50).method
    people[0], judge[1] = np.nan, np.nan
    assert "of 10 queries" in system_rank_correlation(people, judge, draws=50).method
