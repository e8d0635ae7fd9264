"""Properties of every coefficient on any labels: order, names, repetition, agreement, gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tandem.statistics import (
    Tally,
    agreement_estimates,
    cohen_kappa,
    confusion,
    counts_of,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gwet_ac,
    kendall,
    kinds_of,
    krippendorff_alpha,
    mean_absolute_error,
    pearson,
    percent_agreement,
    percent_agreement_pooled,
    randolph_kappa,
    spearman,
)

pytestmark = pytest.mark.every_case

K, UNITS, RATERS = 3, 10, 3
AGREEMENT = {
    "percent": lambda c, w=None: percent_agreement(c, w),
    "percent, pooled": lambda c, w=None: percent_agreement_pooled(c, w),
    "Fleiss": lambda c, w=None: fleiss_kappa(c, w),
    "Fleiss, pooled": lambda c, w=None: fleiss_kappa_pooled(c, w),
    "Randolph": lambda c, w=None: randolph_kappa(c, K, w),
    "alpha, nominal": lambda c, w=None: krippendorff_alpha(c, "nominal", None, w),
    "alpha, ordinal": lambda c, w=None: krippendorff_alpha(c, "ordinal", None, w),
    "alpha, interval": lambda c, w=None: krippendorff_alpha(c, "interval", None, w),
    "AC1": lambda c, w=None: gwet_ac(c, "nominal", None, w),
    "AC2": lambda c, w=None: gwet_ac(c, "ordinal", None, w),
}
PAIRS = {
    "plain": lambda t: cohen_kappa(t),
    "linear": lambda t: cohen_kappa(t, "linear"),
    "quadratic": lambda t: cohen_kappa(t, "quadratic"),
}
SCORES = {"spearman": spearman, "kendall": kendall, "pearson": pearson, "mae": mean_absolute_error}
NOMINAL = [
    "percent",
    "percent, pooled",
    "Fleiss",
    "Fleiss, pooled",
    "Randolph",
    "alpha, nominal",
    "AC1",
]
#: Alpha's chance agreement pairs labels without replacement, n (n - 1), so alpha shrinks towards
#: its large-sample value as labels are repeated. The others depend on shares only.
SHARES_ONLY = [name for name in AGREEMENT if not name.startswith("alpha")]
#: Gwet takes the shares of categories from all units, including those with a single label.
PAIRED_ONLY = [name for name in AGREEMENT if not name.startswith("AC")]

CODES = arrays(np.int64, (UNITS, RATERS), elements=st.integers(-1, K - 1))
COMPLETE = arrays(np.int64, (UNITS, RATERS), elements=st.integers(0, K - 1))
WEIGHTS = arrays(np.int64, UNITS, elements=st.integers(0, 3))
FEW = settings(max_examples=15, deadline=None)


def same(one, other):
    """Equal, or both undefined."""
    return one == pytest.approx(other, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", AGREEMENT)
class TestAgreement:
    @FEW
    @given(CODES, st.permutations(range(RATERS)), st.permutations(range(UNITS)))
    def test_neither_the_order_of_raters_nor_of_units_matters(self, name, codes, raters, units):
        of = AGREEMENT[name]
        assert same(of(counts_of(codes, K)), of(counts_of(codes[units][:, raters], K)))

    @FEW
    @given(CODES, WEIGHTS)
    def test_weighting_a_unit_equals_repeating_it(self, name, codes, weights):
        of, counts = AGREEMENT[name], counts_of(codes, K)
        assert same(of(counts, weights.astype(float)), of(np.repeat(counts, weights, axis=0)))

    @FEW
    @given(CODES)
    def test_if_all_raters_agree_on_every_unit_the_coefficient_is_1(self, name, codes):
        alike = np.where(codes >= 0, codes[:, :1].clip(0), -1)
        alike[0], alike[1] = 0, 1
        assert AGREEMENT[name](counts_of(alike, K)) == pytest.approx(1)

    @FEW
    @given(CODES)
    def test_a_coefficient_is_at_most_1(self, name, codes):
        found = AGREEMENT[name](counts_of(codes, K))
        assert np.isnan(found) or found <= 1 + 1e-12

    @FEW
    @given(CODES)
    def test_the_tally_of_kinds_of_units_gives_the_same_as_the_units(self, name, codes):
        """The report computes from the kinds of units and how often each occurs: a tally."""
        of, counts = AGREEMENT[name], counts_of(codes, K)
        rows, kinds = kinds_of(counts)
        tally = Tally.of(kinds, len(rows), np.arange(UNITS))
        assert same(of(rows, tally.total), of(counts))


@pytest.mark.parametrize("name", NOMINAL)
@FEW
@given(codes=CODES, order=st.permutations(range(K)))
def test_names_of_nominal_categories_do_not_matter(name, codes, order):
    renamed = np.where(codes < 0, -1, np.array(order)[codes])
    assert same(AGREEMENT[name](counts_of(codes, K)), AGREEMENT[name](counts_of(renamed, K)))


@pytest.mark.parametrize("name", AGREEMENT)
@FEW
@given(codes=CODES)
def test_reversing_the_scale_does_not_matter(name, codes):
    turned = np.where(codes < 0, -1, K - 1 - codes)
    assert same(AGREEMENT[name](counts_of(codes, K)), AGREEMENT[name](counts_of(turned, K)))


@pytest.mark.parametrize("name", SHARES_ONLY)
@FEW
@given(codes=CODES, times=st.integers(2, 4))
def test_repeating_every_unit_changes_only_alpha(name, codes, times):
    counts = counts_of(codes, K)
    assert same(AGREEMENT[name](np.tile(counts, (times, 1))), AGREEMENT[name](counts))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@FEW
@given(codes=CODES, times=st.integers(2, 4))
def test_repeating_units_changes_alpha_by_its_small_sample_term(level, codes, times):
    """1 - alpha is (n - 1) D / E with n labels in pairs; D / E depends on shares only."""
    counts = counts_of(codes, K)
    paired = counts[counts.sum(axis=1) >= 2]
    n = paired.sum()
    once, repeated = (krippendorff_alpha(c, level) for c in (counts, np.tile(counts, (times, 1))))
    assert np.isnan(once) == np.isnan(repeated)
    if level != "ordinal" and not np.isnan(once):
        expected = (1 - once) / (n - 1) * n * (times * n - 1) / (times * n)
        assert 1 - repeated == pytest.approx(expected)


@pytest.mark.parametrize("name", PAIRED_ONLY)
@FEW
@given(codes=CODES, lone=arrays(np.int64, 4, elements=st.integers(-1, K - 1)))
def test_units_with_fewer_than_two_labels_change_only_gwets_chance_agreement(name, codes, lone):
    single = np.full((4, RATERS), -1)
    single[:, 0] = lone
    counts, more = counts_of(codes, K), counts_of(np.concatenate([codes, single]), K)
    assert same(AGREEMENT[name](counts), AGREEMENT[name](more))


def test_a_single_label_changes_gwets_chance_agreement():
    # Two units yy and nn, and a third with y alone. Agreement 1 either way; a fourth unit yn makes
    # it 2/3. Shares of y over units: (1 + 0 + 1/2) / 3 = 1/2 without the lone one, 5/8 with it.
    counts = np.array([[2, 0], [0, 2], [1, 1]])
    without = gwet_ac(counts, "nominal")
    assert without == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    chance = 2 * (5 / 8) * (3 / 8)
    found = gwet_ac(np.concatenate([counts, [[1, 0]]]), "nominal")
    assert found == pytest.approx((2 / 3 - chance) / (1 - chance))


@FEW
@given(COMPLETE)
def test_without_missing_labels_averaged_and_pooled_coefficients_are_equal(codes):
    counts = counts_of(codes, K)
    assert same(fleiss_kappa(counts), fleiss_kappa_pooled(counts))
    assert same(percent_agreement(counts), percent_agreement_pooled(counts))


def test_raters_who_never_agree_have_negative_coefficients():
    counts = np.tile([1, 1, 1], (UNITS, 1))
    assert percent_agreement(counts) == 0
    for name in NOMINAL[2:]:
        assert AGREEMENT[name](counts) < 0, name


@pytest.mark.parametrize("weighting", PAIRS)
class TestTwoRaters:
    @FEW
    @given(CODES)
    def test_the_order_of_the_two_raters_does_not_matter(self, weighting, codes):
        one, other = codes[:, 0], codes[:, 1]
        of = PAIRS[weighting]
        assert same(of(confusion(one, other, K)), of(confusion(other, one, K)))

    @FEW
    @given(CODES, WEIGHTS)
    def test_weighting_a_unit_equals_repeating_it(self, weighting, codes, weights):
        one, other, of = codes[:, 0], codes[:, 1], PAIRS[weighting]
        again = confusion(np.repeat(one, weights), np.repeat(other, weights), K)
        assert same(of(confusion(one, other, K, weights.astype(float))), of(again))

    @FEW
    @given(COMPLETE)
    def test_identical_labels_have_kappa_1(self, weighting, codes):
        labels = np.concatenate([[0, 1], codes[:, 0]])
        assert PAIRS[weighting](confusion(labels, labels, K)) == pytest.approx(1)

    @FEW
    @given(CODES, st.integers(2, 4))
    def test_repeating_every_unit_changes_nothing(self, weighting, codes, times):
        table = confusion(codes[:, 0], codes[:, 1], K)
        assert same(PAIRS[weighting](times * table), PAIRS[weighting](table))


@FEW
@given(CODES, st.permutations(range(K)))
def test_renaming_categories_does_not_change_unweighted_kappa(codes, order):
    renamed = np.where(codes < 0, -1, np.array(order)[codes])
    found, again = (cohen_kappa(confusion(c[:, 0], c[:, 1], K)) for c in (codes, renamed))
    assert same(found, again)


NUMBERS = arrays(np.float64, (2, 8), elements=st.integers(-3, 3).map(float))


@pytest.mark.parametrize("name", SCORES)
class TestScores:
    @FEW
    @given(NUMBERS, st.permutations(range(8)))
    def test_neither_the_order_of_units_nor_of_the_two_scores_matters(self, name, scores, order):
        x, y = scores
        assert same(SCORES[name](x, y), SCORES[name](y[order], x[order]))

    @FEW
    @given(NUMBERS, arrays(np.int64, 8, elements=st.integers(0, 3)))
    def test_weighting_a_unit_equals_repeating_it(self, name, scores, weights):
        x, y = scores
        if (weights > 0).sum() >= 2:
            weighted = np.ravel(SCORES[name](x, y, weights.astype(float)[None]))
            assert same(weighted[0], SCORES[name](np.repeat(x, weights), np.repeat(y, weights)))


@FEW
@given(NUMBERS)
def test_units_without_one_of_the_scores_do_not_change_the_mean_absolute_error(scores):
    x, y = scores
    more = mean_absolute_error(np.append(x, [np.nan, 9.0]), np.append(y, [9.0, np.nan]))
    assert same(more, mean_absolute_error(x, y))


@pytest.mark.parametrize("name", ["spearman", "kendall"])
@FEW
@given(scores=NUMBERS)
def test_rank_correlations_ignore_distances(name, scores):
    x, y = scores
    assert same(SCORES[name](np.exp(x), y), SCORES[name](x, y))


@FEW
@given(CODES)
def test_computing_all_coefficients_at_once_equals_computing_each(codes):
    made = agreement_estimates(codes, np.arange(UNITS), K, "ordinal", draws=2)
    counts = counts_of(codes, K)
    one_by_one = {
        "percent": "percent",
        "fleiss_kappa": "Fleiss",
        "fleiss_kappa_pooled": "Fleiss, pooled",
        "randolph_kappa": "Randolph",
        "krippendorff_alpha": "alpha, ordinal",
        "gwet_ac": "AC2",
    }
    for key, name in one_by_one.items():
        value = made[key].value
        assert same(np.nan if value is None else value, AGREEMENT[name](counts)), key
