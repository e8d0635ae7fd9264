"""The score of a judge's probabilities and its variance match cases worked by hand."""

from __future__ import annotations

import pytest

from judging.backends.base import AskedVariable
from judging.parsers.probabilities import score_of


def asked(level: str, *codes: str, escapes: tuple[str, ...] = ()) -> AskedVariable:
    return AskedVariable("rating", codes, level, escapes=escapes)


def test_a_rating_that_got_no_probability_adds_nothing_to_the_variance() -> None:
    # 0.4 on 1 and 0.4 on 3 of 0.8 in all: mean 2, variance 1; 5 has none.
    shares = {"1": 0.4, "3": 0.4, "unsure": 0.2}
    of = asked("ordinal", "1", "3", "5", "unsure", escapes=("unsure",))
    assert score_of(of, shares) == (pytest.approx(2), pytest.approx(1))


def test_ordinal_codes_in_words_count_by_their_rank() -> None:
    of = asked("ordinal", "poor", "fair", "good")
    assert score_of(of, {"good": 0.5, "fair": 0.5}) == (pytest.approx(1.5), pytest.approx(0.25))


def test_only_yes_no_categories_have_the_probability_of_yes_as_score() -> None:
    assert score_of(asked("nominal", "yes", "no"), {"yes": 0.3, "no": 0.1}) == (0.75, None)
    assert score_of(asked("nominal", "red", "blue"), {"red": 1.0}) == (None, None)
    assert score_of(asked("nominal", "yes", "no"), {}) == (None, None)
