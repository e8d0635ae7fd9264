from functools import partial

import numpy as np
import pytest

from benchmarks.replacing import simulated as replaced
from tandem.statistics import PlainForm, accuracy_of, alt_test, alt_test_power
from tandem.statistics.alternative_power import _Raters

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

    def passes(losses, epsilon, q, by_query):
        shapes.append(losses.shape)
        return np.ones(len(losses), bool)

    monkeypatch.setattr("tandem.statistics.alternative_power._passes", passes)
    monkeypatch.setattr("tandem.statistics.alternative_power.AT_ONCE", 60)
    assert alt_test_power(5, annotators=3, trials=7) == 1
    assert shapes == [(3, 5, 3), (3, 5, 3), (1, 5, 3)]
    monkeypatch.setattr("tandem.statistics.alternative_power.AT_ONCE", 19)
    shapes.clear()
    assert alt_test_power(5, annotators=3, trials=2) == 1
    assert shapes == [(1, 5, 3), (1, 5, 3)]


def test_the_power_by_queries_is_the_share_of_studies_in_which_a_judge_as_good_as_people_passes():
    passed, agreement, yes = [], [], []
    for seed in range(200):
        people, judge, queries = replaced("as good", 18, 0.3, seed)
        test = alt_test(people, judge, queries, level="nominal", epsilon=0.2)
        passed.append(test.passed is True)
        pairs = ((0, 1), (0, 2), (1, 2))
        agreement.append(np.mean([(people[:, a] == people[:, b]).mean() for a, b in pairs]))
        yes.append(people.mean())
    shares = (1 - np.mean(yes), np.mean(yes))
    accuracy = accuracy_of(np.mean(agreement), 2, shares)
    power = partial(
        alt_test_power, 180, categories=2, accuracy=accuracy, frequencies=shares, trials=1000
    )
    by_query = power(queries=18, correlation=0.04)
    assert by_query == pytest.approx(np.mean(passed), abs=0.1)
    # By items, without the bound, it was said to be certain.
    assert power() > 0.95 > by_query + 0.1


def test_with_a_query_for_each_item_items_decide():
    by_items = alt_test_power(60, trials=200)
    assert alt_test_power(60, queries=60, trials=200) == by_items


def test_items_of_a_query_have_the_requested_correlation_of_losses():
    model = _Raters(3, np.array([0.7, 0.3]), 0.85, None)
    generator = np.random.Generator(np.random.PCG64(0))
    losses = model.losses((40_000,), generator)[:, 0]
    means = model.query_means(20_000, 10, 0.3, generator)[:, 0]
    # The variance of a mean of ten items is that of one, times (1 + 9 * .3) / 10.
    assert means.var() == pytest.approx(losses.var() * (1 + 9 * 0.3) / 10, rel=0.05)


def test_a_worse_judge_is_right_as_often_as_requested_with_unequal_frequencies():
    shares = np.array([0.8, 0.15, 0.05])
    model = _Raters(2, shares, 0.9, 0.8)
    labels, truth = model.labels((200_000,), np.random.Generator(np.random.PCG64(0)))
    right = (labels == truth).mean(axis=0)
    assert right == pytest.approx([0.9, 0.9, 0.8], abs=0.005)
    assert (truth == 0).mean() == pytest.approx(0.8, abs=0.005)


def test_accuracy_with_unequal_frequencies_gives_the_agreement_back():
    shares = (0.8, 0.15, 0.05)
    labels, _ = _Raters(2, np.array(shares), accuracy_of(0.9, 3, shares), None).labels(
        (200_000,), np.random.Generator(np.random.PCG64(1))
    )
    assert (labels[:, 0] == labels[:, 1]).mean() == pytest.approx(0.9, abs=0.005)


def test_a_correlation_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="correlation"):
        alt_test_power(60, queries=6, correlation=1.5)


def test_ordered_categories_are_compared_by_their_distance():
    model = _Raters(3, np.full(4, 1 / 4), 0.7, 0.6, (0, 1, 2, 5))
    generator = np.random.Generator(np.random.PCG64(0))
    labels, _ = model.labels((300,), generator)
    again = np.random.Generator(np.random.PCG64(0))
    losses = model.losses((300,), again)
    values = np.array([0.0, 1, 2, 5])[labels]
    form = PlainForm(
        labels[:, :3], np.arange(300), level="ordinal", values=np.array([0.0, 1, 2, 5])
    )
    found = form.losses(labels[None, :, 3])
    assert losses.mean(axis=0) == pytest.approx(found.mean[0])
    assert len(np.unique(values)) == 4
