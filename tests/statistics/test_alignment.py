import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tandem.statistics import (
    accuracy,
    balanced_accuracy,
    confusion,
    f1,
    macro,
    majority,
    mean_absolute_error,
    precision,
    recall,
    specificity,
)
from tests.statistics.cast import random_codes, random_weights

pytestmark = pytest.mark.every_case

# People 0 0 0 1 1 2, judge 0 0 1 1 1 1.
TABLE = np.array([[2.0, 1, 0], [0, 2, 0], [0, 1, 0]])


def test_the_reference_is_the_most_frequent_label():
    reference, ties = majority(np.array([[1, 1, 0], [2, -1, 2], [-1, 0, -1]]))
    assert reference.tolist() == [1, 2, 0]
    assert not ties.any()


def test_a_tie_leaves_no_reference_and_is_marked():
    reference, ties = majority(np.array([[0, 1, -1], [0, 1, 2], [1, 1, 1]]))
    assert reference.tolist() == [-1, -1, 1]
    assert ties.tolist() == [True, True, False]


def test_a_unit_without_labels_has_no_reference_and_is_not_a_tie():
    reference, ties = majority(np.array([[-1, -1], [1, 1]]))
    assert reference.tolist() == [-1, 1]
    assert not ties.any()


def test_without_any_label_no_unit_has_a_reference():
    reference, ties = majority(np.full((3, 2), -1))
    assert reference.tolist() == [-1, -1, -1]
    assert not ties.any()


@given(codes=arrays(np.int64, (5, 3), elements=st.integers(-1, 3)), order=st.permutations(range(3)))
def test_the_order_of_raters_does_not_change_the_reference(codes, order):
    assert (majority(codes)[0] == majority(codes[:, order])[0]).all()


def test_precision_recall_and_f1_match_the_calculation_by_hand():
    # Category 0: judge says it 2 times, 2 right; people 3 times: P 1, R 2/3, F1 4/5.
    # Category 1: judge 4 times, 2 right; people 2 times: P 1/2, R 1, F1 2/3.
    assert precision(TABLE)[:2] == pytest.approx([1, 1 / 2])
    assert recall(TABLE)[:2] == pytest.approx([2 / 3, 1])
    assert f1(TABLE)[:2] == pytest.approx([4 / 5, 2 / 3])
    assert accuracy(TABLE) == pytest.approx(4 / 6)


def test_precision_is_undefined_for_a_category_that_the_judge_never_uses():
    assert np.isnan(precision(TABLE)[2])
    assert (recall(TABLE)[2], f1(TABLE)[2]) == (0, 0)


def test_recall_is_undefined_for_a_category_that_people_never_use():
    assert np.isnan(recall(TABLE.T)[2])
    assert (precision(TABLE.T)[2], f1(TABLE.T)[2]) == (0, 0)


def test_f1_is_undefined_only_for_a_category_that_neither_uses():
    assert np.isnan(f1(np.array([[3.0, 0], [0, 0]]))).tolist() == [False, True]


def test_accuracy_of_an_empty_table_is_undefined():
    assert np.isnan(accuracy(np.zeros((2, 2))))


@pytest.mark.parametrize(
    "function", [precision, recall, f1, accuracy, specificity, balanced_accuracy]
)
def test_a_stack_of_tables_gives_the_result_of_each_table(function):
    codes, weights = random_codes(2, raters=2), random_weights(2, 40)
    tables = confusion(codes[:, 0], codes[:, 1], 4, weights)
    one_by_one = np.array([function(table) for table in tables])
    assert function(tables) == pytest.approx(one_by_one, nan_ok=True)


@given(table=arrays(float, (3, 3), elements=st.integers(0, 9)))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(table):
    p, r = precision(table), recall(table)
    defined = np.isfinite(p + r) & (p + r > 0)
    assert f1(table)[defined] == pytest.approx((2 * p * r / np.where(p + r > 0, p + r, 1))[defined])


def test_specificity_and_balanced_accuracy_match_the_calculation_by_hand():
    # For people 3 units are not 0, and the judge agrees on all 3; 4 are not 1, and it agrees on 2;
    # 5 are not 2, and it agrees on all 5. Recalls 2/3, 1, 0.
    assert specificity(TABLE) == pytest.approx([1, 1 / 2, 1])
    assert balanced_accuracy(TABLE) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_a_mean_over_categories_skips_undefined_ones():
    # Precisions 1 and 1/2, the third undefined; F1 4/5, 2/3 and 0.
    assert macro(precision(TABLE)) == pytest.approx(3 / 4)
    assert macro(f1(TABLE)) == pytest.approx((4 / 5 + 2 / 3) / 3)
    assert np.isnan(macro(np.full(3, np.nan)))


def test_specificity_is_undefined_if_people_use_one_category_only():
    assert np.isnan(specificity(np.array([[3.0, 1], [0, 0]]))[0])


def test_the_mean_absolute_error_skips_units_without_a_score():
    x, y = np.array([1.0, 2, np.nan, 5]), np.array([2.0, 2, 3, 2])
    assert mean_absolute_error(x, y) == pytest.approx(4 / 3)
    weights = np.array([[2.0, 0, 1, 1], [0, 0, 1, 0]])
    assert mean_absolute_error(x, y, weights) == pytest.approx([5 / 3, np.nan], nan_ok=True)


@given(
    table=arrays(np.float64, (3, 3), elements=st.integers(0, 9)), order=st.permutations(range(3))
)
def test_renaming_categories_does_not_change_means_over_categories(table, order):
    renamed = table[np.ix_(order, order)]
    for measure in (precision, recall, f1, specificity):
        assert macro(measure(renamed)) == pytest.approx(macro(measure(table)), nan_ok=True)
