"""Meaningless arguments are refused, and missing scores never become numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.statistics import (
    alt_test,
    fixed_collection_mean,
    gwet_ac,
    krippendorff_alpha,
    median_interval,
    pearson,
    prediction_powered_mean,
    prediction_powered_mean_unequal,
    prediction_powered_ratio,
    spearman,
)

COUNTS = np.array([[2, 0], [1, 1]])
CODES = np.zeros((40, 3), int)
SCORES = np.linspace(0, 1, 12)
REST = np.array([0.5, np.nan])


@pytest.mark.parametrize("function", [krippendorff_alpha, gwet_ac])
def test_an_unknown_level_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="'norminal'; give one of nominal, ordinal, interval"):
        function(COUNTS, "norminal")


def test_the_alternative_test_refuses_unknown_levels_and_epsilons_out_of_range() -> None:
    given = (CODES, CODES[:, 0], np.arange(40))
    with pytest.raises(ValueError, match="the level is 'x'"):
        alt_test(*given, level="x", epsilon=0.2)  # type: ignore[arg-type]
    for epsilon in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="epsilon is a number from 0 to 1"):
            alt_test(*given, level="nominal", epsilon=epsilon)


@pytest.mark.parametrize(
    "made",
    [
        lambda: prediction_powered_mean(SCORES, SCORES, REST),
        lambda: fixed_collection_mean(SCORES, SCORES, REST),
        lambda: prediction_powered_mean_unequal(SCORES, SCORES, np.full(12, 0.5), REST),
        lambda: prediction_powered_ratio(
            np.ones((12, 2)), np.ones((12, 2)), np.column_stack([REST, REST])
        ),
    ],
)
def test_a_query_without_the_judges_score_is_refused_with_a_message(made: Any) -> None:
    with pytest.raises(ValueError, match="lacks a judge's score; leave it out"):
        made()


def test_a_rank_correlation_with_a_missing_score_is_undefined() -> None:
    x, y = np.array([1.0, 2.0, np.nan]), np.array([1.0, 2.0, 3.0])
    assert np.isnan(spearman(x, y))
    assert np.isnan(spearman(y, x))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200, 1e308])
def test_a_correlation_does_not_depend_on_the_size_of_scores(scale: float) -> None:
    x = np.array([0.1, 0.2, 0.3]) * scale
    assert pearson(x, np.array([1.0, 2.0, 2.0])) == pytest.approx(3**0.5 / 2)


def test_a_median_leaves_missing_values_out() -> None:
    values = np.array([1, np.nan, 2, 3, 4, 5, 6, 7])
    assert median_interval(values) == (1.0, 7.0)
    assert median_interval(values, clusters=np.arange(8)) == (1.0, 7.0)
