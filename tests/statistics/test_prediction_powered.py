import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    effective_labels,
    fixed_collection_mean,
    people_only_mean,
    prediction_powered_mean,
)
from tandem.statistics.ppi import tuning
from tests.statistics.cast import covers, number, width

HUMAN = np.array([0.0, 0, 1, 1])
JUDGE = np.array([0.0, 1, 1, 1])
JUDGE_ONLY = np.array([0.0, 1, 0, 1])


def study(seed, labelled=40, others=260, items=15, accuracy=0.85, lenience=0.1):
    """Query means of people and of a judge that says yes too often; the truth is 0.5."""
    rng = np.random.default_rng(seed)
    share = np.clip(0.5 + rng.normal(0, 0.22, (labelled + others, 1)), 0, 1)
    truth = rng.random((labelled + others, items)) < share
    judge = np.where(rng.random(truth.shape) < accuracy, truth, ~truth)
    judge |= rng.random(truth.shape) < lenience
    y, f = truth.mean(axis=1), judge.mean(axis=1)
    return y[:labelled], f[:labelled], f[labelled:]


def test_the_tuning_matches_the_calculation_by_hand():
    # cov = (0.375 - 0.125 + 0.125 + 0.125)/3 = 1/6; all judge scores: 5 of 8 are 1, so
    # s2 = 8 * 0.625 * 0.375 / 7 = 0.267857; (1/6) / (2 * 0.267857) = 0.311111.
    assert tuning(HUMAN, JUDGE, JUDGE_ONLY) == pytest.approx(0.311111, abs=1e-6)


def test_the_prediction_powered_mean_matches_the_calculation_by_hand():
    # 0.311111 * 0.5 + 0.5 - 0.311111 * 0.75 = 0.422222.
    made = prediction_powered_mean(HUMAN, JUDGE, JUDGE_ONLY)
    assert made.value == pytest.approx(0.422222, abs=1e-6)


def test_the_mean_of_a_fixed_collection_matches_the_calculation_by_hand():
    # All judge scores 5/8, people less judge -1/4: 0.375.
    assert fixed_collection_mean(HUMAN, JUDGE, JUDGE_ONLY).value == pytest.approx(0.375)


def test_the_mean_from_people_alone_has_the_plain_t_interval():
    human, _, _ = study(0)
    low, high = stats.t.interval(0.95, 39, human.mean(), stats.sem(human))
    made = people_only_mean(human)
    assert (made.value, made.low, made.high) == pytest.approx((human.mean(), low, high))


def test_the_interval_matches_the_variance_written_out():
    human, judge, only = study(1, others=40)
    lam = tuning(human, judge, only)
    assert 0.1 < lam < 0.9
    rest = human - lam * judge
    error = np.sqrt(lam**2 * only.var(ddof=1) / 40 + rest.var(ddof=1) / 40)
    value, half = lam * only.mean() + rest.mean(), stats.t.ppf(0.975, 39) * error
    made = prediction_powered_mean(human, judge, only)
    assert (made.value, made.low, made.high) == pytest.approx((value, value - half, value + half))
    assert (made.n, f"lambda {lam:.3f}" in made.method) == (40, True)


def test_the_interval_of_a_fixed_collection_matches_its_variance_written_out():
    human, judge, only = study(1)
    error = np.sqrt((1 - 40 / 300) * (human - judge).var(ddof=1) / 40)
    made = fixed_collection_mean(human, judge, only)
    assert width(made) == pytest.approx(2 * stats.t.ppf(0.975, 39) * error)
    assert "300 queries" in made.method


def test_the_tuning_stays_between_zero_and_one():
    human, _, only = study(2)
    assert tuning(human, -human, -only) == 0
    assert tuning(human, human / 10, only / 10) == 1


def test_with_a_judge_that_never_varies_the_estimate_is_that_of_people():
    human, _, _ = study(2)
    made = prediction_powered_mean(human, np.ones(40), np.ones(260))
    alone = people_only_mean(human)
    assert (made.value, made.low, made.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_without_queries_that_only_the_judge_labelled_the_estimate_is_peoples_mean():
    human, judge, _ = study(2)
    made = prediction_powered_mean(human, judge, np.array([]))
    assert (made.value, made.low) == pytest.approx((human.mean(), people_only_mean(human).low))
    whole = fixed_collection_mean(human, judge, np.array([]))
    assert (whole.value, whole.low, whole.high) == pytest.approx((human.mean(),) * 3)


@pytest.mark.parametrize("function", [prediction_powered_mean, fixed_collection_mean])
@pytest.mark.parametrize("differing", [0, 4, 5])
def test_there_is_an_interval_if_the_judge_differs_from_people_on_five_labelled_queries(
    function, differing
):
    human, _, only = study(3)
    judge = human + 0.01 * (np.arange(40) < differing) * np.arange(1, 41)
    for bounds in ((-np.inf, np.inf), (0.0, 1.0)):
        made = function(human, judge, only, bounds=bounds)
        assert (made.low is None) == (differing < 5)
        why = f"no interval: people and judge differ on {differing} of 40 queries"
        assert (why in made.method) == (differing < 5)


def test_below_ten_labelled_queries_there_is_a_value_and_no_interval():
    for made in (
        prediction_powered_mean(HUMAN, JUDGE, JUDGE_ONLY),
        fixed_collection_mean(HUMAN, JUDGE, JUDGE_ONLY),
        people_only_mean(HUMAN),
    ):
        assert made.value is not None
        assert (made.low, "4 queries" in made.method) == (None, True)


def test_without_a_labelled_query_nothing_is_estimated():
    nothing = np.array([])
    for made in (
        prediction_powered_mean(nothing, nothing, JUDGE_ONLY),
        fixed_collection_mean(nothing, nothing, JUDGE_ONLY),
        fixed_collection_mean(nothing, nothing, nothing),
        people_only_mean(nothing),
    ):
        assert (made.value, made.reason) == (None, "no labelled queries")
    assert effective_labels(nothing, nothing, JUDGE_ONLY) is None


def test_with_one_labelled_query_the_estimate_is_its_value():
    made = prediction_powered_mean(HUMAN[:1], JUDGE[:1], JUDGE_ONLY)
    assert (made.value, made.low) == (0.0, None)
    assert effective_labels(HUMAN[:1], JUDGE[:1], JUDGE_ONLY) is None


def test_labels_and_scores_must_match_one_to_one():
    with pytest.raises(ValueError, match="one score for each"):
        prediction_powered_mean(HUMAN, JUDGE[:3], JUDGE_ONLY)
    with pytest.raises(ValueError, match="lacks a score"):
        fixed_collection_mean(HUMAN, np.array([0, np.nan, 1, 1]), JUDGE_ONLY)


def test_the_effective_number_of_labels_is_the_ratio_of_the_two_variances():
    human, judge, only = study(4)
    people, powered = people_only_mean(human), prediction_powered_mean(human, judge, only)
    ratio = (width(people) / width(powered)) ** 2
    assert effective_labels(human, judge, only) == pytest.approx(40 * ratio)


def test_a_better_judge_is_worth_more_labels():
    worth = [number(effective_labels(*study(5, accuracy=a))) for a in (0.7, 0.85, 0.95)]
    assert worth == sorted(worth)
    assert worth[-1] > 80


def test_the_bias_of_a_lenient_judge_is_corrected():
    runs = [study(seed) for seed in range(500)]
    made = [prediction_powered_mean(*run) for run in runs]
    assert np.mean([covers(m, 0.5) for m in made]) >= 0.93
    # Uncorrected, nearly every run would be off by more than 0.03.
    assert np.mean([np.r_[f, only].mean() > 0.53 for _, f, only in runs]) > 0.9
    people = [people_only_mean(y) for y, _, _ in runs]
    widths = [np.mean([width(m) for m in some]) for some in (people, made)]
    assert widths[1] < 0.8 * widths[0]


def test_plain_ppi_with_one_query_that_only_the_judge_labelled_matches_the_calculation_by_hand():
    human, judge = np.array([0.2, 0.6]), np.array([0.1, 0.4])
    made = prediction_powered_mean(human, judge, np.array([0.8]), 1)
    assert made.value == pytest.approx(0.8 + 0.4 - 0.25)


def test_a_fixed_collection_without_labelled_queries_is_undefined():
    alone = fixed_collection_mean(np.array([0.2, 0.6]), np.array([0.2, 0.5]), np.empty(0))
    assert alone.value == pytest.approx(0.4)
    assert fixed_collection_mean(np.empty(0), np.empty(0), np.array([0.5])).value is None
