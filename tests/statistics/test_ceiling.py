import numpy as np
import pytest

from analysis.statistics import Resamples, ceiling_estimates, cohen_kappa, confusion
from tests.statistics.cast import random_codes

pytestmark = pytest.mark.every_case

QUERIES = np.arange(60) % 15


def kappas(labels, weights=None):
    pairs = ((0, 1), (0, 2), (1, 2))
    return [cohen_kappa(confusion(labels[:, a], labels[:, b], 4, weights)) for a, b in pairs]


def test_three_raters_by_hand():
    # Ada and Bram agree on 3 of 4, Ada and Chidi on 4 of 4, Bram and Chidi on 3 of 4.
    labels = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
    made = ceiling_estimates(labels, np.arange(4), 2)
    assert made["percent"].value == pytest.approx((3 / 4 + 1 + 3 / 4) / 3)
    # Kappas: margins 3/4 and 1/2 give chance 1/2, so 1/2; then 1; then 1/2.
    assert made["cohen_kappa"].value == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert made["percent"].n == 4


def test_values_and_intervals_are_those_of_resampled_units():
    labels, drawn = random_codes(3, units=60, raters=3), Resamples.draw(QUERIES, 200, 1)
    made = ceiling_estimates(labels, QUERIES, 4, draws=drawn, interval="percentile")["cohen_kappa"]
    assert made.value == pytest.approx(np.mean(kappas(labels)))
    resampled = np.mean(kappas(labels, drawn.weights()), axis=0)
    assert (made.low, made.high) == pytest.approx(np.quantile(resampled, [0.025, 0.975]))


def test_a_pair_that_shares_no_unit_leaves_the_mean():
    labels = np.array([[0, 0, -1], [1, 1, -1], [0, -1, 0], [1, -1, 0]])
    made = ceiling_estimates(labels, np.arange(4), 2)
    # Ada and Bram 1, Ada and Chidi 1/2, Bram and Chidi nothing.
    assert made["percent"].value == pytest.approx(3 / 4)


@pytest.mark.parametrize("labels", [np.zeros((5, 0), int), np.zeros((5, 1), int)])
def test_without_two_raters_there_is_no_ceiling_and_it_says_why(labels):
    made = ceiling_estimates(labels, np.arange(5), 2)
    assert {e.reason for e in made.values()} == {"no two people share labels that vary"}


def test_people_who_never_vary_have_a_share_and_no_kappa():
    made = ceiling_estimates(np.zeros((20, 2), int), np.arange(20), 2, draws=20)
    assert (made["percent"].value, made["cohen_kappa"].value) == (1, None)
