import numpy as np
import pytest

from tandem.statistics import Estimate, people_only_mean, prediction_powered_mean_unequal


def drawn(seed, queries=300, lenient=0.1):
    """Queries with a lenient judge; hard ones are more likely to be labelled by people."""
    rng = np.random.default_rng(seed)
    hard = rng.random(queries) < 0.4
    truth = np.clip(np.where(hard, 0.3, 0.7) + rng.normal(0, 0.15, queries), 0, 1)
    judge = np.clip(truth + lenient + rng.normal(0, 0.08, queries), 0, 1)
    chances = np.where(hard, 0.4, 0.15)
    labelled = rng.random(queries) < chances
    return truth[labelled], judge[labelled], chances[labelled], judge[~labelled]


def holds(made: Estimate, value: float) -> bool:
    assert made.low is not None
    assert made.high is not None
    return made.low <= value <= made.high


def test_the_mean_of_four_queries_matches_the_calculation_by_hand():
    # z of labelled queries: 0.5 + (0.4 - 0.5)/0.5 = 0.3 and 0.8 + (0.9 - 0.8)/0.25 = 1.2; of the
    # others 0.6 and 0.7. The mean is 2.8 / 4.
    human, judge, chances = np.array([0.4, 0.9]), np.array([0.5, 0.8]), np.array([0.5, 0.25])
    made = prediction_powered_mean_unequal(human, judge, chances, np.array([0.6, 0.7]), lam=1)
    assert made.value == pytest.approx(0.7)
    assert made.low is None
    assert "at least 10 are needed" in made.method


def test_if_every_chance_is_one_the_estimate_is_peoples_mean():
    human = np.random.default_rng(0).random(40)
    made = prediction_powered_mean_unequal(human, human**2, np.ones(40), np.empty(0))
    people = people_only_mean(human)
    assert (made.value, made.low, made.high) == pytest.approx(
        (people.value, people.low, people.high)
    )


def test_both_the_judges_bias_and_the_unequal_chances_are_corrected():
    # The mean of all queries is 0.54; clipping moves it by less than 0.002.
    inside = 0
    for seed in range(400):
        made = prediction_powered_mean_unequal(*drawn(seed))
        inside += holds(made, 0.54)
    assert inside / 400 >= 0.93


def test_the_plain_mean_of_labelled_queries_would_miss_the_truth():
    missed = 0
    for seed in range(100):
        people = people_only_mean(drawn(seed)[0])
        missed += not holds(people, 0.54)
    assert missed > 50


def test_unknown_chances_give_no_estimate_and_a_reason():
    human, judge = np.full(12, 0.5), np.full(12, 0.6)
    for wrong in (np.nan, 0.0, 1.5):
        made = prediction_powered_mean_unequal(human, judge, np.full(12, wrong), judge)
        assert made.reason == "the chance to be labelled is not known for every labelled query"
    none = np.empty(0)
    with pytest.raises(ValueError, match="one number for each labelled query"):
        prediction_powered_mean_unequal(human, judge, np.ones(3), judge)
    nobody = prediction_powered_mean_unequal(none, none, none, judge)
    assert (nobody.value, nobody.n, nobody.reason) == (None, 0, "no labelled queries")


def test_two_queries_are_enough_to_tune():
    # People over chances 0 and 2, gains 0 and -1: covariance -1, variance 1/2, so lambda is 1.
    two = np.array([0.0, 1])
    made = prediction_powered_mean_unequal(two, two, np.full(2, 0.5), np.empty(0))
    assert made.value == pytest.approx(0.5)
    one = prediction_powered_mean_unequal(two[1:], two[1:], np.full(1, 0.5), np.empty(0))
    assert one.value == pytest.approx(2)


def test_unequal_chances_widen_the_interval_of_a_share_as_they_widen_t():
    # A query in the second half is labelled with a chance of 1/20 and weighs ten times as much.
    rng = np.random.default_rng(3)
    human, judge = rng.random(60), np.full(60, 0.5)
    chances = np.repeat([0.5, 0.05], 30)
    only = np.full(600, 0.5)
    free = prediction_powered_mean_unequal(human, judge, chances, only)
    bounded = prediction_powered_mean_unequal(human, judge, chances, only, bounds=(0.0, 1.0))
    assert free.low is not None
    assert free.high is not None
    assert bounded.low is not None
    assert bounded.high is not None
    assert bounded.high - bounded.low == pytest.approx(free.high - free.low, rel=0.15)
    alone = people_only_mean(human, (0.0, 1.0))
    assert alone.low is not None
    assert alone.high is not None
    assert bounded.high - bounded.low > 1.2 * (alone.high - alone.low)
