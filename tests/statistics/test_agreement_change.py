"""The change of agreement between two sets of labels equals the difference of separate estimates,
and its interval covers the true change."""

import numpy as np
import pytest

from tandem.statistics import agreement_change, agreement_estimates
from tests.statistics.cast import number

NAMES = ["percent", "fleiss_kappa", "krippendorff_alpha"]


def two_sides(queries: int = 20, seed: int = 3):
    """Labels (U, 3) of two versions: people guess before, and agree on 4 of 5 units after."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 2, queries * 6)
    guesses = generator.integers(0, 2, (queries * 6, 3))
    is_right = generator.random((queries * 6, 3)) < 0.8
    after = np.where(is_right, truth[:, None], guesses)
    is_before = (np.arange(queries * 6) % 2 == 0)[:, None]
    clusters = np.repeat(np.arange(queries), 6)
    return np.where(is_before, guesses, -1), np.where(is_before, -1, after), clusters


def kappa_change(before, after, clusters, **options):
    made = agreement_change(before, after, clusters, 2, names=["fleiss_kappa"], **options)
    return made["fleiss_kappa"]


def test_the_change_is_the_coefficient_after_minus_the_one_before():
    before, after, clusters = two_sides()
    change = agreement_change(before, after, clusters, 2, names=NAMES, draws=200)
    one = agreement_estimates(before, clusters, 2, names=NAMES, draws=0)
    other = agreement_estimates(after, clusters, 2, names=NAMES, draws=0)
    for name in NAMES:
        expected = number(other[name].value) - number(one[name].value)
        assert number(change[name].value) == pytest.approx(expected)
    assert change["percent"].n == 60
    assert "difference" in change["fleiss_kappa"].method


def test_the_interval_contains_the_planted_change_and_excludes_zero():
    change = kappa_change(*two_sides(), draws=2000)
    # Two raters who are right with chance .8 and otherwise guess have a kappa of .8 squared.
    assert 0 < change.low < 0.64 < change.high


def test_equal_labels_before_and_after_give_a_change_of_zero():
    before, _, clusters = two_sides()
    change = agreement_change(before, before, clusters, 2, names=NAMES, draws=200)
    assert {name: of.value for name, of in change.items()} == dict.fromkeys(NAMES, 0.0)
    assert change["percent"].low is None


def test_fewer_than_ten_queries_on_one_side_give_no_interval():
    before, after, clusters = two_sides()
    after = np.where((clusters < 9)[:, None], after, -1)
    change = agreement_change(before, after, clusters, 2, names=["percent"], draws=200)["percent"]
    assert (change.low, "9 queries" in change.method) == (None, True)


def test_the_change_is_undefined_if_one_side_has_no_unit_with_two_labels():
    before, after, clusters = two_sides()
    after[:, 1:] = -1
    change = agreement_change(before, after, clusters, 2, names=["fleiss_kappa"], draws=20)
    assert change["fleiss_kappa"].reason == "no unit has two labels"
    assert change["fleiss_kappa"].n == 0


@pytest.mark.every_case
def test_the_interval_covers_the_true_change_as_often_as_stated():
    """Of 200 simulated studies at least 92.5 % of intervals contain the true change."""
    within = 0
    for seed in range(200):
        made = kappa_change(*two_sides(20, seed), draws=500, seed=seed)
        within += made.low <= 0.64 <= made.high
    assert within >= 185
