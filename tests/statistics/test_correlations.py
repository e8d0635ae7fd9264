import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from tandem.statistics import Resamples, Tally, correlation, correlation_estimates
from tandem.statistics.correlation import distinct_points, pairs_of_clusters, tau_without_one
from tests.statistics.cast import covers, number, width

pytestmark = pytest.mark.every_case

SCIPY = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}
TWELVE = np.repeat(np.arange(12), 5)


def scores(seed, n=60, ties=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    return (np.round(x * 2), np.round(y * 2)) if ties else (x, y)


def by_scipy(name, x, y, clusters, drawn):
    """The correlation of each resample, with each query repeated as often as it was drawn."""
    _, index = np.unique(clusters, return_inverse=True)
    times = drawn.draws[:, index].astype(int)
    return [SCIPY[name](np.repeat(x, w), np.repeat(y, w)).statistic for w in times]


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("ties", [True, False])
def test_value_and_interval_match_scipy_on_resampled_queries(name, ties):
    x, y = scores(3, ties=ties)
    drawn = Resamples.draw(TWELVE, 80, 4)
    made = correlation_estimates(x, y, TWELVE, [name], draws=drawn, interval="percentile")[name]
    low, high = np.quantile(by_scipy(name, x, y, TWELVE, drawn), [0.025, 0.975])
    assert made.value == pytest.approx(SCIPY[name](x, y).statistic)
    assert (made.low, made.high) == pytest.approx((low, high))
    assert (made.n, "percentile bootstrap of 12 queries" in made.method) == (60, True)


@pytest.mark.parametrize("name", SCIPY)
def test_units_that_are_their_own_queries_are_resampled_one_by_one(name):
    x, y = scores(5)
    made = correlation_estimates(x, y, np.arange(60), [name], draws=400)[name]
    drawn = Resamples.draw(np.arange(60), 400, 9)
    low, high = np.quantile(by_scipy(name, x, y, np.arange(60), drawn), [0.025, 0.975])
    assert (made.low, made.high) == pytest.approx((low, high), abs=0.05)


def test_leaving_a_query_out_gives_kendalls_tau_of_the_other_units():
    x, y = scores(6, ties=True)
    points, index = distinct_points(x, y)
    table = Tally.of(index, len(points), TWELVE).table
    left_out = tau_without_one(*pairs_of_clusters(table, points))
    for query in range(12):
        stay = query != TWELVE
        assert left_out[query] == pytest.approx(stats.kendalltau(x[stay], y[stay]).statistic)


def test_concordant_pairs_and_ties_between_queries_match_the_count_by_hand():
    # Query 0 has (1, 1) and (2, 2), query 1 has (1, 3): within 0 a concordant pair, met twice;
    # across, (1, 1) ties with (1, 3) in x and (2, 2) is discordant with it.
    points = np.array([[1.0, 1], [2, 2], [1, 3]])
    excess, in_x, in_y = pairs_of_clusters(sparse.csr_array([[1.0, 1, 0], [0, 0, 1]]), points)
    assert excess.tolist() == [[2, -1], [-1, 0]]
    assert in_x.tolist() == [[2, 1], [1, 0]]
    assert in_y.tolist() == [[2, 2], [2, 0]]


def test_kendalls_tau_is_the_same_by_pairs_of_queries_and_by_pairs_of_points(monkeypatch):
    x, y = scores(7, ties=False)
    of_queries = correlation_estimates(x, y, TWELVE, ["kendall"], draws=100)
    monkeypatch.setattr(correlation, "MAXIMUM_IN_CLUSTERS", 0)
    of_points = correlation_estimates(x, y, TWELVE, ["kendall"], draws=100)
    assert of_queries["kendall"].low == pytest.approx(number(of_points["kendall"].low))
    assert of_queries["kendall"].high == pytest.approx(number(of_points["kendall"].high))


@pytest.mark.parametrize("block", [1, 300])
def test_comparing_points_in_blocks_gives_the_same_result(monkeypatch, block):
    x, y = scores(8, ties=False)
    whole = correlation_estimates(x, y, TWELVE, ["kendall"], draws=50)
    monkeypatch.setattr(correlation, "BLOCK", block)
    assert correlation_estimates(x, y, TWELVE, ["kendall"], draws=50) == whole


def test_all_three_correlations_have_names_and_intervals():
    x, y = scores(0)
    made = correlation_estimates(x, y, TWELVE, detail=", mean human rating", draws=300)
    names = ["Spearman's rank correlation", "Kendall's tau-b", "Pearson's correlation"]
    assert [e.method.split(";")[0] for e in made.values()] == [
        f"{name}, mean human rating" for name in names
    ]
    assert all(width(e) > 0 and covers(e, number(e.value)) for e in made.values())


def test_units_without_one_of_the_scores_are_left_out():
    x, y = scores(0)
    gaps = np.where(np.arange(60) < 10, np.nan, x)
    made = correlation_estimates(gaps, y, TWELVE, draws=300)["pearson"]
    assert made.value == pytest.approx(stats.pearsonr(x[10:], y[10:]).statistic)
    assert (made.n, "10 queries" in made.method) == (50, True)


def test_a_constant_score_has_no_correlation_and_says_why():
    made = correlation_estimates(np.ones(20), np.arange(20.0), np.arange(20), draws=20)
    assert {e.reason for e in made.values()} == {"one of the two scores is constant"}


def test_one_unit_has_no_correlation():
    made = correlation_estimates(np.ones(1), np.ones(1), np.arange(1))
    assert made["spearman"].reason == "fewer than two units have both scores"


def test_beyond_the_limit_kendalls_tau_has_a_value_but_no_interval(monkeypatch):
    monkeypatch.setattr(correlation, "MAXIMUM_POINTS", 30)
    x, y = scores(1, n=40, ties=False)
    made = correlation_estimates(x, y, np.arange(40), draws=50)
    assert made["kendall"].value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert (made["kendall"].low, "too many different points" in made["kendall"].method) == (
        None,
        True,
    )
    assert made["spearman"].low is not None


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(24)))
def test_the_order_of_units_does_not_matter(order):
    x, y = scores(6, n=24)
    queries = np.repeat(np.arange(12), 2)
    ours = correlation_estimates(x, y, queries, draws=40)
    theirs = correlation_estimates(x[order], y[order], queries[order], draws=40)
    for name, made in ours.items():
        assert (made.value, made.low) == pytest.approx((theirs[name].value, theirs[name].low))


def test_many_points_can_be_resampled_if_they_are_in_few_queries(monkeypatch):
    monkeypatch.setattr("tandem.statistics.correlation.MAXIMUM_POINTS", 20)
    rng = np.random.default_rng(8)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)

    def low(clusters, points):
        some = x[:points], y[:points], clusters[:points]
        return correlation_estimates(*some, ("kendall",), draws=20)["kendall"].low

    fifteen, alone = np.arange(60) % 15, np.arange(60)
    assert low(fifteen, 60) is not None
    assert low(alone, 60) is None
    assert low(alone, 20) is not None
    assert low(alone, 21) is None
    monkeypatch.setattr("tandem.statistics.correlation.MAXIMUM_IN_CLUSTERS", 60)
    assert low(fifteen, 60) is not None
    monkeypatch.setattr("tandem.statistics.correlation.MAXIMUM_IN_CLUSTERS", 59)
    assert low(fifteen, 60) is None
