import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tandem.statistics import average_precision, roc_auc, threshold_sweep
from tests.statistics.cast import covers, number

pytestmark = pytest.mark.every_case

# Scores 1 2 2 3, people no yes no yes.
SCORES, PEOPLE = np.array([1.0, 2, 2, 3]), np.array([0, 1, 0, 1])


def values(estimates):
    return [e.value for e in estimates]


def scored(seed=0, n=120, levels=8):
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 2, n)
    return np.round(people + rng.normal(0, 1, n) * levels / 4), people


def test_a_threshold_sweep_of_four_units_matches_the_calculation_by_hand():
    made = threshold_sweep(SCORES, PEOPLE, np.arange(4))
    assert made.thresholds.tolist() == [1, 2, 3]
    assert values(made.recall) == [1, 1, 1 / 2]
    assert values(made.false_positive_rate) == [1, 1 / 2, 0]
    assert values(made.precision) == pytest.approx([1 / 2, 2 / 3, 1])
    assert values(made.f1) == pytest.approx([2 / 3, 4 / 5, 2 / 3])


def test_areas_under_both_curves_match_the_calculation_by_hand():
    # Pairs yes over no: 2 over 1, 2 and 2 tie, 3 over 1, 3 over 2: 3.5 of 4.
    # From above: recall 1/2 at precision 1, then 1 at 2/3: 1/2 + 1/3.
    made = threshold_sweep(SCORES, PEOPLE, np.arange(4))
    assert made.roc_auc.value == pytest.approx(3.5 / 4)
    assert made.average_precision.value == pytest.approx(5 / 6)


@pytest.mark.parametrize("seed", range(4))
def test_the_area_under_the_roc_curve_matches_the_rank_sum_test(seed):
    scores, people = scored(seed)
    u = stats.mannwhitneyu(scores[people == 1], scores[people == 0]).statistic
    made = threshold_sweep(scores, people, np.arange(120), draws=10)
    assert made.roc_auc.value == pytest.approx(u / (people.sum() * (120 - people.sum())))


def test_a_perfect_judge_has_areas_of_one_and_a_reversed_one_of_zero():
    people = np.arange(40) % 2
    scores = people.astype(np.float64)
    made = threshold_sweep(scores, people, np.arange(40))
    assert (made.roc_auc.value, made.average_precision.value) == (1, 1)
    assert threshold_sweep(-scores, people, np.arange(40)).roc_auc.value == 0


def test_a_constant_score_has_a_roc_area_of_one_half():
    made = threshold_sweep(np.ones(40), np.arange(40) % 4 // 3, np.arange(40))
    assert made.roc_auc.value == 0.5
    assert made.average_precision.value == pytest.approx(0.25)


def test_if_people_use_one_label_only_the_area_is_null_with_a_reason():
    made = threshold_sweep(np.arange(20.0), np.ones(20, int), np.arange(20))
    assert made.roc_auc.reason == "people say one thing only"
    assert made.false_positive_rate[0].reason == "people say no nowhere"
    assert made.average_precision.value == 1


def test_units_without_score_or_label_are_left_out():
    scores = np.r_[SCORES, np.nan, 9]
    made = threshold_sweep(scores, np.r_[PEOPLE, 1, -1], np.arange(6))
    assert (made.roc_auc.value, made.roc_auc.n) == (3.5 / 4, 4)


def test_without_units_there_is_no_curve():
    made = threshold_sweep(np.full(3, np.nan), np.ones(3, int), np.arange(3))
    assert (made.recall, made.roc_auc.value, made.roc_auc.n) == ([], None, 0)


def test_a_curve_has_at_most_fifty_points_but_its_areas_use_all_scores():
    rng = np.random.default_rng(0)
    scores, people = rng.random(300), rng.integers(0, 2, 300)
    made = threshold_sweep(scores, people, np.arange(300), draws=50)
    assert len(made.thresholds) == len(made.recall) == 50
    assert (made.thresholds[0], made.thresholds[-1]) == (scores.min(), scores.max())
    u = stats.mannwhitneyu(scores[people == 1], scores[people == 0]).statistic
    assert made.roc_auc.value == pytest.approx(u / (people.sum() * (300 - people.sum())))


def test_bands_resample_whole_queries():
    scores, people = scored()
    made = threshold_sweep(scores, people, np.arange(120) // 6, draws=300)
    assert "20 queries" in made.recall[3].method
    assert covers(made.roc_auc, number(made.roc_auc.value))


def test_without_bands_only_the_areas_have_intervals():
    scores, people = scored()
    queries = np.arange(120) // 6
    whole = threshold_sweep(scores, people, queries, draws=100)
    areas = threshold_sweep(scores, people, queries, draws=100, bands=False)
    assert (areas.roc_auc, areas.average_precision) == (whole.roc_auc, whole.average_precision)
    assert values(areas.precision) == values(whole.precision)
    assert all(point.low is None for point in areas.precision)


def test_merging_neighbouring_scores_hardly_changes_intervals(monkeypatch):
    rng = np.random.default_rng(2)
    people = rng.integers(0, 2, 1500)
    scores, queries = people + rng.normal(0, 1, 1500), np.arange(1500) % 50
    coarse = threshold_sweep(scores, people, queries, draws=200, bands=False)
    monkeypatch.setattr("tandem.statistics.curves.MOST_LEVELS", 2000)
    exact = threshold_sweep(scores, people, queries, draws=200, bands=False)
    for name in ("roc_auc", "average_precision"):
        ours, theirs = getattr(coarse, name), getattr(exact, name)
        assert ours.value == theirs.value
        ends = (number(theirs.low), number(theirs.high))
        assert (ours.low, ours.high) == pytest.approx(ends, abs=5e-4)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6))
def test_stretching_the_scores_does_not_change_the_areas(pairs):
    weights = np.array(pairs, float).ravel()
    padded = np.insert(weights.reshape(-1, 2), 1, 0, axis=0).ravel()
    assert roc_auc(padded) == pytest.approx(roc_auc(weights), nan_ok=True)
    assert average_precision(padded) == pytest.approx(average_precision(weights), nan_ok=True)
