from itertools import product

import numpy as np
import pytest
from statsmodels.stats import inter_rater

from tandem.crosscheck.process import run_libraries
from tandem.statistics import (
    cohen_kappa,
    confusion,
    counts_of,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
    randolph_kappa,
    unit_agreement,
)
from tandem.statistics.agreement import percent_agreement_pooled
from tests.statistics.cast import (
    FOUR_OBSERVERS,
    FOURTEEN_RATERS,
    random_codes,
    random_weights,
)

pytestmark = pytest.mark.every_case

K = 4
LEVELS = ("nominal", "ordinal", "interval")

COEFFICIENTS = {
    "percent": lambda counts, w=None: percent_agreement(counts, weights=w),
    "percent_pooled": lambda counts, w=None: percent_agreement_pooled(counts, weights=w),
    "fleiss": lambda counts, w=None: fleiss_kappa(counts, weights=w),
    "fleiss_pooled": lambda counts, w=None: fleiss_kappa_pooled(counts, weights=w),
    "randolph": lambda counts, w=None: randolph_kappa(counts, counts.shape[1], weights=w),
    "ac1": lambda counts, w=None: gwet_ac(counts, "nominal", weights=w),
    "ac2": lambda counts, w=None: gwet_ac(counts, "ordinal", weights=w),
} | {
    f"alpha_{level}": lambda counts, w=None, level=level: krippendorff_alpha(
        counts, level, weights=w
    )
    for level in LEVELS
}
CHANCE_FROM_LABELS = [n for n in COEFFICIENTS if n.startswith(("fleiss", "alpha"))]

every_coefficient = pytest.mark.parametrize("name", COEFFICIENTS)


def naive_gwet(codes, k, weight):
    """AC1 or AC2 as the handbook writes it, label by label."""
    agreements, shares = [], []
    for unit in codes:
        labels = [c for c in unit if c >= 0]
        if labels:
            shares.append([labels.count(c) / len(labels) for c in range(k)])
        pairs = [(a, b) for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j]
        if pairs:
            agreements.append(sum(weight[a][b] for a, b in pairs) / len(pairs))
    prevalence = [sum(s[c] for s in shares) / len(shares) for c in range(k)]
    chance = sum(p * (1 - p) for p in prevalence) * sum(map(sum, weight)) / (k * (k - 1))
    return (sum(agreements) / len(agreements) - chance) / (1 - chance)


def quadratic(values):
    span = (max(values) - min(values)) ** 2
    return [[1 - (a - b) ** 2 / span for b in values] for a in values]


# Three units of three, two and one labels: aab, bb, a.
MIXED = np.array([[2, 1], [0, 2], [1, 0]])


def test_percent_agreement_averages_over_units_with_two_labels():
    # aab: 1 pair of 3 agrees; bb: 1 of 1; a has no pair. Mean (1/3 + 1)/2 = 2/3.
    assert percent_agreement(MIXED) == pytest.approx(2 / 3)
    assert unit_agreement(MIXED).tolist() == [
        pytest.approx(1 / 3),
        1,
        pytest.approx(np.nan, nan_ok=True),
    ]


def test_pooled_percent_agreement_is_the_share_of_all_pairs_that_agree():
    # 1 of 3 and 1 of 1 pairs: 2 of 4.
    assert percent_agreement_pooled(MIXED) == pytest.approx(0.5)


def test_fleiss_kappa_averaged_and_pooled_matches_the_calculation_by_hand():
    # Labels on units with two or more: a 2, b 3; Pe = 0.16 + 0.36 = 0.52.
    # Averaged (2/3 - 0.52)/0.48 = 0.305556; pooled (0.5 - 0.52)/0.48 = -0.041667.
    assert fleiss_kappa(MIXED) == pytest.approx(0.305556, abs=1e-6)
    assert fleiss_kappa_pooled(MIXED) == pytest.approx(-0.041667, abs=1e-6)


def test_randolph_kappa_matches_the_calculation_by_hand():
    # (2/3 - 1/2)/(1/2) = 1/3; with a third category on offer (2/3 - 1/3)/(2/3) = 1/2.
    assert randolph_kappa(MIXED, 2) == pytest.approx(1 / 3)
    assert randolph_kappa(MIXED, 3) == pytest.approx(1 / 2)


def test_alpha_matches_the_calculation_by_hand():
    # aab has 4 unequal ordered pairs, /2 = 2; bb none: sum 2. N = 5, S(T) = 25 - 4 - 9 = 12.
    # alpha = 1 - 4 * 2 / 12 = 1/3.
    assert krippendorff_alpha(MIXED, "nominal") == pytest.approx(1 / 3)


def test_interval_alpha_matches_the_calculation_by_hand():
    # Units 1 2 and 3 5. Squared differences over ordered pairs: 2 and 8; /(2-1): sum 10.
    # All four values: pairs 1, 4, 16, 1, 9, 4 = 35, ordered 70. alpha = 1 - 3 * 10 / 70 = 4/7.
    counts, values = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([1.0, 2.0, 3.0, 5.0])
    assert krippendorff_alpha(counts, "interval", values) == pytest.approx(4 / 7)


def test_gwet_ac1_matches_the_calculation_by_hand():
    # Shares of a: 2/3, 0, 1 (the single label enters): mean 5/9. Pe = 2 * (5/9)(4/9) = 40/81
    # for two categories. (2/3 - 40/81)/(1 - 40/81) = (14/81)/(41/81) = 14/41.
    assert gwet_ac(MIXED, "nominal") == pytest.approx(14 / 41)


def test_cohen_kappa_of_fifty_grant_proposals_matches_the_calculation_by_hand():
    # Po = 35/50 = 0.7; Pe = (25*30 + 25*20)/2500 = 0.5; 0.2/0.5 = 0.4.
    assert cohen_kappa(np.array([[20.0, 5], [10, 15]])) == pytest.approx(0.4)


def test_weighted_cohen_kappa_matches_the_calculation_by_hand():
    # Table of 4: (0,0), (0,2), (1,1), (2,1). Rows 2 1 1, columns 1 2 1.
    # Linear: observed (2 + 1)/4; expected sum r_i c_j |i-j| / 16 = (4 + 4 + 1 + 1 + 2 + 2)/16.
    # 1 - 0.75/0.875 = 1/7. Quadratic: (4 + 1)/4; (4 + 8 + 1 + 1 + 4 + 2)/16: 1 - 1.25/1.25 = 0.
    table = np.array([[1.0, 0, 1], [0, 1, 0], [0, 1, 0]])
    assert cohen_kappa(table, "linear") == pytest.approx(1 / 7)
    assert cohen_kappa(table, "quadratic") == pytest.approx(0)


# Ratings 1, 4 and 5 of two people on ten units. Margins: 4, 3, 3 and 3, 4, 3.
RATED_1_4_5 = np.array([[3.0, 1, 0], [0, 2, 1], [0, 1, 2]])
COUNTS_1_4_5 = RATED_1_4_5.ravel().astype(int)


def test_the_weights_of_kappa_are_distances_of_the_numbers_of_categories():
    numbers = np.array([1.0, 4, 5])
    # Distances 3, 4 and 1. Observed: 3 + 1 + 1. Expected: (16 * 3 + 12 * 4 + 9 * 3 + 9 * 1 + 9 * 4
    # + 12 * 1) / 10 = 18.
    assert cohen_kappa(RATED_1_4_5, "linear", numbers) == pytest.approx(1 - 5 / 18)
    # Squared: observed 9 + 1 + 1, expected (144 + 192 + 81 + 9 + 144 + 12) / 10 = 58.2.
    assert cohen_kappa(RATED_1_4_5, "quadratic", numbers) == pytest.approx(1 - 11 / 58.2)
    # By position, the distances would be 1, 2 and 1: observed 3, expected 13 when squared.
    assert cohen_kappa(RATED_1_4_5, "quadratic") == pytest.approx(1 - 3 / 13)


@pytest.mark.parametrize("weighting", ["linear", "quadratic"])
def test_kappa_of_numbers_equals_kappa_on_the_whole_scale(weighting):
    one, other = (np.repeat(np.array([1, 4, 5])[of], COUNTS_1_4_5) for of in np.divmod(range(9), 3))
    whole = confusion(one, other, 6)[1:, 1:]
    expected = inter_rater.cohens_kappa(whole, wt=weighting, return_results=False)
    ours = cohen_kappa(RATED_1_4_5, weighting, np.array([1.0, 4, 5]))
    assert ours == pytest.approx(expected)
    # Unused categories, the origin and the unit of the scale do not matter.
    assert cohen_kappa(RATED_1_4_5, weighting, np.array([10.0, 40, 50])) == pytest.approx(expected)
    assert cohen_kappa(whole, weighting) == pytest.approx(expected)


def test_weighted_coefficients_of_abstractors_are_as_published_with_irrcac():
    table = np.array([[13.0, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert cohen_kappa(table) == pytest.approx(0.7964094, abs=1e-7)
    assert cohen_kappa(table, "linear") == pytest.approx(0.843, abs=5e-4)
    assert cohen_kappa(table, "quadratic") == pytest.approx(0.892, abs=5e-4)
    codes = np.repeat(np.stack(np.divmod(range(9), 3), 1), table.ravel().astype(int), axis=0)
    assert gwet_ac(counts_of(codes, 3), "ordinal") == pytest.approx(0.940, abs=5e-4)


def test_an_unknown_weighting_is_refused():
    with pytest.raises(ValueError, match="cubic"):
        cohen_kappa(np.eye(2), "cubic")


def test_fleiss_kappa_of_fourteen_raters_is_as_published():
    assert fleiss_kappa(FOURTEEN_RATERS) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_four_observers_is_as_published(level, published):
    counts = counts_of(FOUR_OBSERVERS, 5)
    assert krippendorff_alpha(counts, level) == pytest.approx(published, abs=6e-4)


def test_gwet_ac1_of_four_observers_is_as_published():
    assert gwet_ac(counts_of(FOUR_OBSERVERS, 5), "nominal") == pytest.approx(0.77544, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_and_randolph_agree_with_statsmodels(seed):
    counts = counts_of(random_codes(seed, gaps=0), K)
    for method, ours in (("fleiss", fleiss_kappa(counts)), ("randolph", randolph_kappa(counts, K))):
        assert ours == pytest.approx(inter_rater.fleiss_kappa(counts, method=method))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighting", [None, "linear", "quadratic"])
def test_cohen_kappa_agrees_with_statsmodels(seed, weighting):
    codes = random_codes(seed, raters=2)
    table = confusion(codes[:, 0], codes[:, 1], K)
    theirs = inter_rater.cohens_kappa(table, wt=weighting, return_results=False)
    assert cohen_kappa(table, weighting) == pytest.approx(theirs)
    if weighting:
        theirs = inter_rater.cohens_kappa(table, NUMBERS, wt=weighting, return_results=False)
        assert cohen_kappa(table, weighting, NUMBERS) == pytest.approx(theirs)


NUMBERS = np.array([1.0, 2.5, 3.0, 7.0])


@pytest.fixture(scope="module")
def library_alpha():
    """The library's alphas by seed and level, from one run of its process."""
    cases = list(product(range(5), LEVELS))
    arrays = {f"{seed}/codes": random_codes(seed) for seed in range(5)}
    arrays |= {f"{seed}/values": NUMBERS for seed in range(5)}
    columns = list(range(arrays["0/codes"].shape[1]))
    tasks = [
        {"figure": "alpha", "matrix": str(seed), "columns": columns, "level": level}
        for seed, level in cases
    ]
    return dict(zip(cases, run_libraries(arrays, tasks)["values"], strict=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_agrees_with_the_krippendorff_library(seed, level, library_alpha):
    ours = krippendorff_alpha(counts_of(random_codes(seed), K), level, NUMBERS)
    assert ours == pytest.approx(library_alpha[seed, level])


@pytest.mark.parametrize("seed", range(5))
def test_gwet_agrees_with_the_formula_written_out(seed):
    codes = random_codes(seed)
    counts, values = counts_of(codes, K), [1.0, 2.5, 3.0, 7.0]
    assert gwet_ac(counts, "nominal") == pytest.approx(naive_gwet(codes, K, np.eye(K).tolist()))
    assert gwet_ac(counts, "ordinal") == pytest.approx(naive_gwet(codes, K, quadratic(range(K))))
    ours = gwet_ac(counts, "interval", np.array(values))
    assert ours == pytest.approx(naive_gwet(codes, K, quadratic(values)))


def test_alpha_of_years_is_as_exact_as_that_of_small_numbers():
    counts = counts_of(random_codes(3), K)
    small = krippendorff_alpha(counts, "interval", np.array([0.0, 1, 2, 5]))
    large = krippendorff_alpha(counts, "interval", np.array([0.0, 1, 2, 5]) + 1e6)
    assert large == pytest.approx(small, abs=1e-12)


@every_coefficient
@pytest.mark.parametrize("seed", range(3))
def test_a_weight_of_two_counts_a_unit_twice(name, seed):
    counts, weights = counts_of(random_codes(seed), K), random_weights(seed, 40)
    function = COEFFICIENTS[name]
    repeated = [function(np.repeat(counts, w.astype(int), axis=0)) for w in weights]
    assert function(counts, weights) == pytest.approx(repeated)


@pytest.mark.parametrize("weighting", [None, "linear", "quadratic"])
def test_cohen_kappa_of_a_stack_of_tables_is_computed_for_each_table(weighting):
    codes, weights = random_codes(1, raters=2), random_weights(1, 40)
    tables = confusion(codes[:, 0], codes[:, 1], K, weights)
    one_by_one = [cohen_kappa(table, weighting) for table in tables]
    assert cohen_kappa(tables, weighting) == pytest.approx(one_by_one)


@every_coefficient
def test_agreement_is_undefined_if_no_unit_has_two_labels(name):
    for counts in ([[1, 0], [0, 1]], [[0, 0]]):
        assert np.isnan(COEFFICIENTS[name](np.array(counts)))


@every_coefficient
def test_an_empty_resample_is_undefined_and_leaves_the_others_alone(name):
    counts, weights = counts_of(random_codes(0), K), random_weights(0, 40)
    weights[2] = 0
    assert (
        np.isnan(COEFFICIENTS[name](counts, weights)).tolist() == [False, False, True] + [False] * 3
    )


@pytest.mark.parametrize("name", CHANCE_FROM_LABELS)
def test_with_a_single_category_coefficients_with_observed_chance_are_undefined(name):
    assert np.isnan(COEFFICIENTS[name](np.array([[3, 0], [2, 0], [2, 0]])))


def test_cohen_kappa_is_undefined_if_both_raters_always_use_one_category():
    assert np.isnan(cohen_kappa(np.array([[7.0, 0], [0, 0]])))
    assert np.isnan(cohen_kappa(np.zeros((2, 2))))


def test_alpha_of_a_constant_rating_is_undefined_despite_rounding_errors():
    values = 2.4398107176008175 + np.array([0, 1.3, 2.9])
    counts = np.array([[3, 0, 0], [2, 0, 0], [2, 0, 0]])
    assert np.isnan(krippendorff_alpha(counts, "interval", values))


def test_fixed_chance_coefficients_are_one_if_only_one_of_two_categories_is_used():
    counts = np.array([[3, 0], [2, 0]])
    assert (randolph_kappa(counts, 2), gwet_ac(counts, "nominal")) == (1, 1)


def test_with_one_category_available_every_chance_corrected_coefficient_is_undefined():
    counts = np.array([[3], [2]])
    for name in set(COEFFICIENTS) - {"percent", "percent_pooled"}:
        assert np.isnan(COEFFICIENTS[name](counts)), name
