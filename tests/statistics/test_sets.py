"""Agreement on sets of codes, on tables worked by hand and against other libraries."""

import numpy as np
import pytest

from tandem.crosscheck.process import run_libraries
from tandem.statistics import (
    OF_SETS,
    WEIGHTED,
    agreement_estimates,
    alt_test,
    ceiling_estimates,
    cohen_kappa,
    confusion,
    counts_of,
    crowd_ceiling_estimates,
    krippendorff_alpha,
    masi_distances,
    pair_estimates,
    pair_of_numbers_estimate,
    pair_of_sets_estimate,
)
from tandem.statistics.sets import MOST_SETS
from tests.statistics.cast import interval, number

pytestmark = pytest.mark.every_case

#: The sets {}, {a}, {a, b}, {b, c} and {a, b, c}, by their codes a, b and c.
MEMBERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]], float)
NONE, A, AB, BC, ABC = range(5)


def test_equal_sets_have_no_distance_and_disjoint_ones_have_one():
    distances = masi_distances(MEMBERS)
    assert np.diagonal(distances) == pytest.approx(np.zeros(5))
    assert distances[A, BC] == 1


def test_two_empty_sets_agree_and_an_empty_one_is_disjoint_from_any_other():
    distances = masi_distances(MEMBERS)
    assert distances[NONE, NONE] == 0
    assert distances[NONE] == pytest.approx([0, 1, 1, 1, 1])


def test_sets_of_which_one_contains_the_other_are_weighted_by_two_thirds():
    distances = masi_distances(MEMBERS)
    assert distances[A, AB] == pytest.approx(1 - 1 / 2 * 2 / 3)
    assert distances[AB, ABC] == pytest.approx(1 - 2 / 3 * 2 / 3)


def test_sets_that_merely_meet_are_weighted_by_one_third():
    # {a, b} and {b, c} share one of three codes.
    assert masi_distances(MEMBERS)[AB, BC] == pytest.approx(1 - 1 / 3 * 1 / 3)


def test_alpha_of_sets_is_that_worked_by_hand():
    """Units ({a}, {a}), ({a}, {a, b}) and ({b, c}, {b, c}), so N = 6.

    Only the second unit disagrees, by d(a, ab) = 2/3, in two ordered pairs, and n - 1 = 1 for each
    unit, so that the observed sum is 4/3. Over all ordered pairs of the labels {a} x 3, {a, b} and
    {b, c} x 2, it is 2 (3 * 1 * 2/3 + 3 * 2 * 1 + 1 * 2 * 8/9) = 2 (2 + 6 + 16/9) = 176/9. So alpha
    is 1 - 5 * 4/3 / (176/9) = 1 - 15/44.
    """
    codes = np.array([[A, A], [A, AB], [BC, BC]])
    assert krippendorff_alpha(counts_of(codes, 5), "set", MEMBERS) == pytest.approx(29 / 44)


def test_the_distance_itself_enters_alpha_and_not_its_square():
    codes = np.array([[A, A], [A, AB], [BC, BC]])
    squared = 1 - 5 * 2 * (4 / 9) / (2 * (3 * 4 / 9 + 6 + 2 * 64 / 81))
    assert krippendorff_alpha(counts_of(codes, 5), "set", MEMBERS) != pytest.approx(squared)


def test_alpha_of_sets_with_a_single_code_each_is_the_nominal_one():
    codes = np.random.default_rng(0).integers(-1, 4, (40, 3))
    counts = counts_of(codes, 4)
    assert krippendorff_alpha(counts, "set", np.eye(4)) == pytest.approx(
        krippendorff_alpha(counts, "nominal")
    )


def test_alpha_of_sets_needs_their_codes():
    with pytest.raises(ValueError, match="which codes are in each"):
        krippendorff_alpha(counts_of(np.array([[0, 1]]), 2), "set")


def test_more_sets_than_a_table_of_distances_can_hold_are_refused():
    with pytest.raises(ValueError, match="at most 2000 are compared"):
        masi_distances(np.ones((MOST_SETS + 1, 2)))


def random_sets(seed, units=60, raters=3, size=5):
    """Return codes (U, R) with gaps, of random sets, and which codes are in each set."""
    rng = np.random.default_rng(seed)
    truth = rng.random((units, size)) < 0.35
    given = truth[:, None] ^ (rng.random((units, raters, size)) < 0.15)
    members, codes = np.unique(given.reshape(-1, size), axis=0, return_inverse=True)
    codes = codes.reshape(units, raters)
    codes[rng.random(codes.shape) < 0.1] = -1
    return codes.astype(np.int64), members.astype(float)


def as_frozensets(members):
    return [frozenset(np.flatnonzero(row).tolist()) for row in members]


@pytest.mark.parametrize("seed", range(4))
def test_distances_and_alpha_agree_with_nltk(seed):
    metrics = pytest.importorskip("nltk.metrics", reason="nltk is not installed")
    agreement = pytest.importorskip("nltk.metrics.agreement")
    codes, members = random_sets(seed)
    sets = as_frozensets(members)

    def distance(one, other):
        # nltk divides by zero for two empty sets.
        return metrics.masi_distance(one, other) if one | other else 0.0

    expected = [[distance(one, other) for other in sets] for one in sets]
    assert masi_distances(members) == pytest.approx(np.array(expected))
    kept = np.flatnonzero((codes >= 0).sum(axis=1) >= 2)
    triples = [
        (str(rater), str(unit), sets[codes[unit, rater]])
        for unit in kept
        for rater in range(codes.shape[1])
        if codes[unit, rater] >= 0
    ]
    theirs = agreement.AnnotationTask(triples, distance=distance).alpha()
    ours = krippendorff_alpha(counts_of(codes, len(members)), "set", members)
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("seed", range(4))
def test_alpha_and_kappa_agree_with_the_libraries_of_the_check(seed):
    codes, members = random_sets(seed)
    k = len(members)
    arrays = {"m/codes": codes, "m/values": members}
    tasks = [
        {"figure": "alpha", "matrix": "m", "columns": [0, 1, 2], "level": "set", "k": k},
        {"figure": "cohen", "weights": "masi", "matrix": "m", "columns": [0, 1], "k": k},
    ]
    alpha, kappa = run_libraries(arrays, tasks)["values"]
    assert krippendorff_alpha(counts_of(codes, k), "set", members) == pytest.approx(alpha)
    ours = pair_of_sets_estimate(codes[:, 0], codes[:, 1], np.arange(60), members, draws=10)
    assert ours.value == pytest.approx(kappa)
    table = confusion(codes[:, 0], codes[:, 1], k)
    assert cohen_kappa(table, "masi", members) == pytest.approx(kappa)


def test_kappa_of_sets_is_that_worked_by_hand():
    """Units ({a}, {a}), ({a}, {a, b}), ({b, c}, {b, c}): the distances sum to 2/3.

    One rater gave {a} twice and {b, c}, the other {a}, {a, b} and {b, c}. Over all nine pairs the
    distances sum to 2 (0 + 2/3 + 1) + (1 + 8/9 + 0) = 47/9, so kappa is 1 - 3 * 2/3 / (47/9).
    """
    one, other = np.array([A, A, BC]), np.array([A, AB, BC])
    made = pair_of_sets_estimate(one, other, np.arange(3), MEMBERS, draws=10)
    assert made.value == pytest.approx(29 / 47)


def test_the_mean_over_pairs_of_sets_weights_pairs_by_shared_units():
    codes, members = random_sets(1)
    clusters = np.arange(len(codes)) // 3
    made = ceiling_estimates(
        codes, clusters, len(members), names=(OF_SETS.key,), values=members, draws=200
    )[OF_SETS.key]
    pairs = [(0, 1), (0, 2), (1, 2)]
    kappas = [
        pair_of_sets_estimate(codes[:, a], codes[:, b], clusters, members, draws=10)
        for a, b in pairs
    ]
    units = [int(((codes[:, a] >= 0) & (codes[:, b] >= 0)).sum()) for a, b in pairs]
    (low, high), value = interval(made), number(made.value)
    assert value == pytest.approx(
        np.average([number(each.value) for each in kappas], weights=units)
    )
    assert low < value < high


def test_a_crowd_has_no_mean_kappa_of_sets():
    codes, members = random_sets(1)
    made = crowd_ceiling_estimates(
        codes, np.arange(60), len(members), names=(OF_SETS.key,), values=members, fewest=1
    )[OF_SETS.key]
    assert made.value is None
    assert "at most 30 people" in (made.reason or "")


def test_coefficients_of_a_number_of_categories_are_undefined_for_sets():
    codes, members = random_sets(2)
    made = agreement_estimates(codes, np.arange(60), len(members), "set", members, draws=50)
    assert made["krippendorff_alpha"].low is not None
    assert made["krippendorff_alpha"].method.startswith("Krippendorff's alpha, MASI distance")
    for name in ("randolph_kappa", "gwet_ac"):
        assert "number of categories" in (made[name].reason or "")


def test_many_sets_are_compared_as_few_are():
    """More than 64 sets are counted in sparse tables."""
    codes, members = random_sets(3, units=300, size=8)
    assert len(members) > 64
    sparse = agreement_estimates(
        codes, np.arange(300), len(members), "set", members, names=["krippendorff_alpha"], draws=20
    )["krippendorff_alpha"]
    dense = krippendorff_alpha(counts_of(codes, len(members)), "set", members)
    assert sparse.value == pytest.approx(dense)


def test_in_the_alternative_test_a_set_nearer_to_the_others_wins():
    """People give {a, b}; the first judge gives {a}, at 1/3 from them, the second {b, c}, at 1/9.

    The person left out gives {a} or {b, c} throughout.
    """
    clusters = np.arange(40)
    for own, judge, wins in ((A, BC, 0.0), (BC, A, 1.0), (A, A, 1.0)):
        people = np.tile([own, AB, AB], (40, 1))
        made = alt_test(
            people, np.full(40, judge), clusters, level="set", epsilon=0.1, members=MEMBERS
        )
        assert made.annotators[0].advantage_probability == wins


def test_a_missing_set_of_the_judge_loses_the_item():
    people = np.tile([A, A, A], (40, 1))
    made = alt_test(
        people, np.full(40, -1), np.arange(40), level="set", epsilon=0.1, members=MEMBERS
    )
    assert made.advantage_probability == 0


@pytest.mark.parametrize("seed", range(3))
def test_kappa_of_many_numbers_is_that_of_the_table(seed):
    rng = np.random.default_rng(seed)
    values = np.arange(0, 101, 10.0)
    one = rng.integers(0, 11, 80)
    other = np.clip(one + rng.integers(-2, 3, 80), 0, 10)
    one[:5] = other[10:15] = -1
    made = pair_of_numbers_estimate(one, other, np.arange(80) // 4, values, draws=200)
    beside = pair_estimates(one, other, np.arange(80) // 4, 11, values, draws=200)[WEIGHTED.key]
    assert (made.value, made.n) == (pytest.approx(beside.value), beside.n)
    assert (made.low, made.high) == pytest.approx((beside.low, beside.high))
