"""Estimates from people and a judge together, worked by hand; unreliable ones are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.evaluation.inputs import chance_given_split
from tandem.scores.agreement import NO_POWERED_INTERVAL, Labelled, powered_mean, powered_pairs
from tandem.statistics import (
    PEOPLE_ALONE,
    paired_t,
    prediction_powered_mean,
    prediction_powered_mean_unequal,
)

pytestmark = pytest.mark.every_case

NAN = np.nan


def study(queries: int = 30, asked: int = 12, systems: int = 3, seed: int = 4) -> Labelled:
    """A slightly lenient judge; people label only the first queries."""
    draw = np.random.default_rng(seed)
    human = draw.random((queries, systems)) + 0.4 * np.arange(systems)
    judge = human + 0.1 + 0.1 * draw.standard_normal((queries, systems))
    there = np.arange(queries) < asked
    chances = np.full(queries, asked / queries)
    return Labelled(np.where(there[:, None], human, NAN), judge, there, chances)


def test_two_labelled_and_two_judged_queries_give_the_mean_worked_by_hand() -> None:
    # People score 1 and 0; the judge 1 and 0 on these, and 1 and 1 on the others, a mean of 1. The
    # variance of all judge scores is 1/4, the covariance 1/2, so lambda is 1/2 / (2 * 1/4) = 1.
    of = Labelled(
        np.array([[1.0], [0.0], [NAN], [NAN]]),
        np.array([[1.0], [0.0], [1.0], [1.0]]),
        np.array([True, True, False, False]),
        np.full(4, 0.5),
    )
    found, _ = powered_mean(of, 0)
    assert found.value == pytest.approx(1.0)
    assert found.low is None


def test_with_equal_chances_it_is_the_prediction_powered_mean() -> None:
    of = study()
    found, worth = powered_mean(of, 1)
    human, judge = of.human[of.sampled, 1], of.judge[of.sampled, 1]
    assert found == prediction_powered_mean(human, judge, of.judge[~of.sampled, 1])
    assert worth is not None
    assert worth > 12


def test_queries_with_unequal_chances_are_weighted_by_the_inverse() -> None:
    of = study()
    of = replace(of, chances=np.where(np.arange(30) % 2, 0.6, 0.3))
    human, judge = of.human[of.sampled, 0], of.judge[of.sampled, 0]
    expected = prediction_powered_mean_unequal(
        human, judge, of.chances[of.sampled], of.judge[~of.sampled, 0]
    )
    assert powered_mean(of, 0) == (expected, None)


def test_labels_on_queries_outside_the_sample_do_not_count() -> None:
    of = study()
    human = of.human.copy()
    human[20] = 5.0
    assert powered_mean(replace(of, human=human), 0) == powered_mean(of, 0)


def test_a_sample_that_people_have_not_finished_gives_no_estimate() -> None:
    found, worth = powered_mean(replace(study(), reason="people have not finished"), 0)
    assert (found.value, found.reason, worth) == (None, "people have not finished", None)


def test_a_labelled_query_that_the_judge_failed_on_leaves_no_estimate() -> None:
    of = study()
    judge = of.judge.copy()
    judge[3, 0] = NAN
    found, _ = powered_mean(replace(of, judge=judge), 0)
    assert found.reason == "the judge has no score on 1 of the labelled queries"


def test_without_queries_that_only_the_judge_labelled_there_is_no_estimate() -> None:
    of = study(queries=12)
    for each in (of, replace(of, judge=np.full((12, 3), NAN))):
        found, worth = powered_mean(each, 2)
        assert (found.value, found.n, found.reason, worth) == (None, 12, PEOPLE_ALONE, None)
        assert {pair.test.reason for pair in powered_pairs(each, ["a", "b", "c"])} == {PEOPLE_ALONE}


def test_with_a_useless_judge_pairs_are_tested_by_peoples_labels_and_adjusted() -> None:
    """A judge that never varies gets no weight, so only people's differences remain."""
    of = replace(study(), judge=np.full((30, 3), 0.5))
    pairs = powered_pairs(of, ["a", "b", "c"])
    assert [(each.a, each.b) for each in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    for each, (a, b) in zip(pairs, [(0, 1), (0, 2), (1, 2)], strict=True):
        expected = paired_t(of.human[:12, a], of.human[:12, b], np.arange(12))
        assert each.test.p_value == pytest.approx(expected.p_value)
    raw = sorted(each.test.p_value or 0 for each in pairs)
    smallest = min(each.adjusted_p_value or 1 for each in pairs)
    assert smallest == pytest.approx(min(1.0, 3 * raw[0]))


def test_below_ten_queries_nothing_is_tested() -> None:
    (pair,) = powered_pairs(study(asked=9, systems=2), ["a", "b"])
    assert (pair.test.p_value, pair.test.reason) == (None, NO_POWERED_INTERVAL)
    assert pair.adjusted_p_value is None


def test_the_chance_of_a_query_depends_on_its_split_only_if_shares_differ() -> None:
    assert chance_given_split(0.25, 0.5, 0.5) == pytest.approx(0.25)
    # The split has 1 of the 4 asked queries and 6 of the 12 others: 1 of its 7 queries is asked.
    assert chance_given_split(4 / 16, 1 / 4, 1 / 2) == pytest.approx(1 / 7)


def test_a_mean_beyond_its_bounds_is_cut_and_its_interval_is_within_them() -> None:
    """The judge scores 0.5 lower than people, and higher on queries that people did not label."""
    human = np.array([1.0] * 10 + [0.9] * 2)
    judge = np.array([0.5] * 10 + [0.4] * 2)
    only = np.full(30, 0.7)
    of = Labelled(
        np.concatenate([human, np.full(30, NAN)])[:, None],
        np.concatenate([judge, only])[:, None],
        np.arange(42) < 12,
        np.full(42, 12 / 42),
    )
    free, worth = powered_mean(of, 0)
    assert free == prediction_powered_mean(human, judge, only)
    assert (free.value or 0) > 1
    cut, still_worth = powered_mean(of, 0, (0.0, 1.0))
    assert cut == prediction_powered_mean(human, judge, only, bounds=(0.0, 1.0))
    # All of 12 queries, with t(11) = 2.201: 12 / (12 + 2.201^2).
    assert (cut.value, cut.low, cut.high) == (1.0, pytest.approx(0.7124, abs=1e-4), 1.0)
    assert cut.method.endswith("; cut at 0 and 1")
    assert still_worth == worth
