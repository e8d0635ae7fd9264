import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    Bootstrap,
    Resamples,
    Tally,
    agreement_estimates,
    bca_interval,
    expanded_level,
    percentile_interval,
)
from tandem.statistics.resampling import acceleration
from tests.statistics.cast import covers, interval

pytestmark = pytest.mark.every_case

TWENTY = np.repeat(np.arange(20), 5)


def skewed(n=40, seed=0):
    return np.random.default_rng(seed).exponential(size=n)


def mean(weights):
    """The mean of values tallied as (sum, count)."""
    return weights[..., 0] / weights[..., 1]


def of_values(values, clusters, **options):
    sums = np.stack([values, np.ones(len(values))], axis=1)
    return Bootstrap(Tally.of_sums(sums, clusters), **options)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("statistic", [np.mean, np.std, np.median])
def test_bca_agrees_with_scipy_on_the_same_resamples(seed, statistic):
    x = skewed(seed=seed)
    found = stats.bootstrap((x,), statistic, n_resamples=999, method="BCa", rng=seed)
    left_out = np.array([statistic(np.delete(x, i)) for i in range(len(x))])
    ours = bca_interval(statistic(x), found.bootstrap_distribution, left_out)
    assert ours == pytest.approx(tuple(found.confidence_interval))


def test_without_bias_and_skew_bca_is_the_percentile_interval():
    resampled = np.arange(-1000.0, 1001)
    assert bca_interval(0.0, resampled, np.array([-1.0, 0, 1])) == pytest.approx(
        percentile_interval(resampled), abs=1e-6
    )


def test_the_acceleration_matches_the_calculation_by_hand():
    # Values 1, 2, 6: mean 3, d = 2 1 -3; cubes 8 + 1 - 27 = -18, squares 14.
    assert acceleration(np.array([1.0, 2, 6])) == pytest.approx(-18 / (6 * 14**1.5))
    assert acceleration(np.array([1.0, 6]), np.array([2, 2])) == pytest.approx(
        acceleration(np.array([1.0, 1, 6, 6]))
    )
    assert acceleration(np.ones(3)) == 0


def test_there_is_no_bca_if_every_resample_is_on_one_side_of_the_value():
    assert bca_interval(5.0, np.arange(100.0) / 100, np.array([1.0, 2, 3])) is None


def test_there_is_no_bca_if_leaving_out_a_cluster_is_undefined():
    assert bca_interval(0.5, np.arange(100.0) / 100, np.array([1.0, np.nan])) is None


def test_there_is_no_bca_if_many_resamples_are_undefined():
    assert bca_interval(0.5, np.r_[np.arange(80.0) / 80, [np.nan] * 20], np.arange(5.0)) is None


def test_a_statistic_that_never_varies_has_an_interval_without_width():
    assert bca_interval(1.0, np.ones(50), np.ones(20)) == (1.0, 1.0)


@pytest.mark.parametrize("way", ["percentile", "bca"])
def test_the_method_names_the_kind_of_bootstrap(way):
    made = of_values(skewed(100), TWENTY, draws=500, interval=way).estimate(mean, 100, "mean")
    assert made.value == pytest.approx(skewed(100).mean())
    assert covers(made, made.value)
    name = {"percentile": "percentile", "bca": "BCa"}[way]
    assert made.method == f"mean; 95 % {name} bootstrap of 20 queries, 500 resamples"


@pytest.mark.parametrize("clusters", [10, 29, 30, 200])
def test_by_default_the_interval_is_bca_at_the_expanded_level(clusters):
    values = skewed(clusters)
    made = of_values(values, np.arange(clusters), draws=3000).estimate(mean, 1, "mean")
    drawn = Resamples.draw(np.arange(clusters), 3000, 0).draws @ values / clusters
    left_out = (values.sum() - values) / (clusters - 1)
    level = expanded_level(clusters)
    assert interval(made) == pytest.approx(
        bca_interval(values.mean(), drawn, left_out, level=level)
    )


def test_the_expanded_level_matches_the_calculation_by_hand():
    # t(.975, 9) = 2.262157; times root(10/9) 2.384522, of which 2 Phi - 1 = .982899.
    assert expanded_level(10) == pytest.approx(0.982899, abs=1e-6)
    # t(.95, 9) = 1.833113; times root(10/9) 1.932271, of which 2 Phi - 1 = .946674.
    assert expanded_level(10, 0.9) == pytest.approx(0.946674, abs=1e-6)
    assert 0.95 < expanded_level(1000) < 0.951
    assert expanded_level(1) == 1


@pytest.mark.parametrize(("clusters", "least"), [(10, 0.93), (20, 0.93)])
def test_the_interval_of_a_symmetric_mean_is_about_the_t_interval(clusters, least):
    rng, ratios = np.random.default_rng(0), []
    for seed in range(40):
        values = 9 + rng.normal(size=clusters)
        made = of_values(values, np.arange(clusters), draws=4000, seed=seed)
        low, high = interval(made.estimate(mean, 1, "mean"))
        half = stats.t.ppf(0.975, clusters - 1) * stats.sem(values)
        ratios.append((high - low) / (2 * half))
    assert least < np.mean(ratios) < 1.05


def test_if_nearly_all_queries_are_alike_there_is_no_interval():
    def of_yes(queries):
        codes = np.zeros((60, 2), int)
        codes[np.isin(np.arange(60) // 5, range(queries)) & (np.arange(60) % 5 < 2), 0] = 1
        return agreement_estimates(codes, np.arange(60) // 5, 2, draws=200)["percent"]

    assert of_yes(5).low is not None
    assert of_yes(4).low is None
    assert of_yes(4).value == pytest.approx(52 / 60)
    reason = "no interval: 4 of 12 queries differ from the rest, at least 5 must"
    assert of_yes(4).method.endswith(reason)
    assert "no interval: 1 of 12 queries differs" in of_yes(1).method


def test_queries_of_different_sizes_are_alike_if_their_shares_are_equal():
    kinds = np.concatenate([np.zeros(n + 1, int) for n in range(9)] + [np.array([0, 1, 1])])
    clusters = np.concatenate([np.full(n + 1, n) for n in range(9)] + [np.full(3, 9)])
    assert Tally.of(kinds, 2, clusters).differing == 1
    assert Tally.of(np.arange(10) // 4, 3, np.arange(10)).differing == 6
    slopes = np.array([[-1.0, 1], [1, 1], [-2, 2], [0, 0]])
    assert Tally.of_sums(slopes, np.arange(4)).differing == 1


def test_an_interval_without_width_is_not_reported():
    made = of_values(np.tile([1.0, 2, 3], 8), np.repeat(np.arange(8), 3))
    assert made.tally.differing == 0
    codes = np.tile(np.arange(2), 12)[:, None].repeat(2, axis=1)
    found = agreement_estimates(codes, np.arange(24), 2, draws=100)["percent"]
    assert (found.value, found.low) == (1, None)
    assert found.method.endswith("no interval: all resamples agree")


def test_each_statistic_states_its_own_number_of_queries():
    few = of_values(skewed(40), np.arange(40), draws=200).estimate(mean, 1, "mean", clusters=12)
    assert "BCa bootstrap of 12 queries" in few.method


def test_bca_shifts_the_interval_of_a_skewed_mean_towards_the_long_tail():
    values = skewed(200, seed=3)
    plain = of_values(values, np.arange(200), interval="percentile")
    low, high = interval(plain.estimate(mean, 200, "mean"))
    shifted = of_values(values, np.arange(200)).estimate(mean, 200, "mean")
    assert interval(shifted)[0] > low
    assert interval(shifted)[1] > high


def test_given_resamples_give_the_same_estimate_as_their_seed():
    given = of_values(skewed(100), TWENTY, draws=Resamples.draw(TWENTY, 300, 5))
    drawn = of_values(skewed(100), TWENTY, draws=300, seed=5)
    assert given.estimate(mean, 100, "mean") == drawn.estimate(mean, 100, "mean")


def test_below_ten_queries_or_without_resamples_there_is_no_interval():
    few = of_values(skewed(45), np.repeat(np.arange(9), 5)).estimate(mean, 45, "mean")
    assert (few.low, "9 queries" in few.method) == (None, True)
    none = of_values(skewed(100), TWENTY, draws=0).estimate(mean, 100, "mean")
    assert (none.low, "not resampled" in none.method) == (None, True)


def test_an_undefined_value_has_its_reason():
    made = of_values(skewed(100), TWENTY).estimate(lambda w: w[..., 0] * np.nan, 9, "kappa", "why")
    assert (made.value, made.reason) == (None, "why")


def test_several_numbers_are_estimated_at_once():
    many = of_values(skewed(100), TWENTY, draws=200)
    both = many.estimates(lambda w: np.stack([mean(w), 2 * mean(w)], axis=-1), 100, "mean")
    assert both[1].low == pytest.approx(2 * interval(both[0])[0])
    assert both[0] == many.estimate(mean, 100, "mean")


@pytest.mark.parametrize("interval_by", ["bca", "percentile"])
def test_the_level_is_that_for_the_queries_by_their_sizes(interval_by):
    # 25 queries of one unit and 25 of three: (25 + 75)^2 / (25 + 225) = 40 queries.
    clusters = np.repeat(np.arange(50), np.tile([1, 3], 25))
    codes = np.random.default_rng(4).integers(0, 2, (100, 2))
    made = agreement_estimates(
        codes, clusters, 2, names=["percent"], draws=2000, interval=interval_by
    )["percent"]
    assert "50 queries, 40.0 by their sizes" in made.method
    same = (codes[:, 0] == codes[:, 1]).astype(float)
    drawn = Resamples.draw(clusters, 2000, 0)
    resampled = (drawn.weights() @ same) / drawn.weights().sum(axis=1)
    out = [same[clusters != query].mean() for query in range(50)]
    expected = {
        "bca": bca_interval(same.mean(), resampled, np.array(out), level=expanded_level(40)),
        "percentile": percentile_interval(resampled),
    }[interval_by]
    assert interval(made) == pytest.approx(expected)


def test_very_unequal_queries_have_no_interval():
    clusters = np.repeat(np.arange(12), np.r_[np.ones(11, int), 200])
    codes = np.random.default_rng(4).integers(0, 2, (211, 2))
    made = agreement_estimates(codes, clusters, 2, names=["percent"], draws=50)["percent"]
    assert made.low is None
    assert "12 queries of very unequal sizes count as 1.1" in made.method


def test_queries_are_as_large_as_the_denominators_of_a_ratio_of_sums():
    sums = np.stack([np.arange(20) % 3, np.repeat([1, 3], 10)], axis=1).astype(float)
    assert Tally.of_sums(sums, np.arange(20)).effective == pytest.approx(20)
    assert Tally.of_sums(sums, np.arange(20), sums[:, 1]).effective == pytest.approx(16)
