import numpy as np
import pytest

from tandem.statistics import confusion, counts_of, reason_undefined
from tests.statistics.cast import random_codes, random_weights

pytestmark = pytest.mark.every_case


def test_labels_of_each_unit_are_counted_without_missing_ones():
    codes = np.array([[0, 0, 2], [1, -1, 1], [-1, -1, -1]])
    assert counts_of(codes, 3).tolist() == [[2, 0, 1], [0, 2, 0], [0, 0, 0]]


def test_a_category_that_nobody_used_keeps_its_column():
    assert counts_of(np.array([[0, 1]]), 4).tolist() == [[1, 1, 0, 0]]


def test_a_code_beyond_the_categories_is_refused():
    with pytest.raises(ValueError, match="code 3 is not one of 3"):
        counts_of(np.array([[0, 3]]), 3)
    with pytest.raises(ValueError, match="not one of 3"):
        confusion(np.array([0]), np.array([3]), 3)


def test_no_units_give_no_rows():
    assert counts_of(np.empty((0, 3), int), 2).shape == (0, 2)


def test_a_confusion_has_the_first_rater_in_the_rows():
    a, b = np.array([0, 0, 1, -1, 1]), np.array([0, 1, 1, 1, -1])
    assert confusion(a, b, 2).tolist() == [[1, 1], [0, 1]]


def test_no_common_units_give_an_empty_table():
    assert confusion(np.array([0, -1]), np.array([-1, 1]), 2).tolist() == [[0, 0], [0, 0]]


def test_a_weighted_confusion_equals_that_of_repeated_units():
    codes, weights = random_codes(0, units=30, raters=2), random_weights(0, 30)
    tables = confusion(codes[:, 0], codes[:, 1], 4, weights)
    assert tables.shape == (6, 4, 4)
    for table, weight in zip(tables, weights, strict=True):
        repeated = np.repeat(codes, weight.astype(int), axis=0)
        assert (table == confusion(repeated[:, 0], repeated[:, 1], 4)).all()


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([[0, 0], [0, 0]], "there are no labels"),
        ([[1, 0], [0, 1]], "no unit has two labels"),
        ([[2, 0], [3, 0], [0, 1]], "all labels are the same category"),
        ([[2, 1]], "undefined on these labels"),
        ([[2, 0], [1, 1]], "undefined on these labels"),
    ],
)
def test_the_reason_why_a_coefficient_is_undefined_is_given_in_words(counts, reason):
    assert reason_undefined(np.array(counts)) == reason
