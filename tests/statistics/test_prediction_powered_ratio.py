import numpy as np
import pytest

from tandem.statistics import (
    effective_labels,
    effective_labels_of_ratio,
    fixed_collection_mean,
    fixed_collection_ratio,
    prediction_powered_mean,
    prediction_powered_ratio,
)
from tests.statistics.cast import covers, interval, number, width

pytestmark = pytest.mark.every_case


def scores(seed=0, labelled=40, others=200, lenient=0.1):
    """Hits of people and of a lenient judge on queries with 5 to 15 nuggets: (n, 2) each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 16, labelled + others)
    chance = rng.beta(3, 3, labelled + others)
    people = rng.binomial(sizes, chance)
    judge = np.minimum(people + rng.binomial(sizes - people, lenient * 2), sizes)
    human, judged = (np.stack([hits, sizes], axis=1).astype(float) for hits in (people, judge))
    return human[:labelled], judged[:labelled], judged[labelled:]


def as_means(sums):
    return np.stack([sums[:, 0] / sums[:, 1], np.ones(len(sums))], axis=1)


def test_ratios_of_four_queries_match_the_calculation_by_hand():
    # People 3/4 and 1/4: R 0.5; judge 4/4 and 2/4: 0.75; others 6/8. With lambda 1:
    # 0.75 + 0.5 - 0.75 = 0.5; of all judged 12/16 = 0.75.
    human, judge = np.array([[3.0, 4], [1, 4]]), np.array([[4.0, 4], [2, 4]])
    rest = np.array([[5.0, 5], [1, 3]])
    assert prediction_powered_ratio(human, judge, rest, 1).value == pytest.approx(0.5)
    assert prediction_powered_ratio(human, judge, rest, 0).value == pytest.approx(0.5)
    assert fixed_collection_ratio(human, judge, rest).value == pytest.approx(0.5)


@pytest.mark.parametrize("lam", [None, 1])
def test_with_denominators_of_one_the_ratio_is_the_mean(lam):
    human, judge, rest = map(as_means, scores())
    means = prediction_powered_mean(human[:, 0], judge[:, 0], rest[:, 0], lam)
    made = prediction_powered_ratio(human, judge, rest, lam)
    assert made.value == pytest.approx(means.value)
    assert interval(made) == pytest.approx(interval(means), abs=0.02)


def test_with_denominators_of_one_all_figures_match_those_of_means():
    human, judge, rest = map(as_means, scores())
    means = fixed_collection_mean(human[:, 0], judge[:, 0], rest[:, 0])
    made = fixed_collection_ratio(human, judge, rest)
    assert (made.value, made.low) == (pytest.approx(means.value), pytest.approx(means.low))
    worth = effective_labels(human[:, 0], judge[:, 0], rest[:, 0])
    assert effective_labels_of_ratio(human, judge, rest) == pytest.approx(worth)


def test_a_perfect_judge_is_worth_nearly_all_its_labels():
    human, _, _ = scores(labelled=240, others=0)
    # The judge is one unit off on five of the forty labelled queries.
    judge = human[:40] + np.outer(np.arange(40) < 5, [0, 1])
    made = prediction_powered_ratio(human[:40], judge, human[40:], 1)
    alone = prediction_powered_ratio(human[:40], judge, human[40:], 0)
    assert width(made) < 0.6 * width(alone)
    assert number(effective_labels_of_ratio(human[:40], human[:40], human[40:])) > 150


def test_if_every_query_is_labelled_the_interval_of_a_fixed_collection_has_no_width():
    human, judge, _ = scores()
    made = fixed_collection_ratio(human, judge, np.empty((0, 2)))
    assert made.value == pytest.approx(human[:, 0].sum() / human[:, 1].sum())
    assert width(made) == pytest.approx(0, abs=1e-12)


def test_without_queries_that_only_the_judge_labelled_the_estimate_is_peoples_ratio():
    human, judge, _ = scores()
    made = prediction_powered_ratio(human, judge, np.empty((0, 2)))
    assert made.value == pytest.approx(human[:, 0].sum() / human[:, 1].sum())
    assert "lambda 0.000" in made.method


def test_an_undefined_ratio_has_a_reason():
    nothing, zero = np.empty((0, 2)), np.zeros((12, 2))
    assert prediction_powered_ratio(nothing, nothing, zero).reason == "no labelled queries"
    assert fixed_collection_ratio(nothing, nothing, zero).reason == "no labelled queries"
    assert prediction_powered_ratio(zero, zero, zero).reason == "a denominator is zero"
    assert fixed_collection_ratio(zero, zero, zero).reason == "a denominator is zero"
    assert effective_labels_of_ratio(zero, zero, zero) is None


def test_below_ten_labelled_queries_there_is_no_interval():
    human, judge, rest = scores(labelled=9)
    for made in (
        prediction_powered_ratio(human, judge, rest),
        fixed_collection_ratio(human, judge, rest),
    ):
        assert (made.low, "9 queries" in made.method) == (None, True)


def test_people_and_judge_must_have_the_same_labelled_queries():
    human, judge, rest = scores()
    with pytest.raises(ValueError, match="each labelled query"):
        prediction_powered_ratio(human, judge[1:], rest)


def test_the_bias_of_a_lenient_judge_is_corrected():
    # The chance of a hit is beta (3, 3): the ratio is 1/2. The judge alone would say 0.6.
    covered = []
    for seed in range(60):
        made = prediction_powered_ratio(*scores(seed), resamples=200, seed=seed)
        covered.append(covers(made, 0.5))
    assert np.mean(covered) >= 0.9


def test_a_judge_with_zero_denominators_on_the_other_queries_is_ignored() -> None:
    """All its denominators there are 0, so lambda is 0 and the estimate is people's ratio."""
    human = np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 2.0]])
    judge = np.array([[2.0, 2.0], [1.0, 1.0], [1.0, 2.0]])
    found = prediction_powered_ratio(human, judge, np.zeros((4, 2)))
    assert found.value == 0.4
    assert "lambda 0.000" in found.method
