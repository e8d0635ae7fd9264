import numpy as np
import pytest

from tandem.statistics import Resamples, ceiling_estimates, cohen_kappa, confusion
from tests.statistics.cast import random_codes

pytestmark = pytest.mark.every_case

QUERIES = np.arange(60) % 15


def weighted_kappa(labels, weights=None):
    """Mean kappa over pairs, each from its own table and weighted by its units."""
    tables = [
        confusion(labels[:, a], labels[:, b], 4, weights) for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    kappas = np.array([cohen_kappa(table) for table in tables])
    return np.average(kappas, axis=0, weights=np.array([table.sum((-2, -1)) for table in tables]))


def study(careless_labels=15):
    """Three people with 435 labels who agree at a kappa of about .5, and a careless fourth."""
    generator = np.random.default_rng(4)
    truth = generator.integers(0, 2, 435)
    slips = generator.random((435, 3)) < 0.14
    careless = np.full(435, -1)
    careless[:careless_labels] = generator.integers(0, 2, careless_labels)
    return np.column_stack([np.where(slips, 1 - truth[:, None], truth[:, None]), careless])


def test_the_ceiling_of_three_raters_matches_the_calculation_by_hand():
    # Ada and Bram agree on 3 of 4, Ada and Chidi on 4 of 4, Bram and Chidi on 3 of 4.
    labels = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
    made = ceiling_estimates(labels, np.arange(4), 2)
    assert made["percent"].value == pytest.approx((3 / 4 + 1 + 3 / 4) / 3)
    # Kappas: margins 3/4 and 1/2 give chance 1/2, so 1/2; then 1; then 1/2.
    assert made["cohen_kappa"].value == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert made["percent"].n == 4


def test_value_and_interval_match_resampling_the_units():
    labels, drawn = random_codes(3, units=60, raters=3), Resamples.draw(QUERIES, 200, 1)
    made = ceiling_estimates(labels, QUERIES, 4, draws=drawn, interval="percentile")["cohen_kappa"]
    assert made.value == pytest.approx(weighted_kappa(labels))
    resampled = weighted_kappa(labels, drawn.weights())
    assert (made.low, made.high) == pytest.approx(np.quantile(resampled, [0.025, 0.975]))


def test_a_pair_without_a_shared_unit_is_left_out_of_the_mean():
    labels = np.array([[0, 0, -1], [1, 1, -1], [0, -1, 0], [1, -1, 0]])
    made = ceiling_estimates(labels, np.arange(4), 2)
    # Ada and Bram 1, Ada and Chidi 1/2, Bram and Chidi nothing.
    assert made["percent"].value == pytest.approx(3 / 4)


@pytest.mark.parametrize("labels", [np.zeros((5, 0), int), np.zeros((5, 1), int)])
def test_without_two_raters_the_ceiling_is_null_with_a_reason(labels):
    made = ceiling_estimates(labels, np.arange(5), 2)
    assert {e.reason for e in made.values()} == {"no two people share labels that vary"}


def test_if_people_use_one_category_only_agreement_is_defined_and_kappa_is_not():
    made = ceiling_estimates(np.zeros((20, 2), int), np.arange(20), 2, draws=20)
    assert (made["percent"].value, made["cohen_kappa"].value) == (1, None)


def test_pairs_are_weighted_by_their_shared_units():
    # Ada and Bram agree on 3 of 4 units, Ada and Chidi on none of 1, Bram and Chidi on 1 of 1.
    labels = np.array([[0, 1, 1], [0, 0, -1], [1, 1, -1], [0, 0, -1]])
    made = ceiling_estimates(labels, np.arange(4), 2)["percent"]
    assert made.value == pytest.approx((3 + 0 + 1) / (4 + 1 + 1))


def test_a_careless_rater_with_fifteen_labels_changes_nothing():
    labels = study()
    made, alone = (
        ceiling_estimates(of, np.arange(435) // 15, 2, draws=200) for of in (labels, labels[:, :3])
    )
    assert made["cohen_kappa"].value == alone["cohen_kappa"].value
    assert made["cohen_kappa"].value == pytest.approx(0.5, abs=0.05)
    assert made["percent"].value == alone["percent"].value
    assert (made["percent"].low, made["percent"].high) == (
        alone["percent"].low,
        alone["percent"].high,
    )
    assert "3 pairs below 30 shared units left out" in made["cohen_kappa"].method
    assert "left out" not in alone["cohen_kappa"].method


def test_a_careless_rater_with_sixty_labels_is_weighted_by_them():
    labels = study(careless_labels=60)
    made = ceiling_estimates(labels, np.arange(435), 2, draws=0)["percent"]
    shares = [
        (labels[:, a] == labels[:, b])[labels[:, b] >= 0].mean()
        for a, b in ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
    ]
    assert made.value == pytest.approx(np.average(shares, weights=[435] * 3 + [60] * 3))


def test_if_no_pair_shares_thirty_units_all_pairs_count():
    made = ceiling_estimates(study()[:20], np.arange(20), 2, draws=0)["percent"]
    assert made.n == 20
    assert "left out" not in made.method
