"""The measures of a judge match SciPy, statsmodels and units counted one by one.

`test_oracles.py` compares them with scikit-learn and ppi-python where these are installed; the
tests here need no further library.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import eval_measures

from tandem.statistics import (
    accuracy,
    alignment_estimates,
    balanced_accuracy,
    calibration,
    confusion,
    design_effect,
    f1,
    macro,
    mean_absolute_error,
    mean_by_cluster,
    mean_of_clusters,
    precision,
    prediction_powered_mean,
    recall,
    specificity,
    threshold_sweep,
)
from tandem.statistics.ppi import tuning
from tests.statistics.cast import interval, random_codes

pytestmark = pytest.mark.every_case

K, N = 4, 120
SEEDS = range(3)


def labels(seed):
    codes = random_codes(seed, units=N, raters=2, gaps=0)
    return codes[:, 0], codes[:, 1]


def scores(seed):
    """People's yes and no, and probabilities with ties."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 2, N)
    return people, np.round(np.clip(0.3 * people + rng.random(N) * 0.7, 0, 1), 1)


def share(units, among):
    """The share of the units in `among` that are also in `units`, counted one by one."""
    chosen = [inside for inside, counts in zip(units, among, strict=True) if counts]
    return float(Fraction(sum(map(int, chosen)), len(chosen)))


@pytest.mark.parametrize("seed", SEEDS)
def test_measures_of_categories_match_counting_units_one_by_one(seed):
    people, judge = labels(seed)
    table = confusion(people, judge, K)
    for n in range(K):
        said, true = judge == n, people == n
        assert precision(table)[n] == pytest.approx(share(true, said))
        assert recall(table)[n] == pytest.approx(share(said, true))
        assert specificity(table)[n] == pytest.approx(share(~said, ~true))
    assert accuracy(table) == pytest.approx(share(people == judge, people >= 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_f1_equals_scipys_dice_similarity(seed):
    people, judge = labels(seed)
    theirs = [1 - distance.dice(people == n, judge == n) for n in range(K)]
    found = f1(confusion(people, judge, K))
    assert list(found) == pytest.approx(theirs)
    assert macro(found) == pytest.approx(np.mean(theirs))


@pytest.mark.parametrize("seed", SEEDS)
def test_balanced_accuracy_of_yes_and_no_equals_the_area_of_scipys_rank_sum_test(seed):
    people, judge = (np.minimum(codes, 1) for codes in labels(seed))
    yes, no = judge[people == 1], judge[people == 0]
    area = stats.mannwhitneyu(yes, no).statistic / (len(yes) * len(no))
    assert balanced_accuracy(confusion(people, judge, 2)) == pytest.approx(area)


@pytest.mark.parametrize("seed", SEEDS)
def test_computing_all_measures_at_once_equals_computing_each(seed):
    people, judge = labels(seed)
    table = confusion(people, judge, K)
    made = alignment_estimates(people, judge, np.arange(N), K, draws=5)
    for name, function in (("precision", precision), ("recall", recall), ("f1", f1)):
        assert [e.value for e in made.classes[name]] == pytest.approx(list(function(table)))
    assert made.overall["balanced_accuracy"].value == pytest.approx(balanced_accuracy(table))


@pytest.mark.parametrize("seed", SEEDS)
def test_distances_and_the_brier_score_agree_with_statsmodels(seed):
    people, judge = (codes.astype(float) for codes in labels(seed))
    assert mean_absolute_error(people, judge) == pytest.approx(eval_measures.meanabs(people, judge))
    yes, p = scores(seed)
    made = calibration(p, yes, np.arange(N), draws=5)
    assert made.brier.value == pytest.approx(eval_measures.mse(p, yes))


@pytest.mark.parametrize("seed", SEEDS)
def test_areas_under_curves_agree_with_scipy_and_with_summing_steps(seed):
    people, p = scores(seed)
    made = threshold_sweep(p, people, np.arange(N), draws=5)
    yes, no = p[people == 1], p[people == 0]
    area = stats.mannwhitneyu(yes, no).statistic / (len(yes) * len(no))
    assert made.roc_auc.value == pytest.approx(area)
    steps, before = 0.0, 0.0
    for cut in sorted(set(p), reverse=True):
        found = share(p >= cut, people == 1)
        steps += (found - before) * share(people == 1, p >= cut)
        before = found
    assert made.average_precision.value == pytest.approx(steps)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_prediction_powered_mean_is_the_intercept_of_a_regression_on_the_judge(seed):
    """With the judge's slope as lambda, evaluated at the judge's mean over all queries that it saw.

    The regression estimator of survey sampling (Cochran 1977, chapter 7) with statsmodels' slope;
    lambda shrinks the slope of least squares by 1 / (1 + n / N).
    """
    rng = np.random.default_rng(seed)
    judge, rest = rng.random(40), rng.random(90)
    human = 0.2 + 0.6 * judge + rng.normal(0, 0.1, 40)
    slope = OLS(human, np.column_stack([np.ones(40), judge])).fit().params[1]
    both = np.concatenate([judge, rest])
    spread = np.var(judge, ddof=1) / np.var(both, ddof=1)
    lam = slope * spread / (1 + 40 / 90)
    assert tuning(human, judge, rest) == pytest.approx(np.clip(lam, 0, 1))
    used = tuning(human, judge, rest)
    expected = human.mean() + used * (rest.mean() - judge.mean())
    made = prediction_powered_mean(human, judge, rest)
    assert made.value == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_interval_of_a_clustered_mean_agrees_with_statsmodels_sandwich_estimator(seed):
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 15, N)
    values = rng.normal(0, 1, 15)[clusters] + rng.random(N)
    fit = OLS(values, np.ones(N)).fit(
        cov_type="cluster",
        cov_kwds={"groups": clusters, "df_correction": True, "use_correction": True},
        use_t=True,
    )
    found = mean_by_cluster(values, clusters, "mean")
    assert found.value == pytest.approx(fit.params[0])
    assert interval(found) == pytest.approx(tuple(fit.conf_int()[0]))


def test_the_design_effect_matches_the_calculation_by_hand():
    # Four queries of two equal items each, 0, 0, 1, 1: over items s2 is 2/7 and the variance of the
    # mean 1/28; over queries that variance is (1/3) / 4 = 1/12. The effect is 28/12.
    values, clusters = np.repeat([0.0, 0.0, 1.0, 1.0], 2), np.repeat(np.arange(4), 2)
    assert design_effect(values, clusters) == pytest.approx(28 / 12)
    # It is 1 if each item is its own query, and 0 if all queries have the same mean.
    assert design_effect(values, np.arange(8)) == pytest.approx(1)
    assert design_effect(np.tile([0.0, 1.0], 4), clusters) == pytest.approx(0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_design_effect_is_the_ratio_of_statsmodels_robust_and_plain_variances(seed):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(12), 10)
    values = rng.normal(0, 1, 12)[clusters] + rng.normal(0, 1, N)
    plain, robust = (
        OLS(values, np.ones(N)).fit(**options).bse[0] ** 2
        for options in ({}, {"cov_type": "cluster", "cov_kwds": {"groups": clusters}})
    )
    assert design_effect(values, clusters) == pytest.approx(robust / plain)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_of_queries_has_scipys_t_interval(seed):
    rng = np.random.default_rng(seed)
    clusters, values = rng.integers(0, 12, N), rng.random(N)
    means = np.array([values[clusters == query].mean() for query in np.unique(clusters)])
    theirs = stats.ttest_1samp(means, 0).confidence_interval()
    found = mean_of_clusters(values, clusters)
    assert found.value == pytest.approx(means.mean())
    assert interval(found) == pytest.approx((theirs.low, theirs.high))
