"""ROUGE-L matches its definition, worked by hand and by the plain table of lengths."""

import random

import numpy as np
import pytest

from tandem.statistics import rouge_agreement, rouge_l
from tandem.statistics.rouge import common_length, words

pytestmark = pytest.mark.every_case


def by_table(one, other):
    """The longest common subsequence by the table that textbooks fill."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            best = max(lengths[i][j + 1], lengths[i + 1][j])
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if a == b else best
    return lengths[-1][-1]


def test_the_example_of_the_paper_has_its_printed_score():
    # Lin 2004, section 3.1: S2 and S3 against S1, beta 1.
    reference = "police killed the gunman"
    assert rouge_l("police kill the gunman", reference).f1 == pytest.approx(0.75)
    assert rouge_l("the gunman kill police", reference).f1 == pytest.approx(0.5)


def test_precision_divides_by_the_prediction_and_recall_by_the_reference():
    found = rouge_l("a b", "a x b y")
    assert (found.precision, found.recall) == (1.0, 0.5)
    assert found.f1 == pytest.approx(2 / 3)


def test_exchanging_the_texts_leaves_f1_the_same():
    one, other = "the bridge opened in 1901 , by Anna", "Anna opened the bridge"
    assert rouge_l(one, other).f1 == rouge_l(other, one).f1
    assert rouge_l(one, other).precision == rouge_l(other, one).recall


def test_case_punctuation_and_markers_do_not_count_and_words_are_not_stemmed():
    assert rouge_l("The Bridge, opened!", "the bridge opened").f1 == 1
    assert rouge_l("bridges", "bridge").f1 == 0


@pytest.mark.parametrize(
    ("one", "other"), [("", "a"), ("a", ""), ("", ""), ("🌉 …", "a"), ("a", "b")]
)
def test_texts_without_a_common_word_score_nothing(one, other):
    found = rouge_l(one, other)
    assert (found.precision, found.recall, found.f1) == (0, 0, 0)


def test_words_of_any_script_are_words():
    assert words("Cafe\u0301 CAFÉ") == ["caf\u00e9", "caf\u00e9"]
    assert words("שלום, עולם_2") == ["שלום", "עולם", "2"]
    assert words("桥开了 in 1901") == ["桥", "开", "了", "in", "1901"]
    assert words("कि की") == ["कि", "की"]
    assert words("👩‍👩‍👧 l'eau") == ["l", "eau"]


def test_the_fast_subsequence_length_equals_the_textbook_table():
    draw = random.Random(7)
    for _ in range(200):
        one = draw.choices("abcd", k=draw.randrange(90))
        other = draw.choices("abcde", k=draw.randrange(90))
        assert common_length(one, other) == by_table(one, other)


def test_agreement_on_answers_averages_over_pairs_and_then_over_units():
    # a b c against a b: L 2, F1 2 * 2 / 5 = 0.8; against x: 0; a b against x: 0. Mean 0.8/3.
    # The second unit has one pair, of equal answers; the third one answer only.
    texts: list[list[str | None]] = [
        ["a b c", "a b", "x"],
        ["same words", None, "same words"],
        ["alone", None, None],
    ]
    made = rouge_agreement(texts, np.arange(3))
    assert made.value == pytest.approx((0.8 / 3 + 1) / 2)
    assert (made.n, made.low) == (2, None)


def test_agreement_on_answers_has_an_interval_over_queries():
    made = rouge_agreement([["a b", "a b"], ["a b", "c d"]] * 10, np.arange(20) // 2)
    # Ten queries of two texts, with means of 0.5 each: t(9) = 2.2622, 0.5 -+ t / 2 root(20 + t^2).
    half = 2.26216 / 2 / (20 + 2.26216**2) ** 0.5
    assert (made.low, made.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)
    assert "10 queries" in made.method


def test_without_two_answers_agreement_is_undefined():
    assert rouge_agreement([[None, "a"]], np.arange(1)).reason == "no values"
