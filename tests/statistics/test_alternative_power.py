import numpy as np
import pytest

from analysis.statistics import accuracy_of, alt_test, alt_test_power

pytestmark = pytest.mark.every_case


def simulated(seed, items, accuracy=0.85, k=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, (items, 1))
    wrong = (truth + rng.integers(1, k, (items, 4))) % k
    labels = np.where(rng.random((items, 4)) < accuracy, truth, wrong)
    return labels[:, :3], labels[:, 3]


@pytest.mark.parametrize(
    ("epsilon", "items", "measured"),
    [(0.1, 50, 0.29), (0.1, 200, 0.86), (0.15, 100, 0.89), (0.2, 30, 0.59), (0.2, 50, 0.80)],
)
def test_the_power_with_three_annotators_is_as_published(epsilon, items, measured):
    # 600 trials each: a standard error of 0.02 on either side.
    assert alt_test_power(items, epsilon=epsilon) == pytest.approx(measured, abs=0.08)


def test_the_power_for_a_judge_ten_points_worse_is_as_published():
    assert alt_test_power(100, judge_accuracy=0.75) == pytest.approx(0.56, abs=0.08)
    assert alt_test_power(200, judge_accuracy=0.75) == pytest.approx(0.86, abs=0.06)


def test_power_is_the_share_of_simulated_tests_that_pass():
    passed = []
    for seed in range(200):
        people, judge = simulated(seed, 40)
        test = alt_test(people, judge, np.arange(40), level="nominal", epsilon=0.15)
        passed.append(test.passed)
    assert alt_test_power(40, epsilon=0.15, trials=2000) == pytest.approx(
        passed.count(True) / 200, abs=0.1
    )


def test_more_items_and_a_larger_epsilon_give_more_power():
    by_items = [alt_test_power(n, epsilon=0.15, trials=300) for n in (30, 60, 120)]
    by_epsilon = [alt_test_power(60, epsilon=e, trials=300) for e in (0.1, 0.2, 0.3)]
    assert by_items == sorted(by_items)
    assert by_epsilon == sorted(by_epsilon)


def test_equal_seeds_give_equal_power():
    assert alt_test_power(50, trials=100, seed=3) == alt_test_power(50, trials=100, seed=3)


def test_if_people_always_agree_the_power_is_one_or_zero():
    assert alt_test_power(50, accuracy=1.0, trials=20) == 1
    assert alt_test_power(50, accuracy=1.0, judge_accuracy=0.0, trials=20) == 0


def test_power_needs_at_least_two_annotators_and_two_items():
    with pytest.raises(ValueError, match="two annotators"):
        alt_test_power(50, annotators=1)
    with pytest.raises(ValueError, match="two items"):
        alt_test_power(1)


@pytest.mark.parametrize("accuracy", [0.5, 0.7, 0.95])
def test_accuracy_is_recovered_from_the_agreement(accuracy):
    agreement = accuracy**2 + (1 - accuracy) ** 2 / 3
    assert accuracy_of(agreement, 4) == pytest.approx(accuracy)


def test_agreement_below_chance_gives_the_accuracy_of_guessing():
    assert accuracy_of(0.2, 4) == 0.25


def test_studies_are_simulated_in_batches_up_to_the_requested_number(monkeypatch):
    shapes = []

    def passes(labels, epsilon, q):
        shapes.append(labels.shape)
        return np.ones(len(labels), bool)

    monkeypatch.setattr("analysis.statistics.alternative._passes", passes)
    monkeypatch.setattr("analysis.statistics.alternative.AT_ONCE", 60)
    assert alt_test_power(5, annotators=3, trials=7) == 1
    assert shapes == [(3, 5, 4), (3, 5, 4), (1, 5, 4)]
    monkeypatch.setattr("analysis.statistics.alternative.AT_ONCE", 19)
    shapes.clear()
    assert alt_test_power(5, annotators=3, trials=2) == 1
    assert shapes == [(1, 5, 4), (1, 5, 4)]
