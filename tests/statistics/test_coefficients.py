import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats import inter_rater

from tandem.statistics import (
    Resamples,
    accuracy,
    agreement_estimates,
    alignment_estimates,
    cohen_kappa,
    confusion,
    counts_of,
    estimate,
    f1,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    pair_estimates,
    percent_agreement,
    randolph_kappa,
    table_estimates,
)
from tests.statistics.cast import FOUR_OBSERVERS, number, random_codes

pytestmark = pytest.mark.every_case

K = 4
QUERIES = np.arange(60) % 15
LEVELS = ("nominal", "ordinal", "interval")


def codes(seed=0, units=60, **options):
    return random_codes(seed, units=units, **options)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("clusters", [QUERIES, 3 * QUERIES + 7])
def test_values_and_intervals_match_resampling_the_units(level, clusters):
    labels, drawn = codes(), Resamples.draw(clusters, 200, 4)
    made = agreement_estimates(labels, clusters, K, level, draws=drawn, interval="percentile")
    counts = counts_of(labels, K)
    one_by_one = {
        "percent": lambda w: percent_agreement(counts, w),
        "fleiss_kappa": lambda w: fleiss_kappa(counts, w),
        "randolph_kappa": lambda w: randolph_kappa(counts, K, w),
        "krippendorff_alpha": lambda w: krippendorff_alpha(counts, level, None, w),
        "gwet_ac": lambda w: gwet_ac(counts, level, None, w),
    }
    for name, function in one_by_one.items():
        slow = estimate(function, drawn, clusters, 60, "")
        fast = made[name]
        assert (fast.value, fast.low, fast.high) == pytest.approx((slow.value, slow.low, slow.high))


def test_alpha_of_four_observers_is_as_published():
    made = agreement_estimates(FOUR_OBSERVERS, np.arange(12), 5, "ordinal")
    assert made["krippendorff_alpha"].value == pytest.approx(0.815, abs=6e-4)
    assert made["krippendorff_alpha"].n == 11
    assert "11 queries" in made["krippendorff_alpha"].method


def test_kappas_of_two_raters_agree_with_statsmodels():
    labels = codes(3, raters=2, gaps=0)
    table = confusion(labels[:, 0], labels[:, 1], K)
    made = pair_estimates(labels[:, 0], labels[:, 1], QUERIES, K, draws=50)
    for name, weighting in (("", None), ("_linear", "linear"), ("_quadratic", "quadratic")):
        theirs = inter_rater.cohens_kappa(table, wt=weighting, return_results=False)
        assert made[f"cohen_kappa{name}"].value == pytest.approx(theirs)


def test_the_interval_of_kappa_matches_resampling_the_units():
    labels, drawn = codes(3, raters=2), Resamples.draw(QUERIES, 300, 1)
    made = pair_estimates(
        labels[:, 0], labels[:, 1], QUERIES, K, draws=drawn, interval="percentile"
    )["cohen_kappa"]
    slow = estimate(
        lambda w: cohen_kappa(confusion(labels[:, 0], labels[:, 1], K, w)), drawn, QUERIES, 60, ""
    )
    assert (made.low, made.high) == pytest.approx((slow.low, slow.high))


def test_a_judge_has_all_measures_for_each_category_and_overall():
    labels, drawn = codes(5, raters=2), Resamples.draw(QUERIES, 300, 1)
    made = alignment_estimates(
        labels[:, 0], labels[:, 1], QUERIES, K, draws=drawn, interval="percentile"
    )
    table = confusion(labels[:, 0], labels[:, 1], K)
    assert (made.confusion == table).all()
    assert [e.value for e in made.classes["f1"]] == pytest.approx(list(f1(table)))
    assert made.overall["accuracy"].value == pytest.approx(accuracy(table))
    slow = estimate(
        lambda w: f1(confusion(labels[:, 0], labels[:, 1], K, w))[..., 2], drawn, QUERIES, 60, ""
    )
    assert made.classes["f1"][2].high == pytest.approx(number(slow.high))


def test_precision_is_null_with_a_reason_for_a_category_that_the_judge_never_uses():
    people, judge = np.arange(60) % 3, np.arange(60) % 2
    made = alignment_estimates(people, judge, QUERIES, 3, draws=20)
    assert made.classes["precision"][2].reason == "the judge never uses the category"
    assert made.classes["recall"][2].value == 0
    assert made.overall["macro_precision"].value is not None


def test_a_rare_category_and_means_over_it_have_no_interval():
    rng = np.random.default_rng(0)
    people = rng.integers(0, 2, 60)
    judge = np.where(rng.random(60) < 0.8, people, 1 - people)
    people[[0, 1, 17]], judge[[0, 1, 32]] = 2, 2
    made = alignment_estimates(people, judge, QUERIES, 3, draws=100)
    recall = made.classes["recall"]
    assert [each.value is None or each.low is None for each in recall] == [False, False, True]
    assert recall[2].value == pytest.approx(2 / 3)
    assert "3 of 15 queries hold enough of the rarer labels" in recall[2].method
    assert made.overall["macro_recall"].low is None
    assert "that of a category has none" in made.overall["macro_recall"].method
    assert made.overall["accuracy"].low is not None


def test_by_default_all_coefficients_are_computed_with_their_names():
    made = agreement_estimates(codes(), QUERIES, K, draws=20)
    assert {name: of.method.partition(";")[0] for name, of in made.items()} == {
        "percent": "mean share of agreeing pairs",
        "percent_pooled": "share of agreeing pairs, pooled",
        "fleiss_kappa": "Fleiss' kappa, averaged over units",
        "fleiss_kappa_pooled": "Fleiss' kappa, pairs pooled",
        "randolph_kappa": "Randolph's free-marginal kappa, k = 4",
        "krippendorff_alpha": "Krippendorff's alpha, nominal",
        "gwet_ac": "Gwet's AC1",
    }
    ordered = agreement_estimates(codes(), QUERIES, K, "ordinal", draws=20)
    assert ordered["gwet_ac"].method.startswith("Gwet's AC2, quadratic weights;")
    assert ordered["krippendorff_alpha"].method.startswith("Krippendorff's alpha, ordinal;")


def test_only_queries_with_a_unit_that_two_raters_labelled_are_counted():
    labels = codes(raters=2, gaps=0)
    labels[QUERIES == 3, 0] = -1
    made = agreement_estimates(labels, QUERIES, K, draws=20)["fleiss_kappa"]
    assert (made.n, "bootstrap of 14 queries" in made.method) == (56, True)


def test_only_named_coefficients_are_computed():
    labels = codes(raters=2)
    made = agreement_estimates(labels, QUERIES, K, names=["gwet_ac"], draws=20)
    assert list(made) == ["gwet_ac"]
    one, other = labels.T
    kappa = pair_estimates(one, other, QUERIES, K, names=["cohen_kappa"], draws=20)
    assert list(kappa) == ["cohen_kappa"]


def test_any_function_of_the_confusion_table_can_be_estimated():
    (one, other), drawn = codes(5, raters=2).T, Resamples.draw(QUERIES, 100, 1)
    measures = {"share": (accuracy, "share of equal labels", "no unit has both labels")}
    made = table_estimates(one, other, QUERIES, K, measures, draws=drawn)["share"]
    assert made == pair_estimates(one, other, QUERIES, K, draws=drawn)["percent"]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (np.full((20, 2), -1), "there are no labels"),
        (np.array([[0, -1]] * 20), "no unit has two labels"),
        (np.zeros((20, 2), int), "all labels are the same category"),
    ],
)
def test_undefined_coefficients_are_null_with_a_reason(labels, reason):
    made = agreement_estimates(labels, np.arange(20), 2, draws=20)
    assert made["fleiss_kappa"].reason == made["krippendorff_alpha"].reason == reason
    kappa = pair_estimates(labels[:, 0], labels[:, 1], np.arange(20), 2, draws=20)["cohen_kappa"]
    assert kappa.reason == ("no unit has two labels" if (labels < 0).any() else reason)


@settings(max_examples=25, deadline=None)
@given(arrays(np.int64, (15, 3), elements=st.integers(-1, 2)), st.permutations(range(3)))
def test_neither_the_order_of_raters_nor_the_names_of_categories_matter(labels, order):
    renamed = np.where(labels < 0, -1, np.array(order)[labels])
    ours = agreement_estimates(labels, np.arange(15), 3, draws=30)
    theirs = agreement_estimates(renamed[:, order], np.arange(15), 3, draws=30)
    for name, made in ours.items():
        assert made.value == pytest.approx(theirs[name].value)
        assert made.reason == theirs[name].reason


def test_many_units_of_few_queries_have_no_interval():
    found = agreement_estimates(random_codes(3, units=40, raters=3), np.arange(40) // 8, K)
    assert all(of.value is not None and of.low is None for of in found.values())


def test_two_identical_units_in_a_query_count_as_one():
    labels = codes(1, units=30)
    twice = agreement_estimates(np.repeat(labels, 2, axis=0), np.repeat(np.arange(30), 2), K)
    once = agreement_estimates(labels, np.arange(30), K)["fleiss_kappa"]
    assert twice["fleiss_kappa"].value == pytest.approx(once.value)
    ends = (twice["fleiss_kappa"].low, twice["fleiss_kappa"].high)
    assert ends == pytest.approx((once.low, once.high), abs=0.03)


def test_without_units_every_coefficient_is_null_with_a_reason():
    none = np.empty(0, np.int64)
    for name, made in pair_estimates(none, none, none, 2, draws=0).items():
        assert (made.value, made.n, made.reason) == (None, 0, "no unit has two labels"), name


def test_a_kappa_below_minus_one_is_not_cut():
    """Ten people agree on one unit, nine pairs never do: P = .1, chance (19^2 + 9^2) / 28^2."""
    many = np.full((10, 10), -1)
    many[0], many[1:, :2] = 0, (0, 1)
    found = agreement_estimates(many, np.arange(10), 2, draws=20)["fleiss_kappa"]
    chance = (19**2 + 9**2) / 28**2
    assert found.value == pytest.approx((0.1 - chance) / (1 - chance))
    opposite = np.array([[0, 3], [3, 0], [1, 2]] * 4)
    codes = np.concatenate([opposite, [[0, 3]] * 20])
    found = agreement_estimates(codes, np.arange(len(codes)), 4, "ordinal", draws=20)["gwet_ac"]
    assert found.value == pytest.approx(gwet_ac(counts_of(codes, 4), "ordinal"))
    assert found.value is not None
    assert found.value < -1
    assert "cut" not in found.method


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_many_categories_give_the_same_figures_as_a_full_table(level, monkeypatch):
    rng = np.random.default_rng(7)
    labels = np.where(rng.random((60, 3)) < 0.2, -1, rng.integers(0, 90, (60, 3)))
    labels[:20, 1] = labels[:20, 0]
    values = np.sort(rng.normal(size=90))
    drawn = Resamples.draw(QUERIES, 50, 1)
    sparse = agreement_estimates(labels, QUERIES, 90, level, values, draws=drawn)
    monkeypatch.setattr("tandem.statistics.agreement.WIDE", 90)
    full = agreement_estimates(labels, QUERIES, 90, level, values, draws=drawn)
    for name, made in full.items():
        found = sparse[name]
        assert (found.value, found.low, found.high) == pytest.approx(
            (made.value, made.low, made.high)
        )
        assert (found.n, found.method, found.reason) == (made.n, made.method, made.reason)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_many_categories_take_memory_for_labels_and_not_for_a_table(level):
    units = 3000
    codes = np.stack([np.arange(units), np.roll(np.arange(units), 1)], axis=1)
    codes[: units // 2, 1] = codes[: units // 2, 0]
    tracemalloc.start()
    made = agreement_estimates(codes, np.arange(units), units, level, draws=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made["percent"].value == pytest.approx(0.5)
    # A table of units by categories, or of categories by categories, takes 72 MB.
    assert peak < 20e6


def test_a_code_beyond_many_categories_is_refused():
    with pytest.raises(ValueError, match="code 99 is not one of 90 categories"):
        agreement_estimates(np.array([[99, 1], [2, 2]]), np.arange(2), 90)
