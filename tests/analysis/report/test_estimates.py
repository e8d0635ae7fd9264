"""Estimates from people on sampled queries and a judge on all need a finished sample."""

from typing import Any

import numpy as np
import pytest

from tandem.labels.frame import Frame
from tandem.labels.people_sample import PeopleSample
from tandem.sections.systems import scores
from tandem.statistics import fixed_collection_mean, prediction_powered_mean
from tests.analysis.cast import JUDGE, frame_of, labelled_sample, table

PEOPLE = "yyyn" * 6 + "yynn" * 6
ROWS = {"Ada": PEOPLE + "." * 48, JUDGE: "ynyn" * 12 + "yyyn" * 12}


def estimate(frame: Frame, sample: PeopleSample | None) -> Any:
    return scores(frame, 20, 0, sample)["coverage"]["estimate"][""]


@pytest.fixture
def frame() -> Frame:
    return frame_of(table(ROWS))


@pytest.fixture
def sample(frame: Frame) -> PeopleSample:
    return labelled_sample(frame)


def by_query(rater: str) -> Any:
    """Two units a query."""
    yes = np.array([{"y": 1.0, "n": 0.0, ".": np.nan}[each] for each in ROWS[rater]])
    return yes.reshape(-1, 2).mean(axis=1)


def test_the_mean_over_exactly_these_queries_stands_beside_the_prediction_powered_one(
    frame: Frame, sample: PeopleSample
) -> None:
    found = estimate(frame, sample)
    human, judge = by_query("Ada"), by_query(JUDGE)
    labelled = np.isfinite(human)
    given = human[labelled], judge[labelled], judge[~labelled]
    bounds = (0.0, 1.0)
    assert found["fixed_collection"] == fixed_collection_mean(*given, bounds=bounds).as_json()
    assert found["prediction_powered"] == prediction_powered_mean(*given, bounds=bounds).as_json()
    assert found["fixed_collection"]["low"] is not None


def test_a_sampled_query_that_people_have_not_finished_is_not_one_for_the_judge_alone(
    frame: Frame, sample: PeopleSample
) -> None:
    left = next(item.query for item in frame.items if item.query not in sample.drawn)
    drawn = PeopleSample(sample.drawn | {left}, frozenset({left}))
    found = estimate(frame, drawn)
    for name in ("prediction_powered", "fixed_collection"):
        of = found[name]
        assert (of["value"], of["low"], of["outstanding"]) == (None, None, 1)
        assert of["reason"] == (
            "people have not finished 1 of the 25 queries that were sampled for them"
        )
    assert found["effective_labels"] is None


def test_until_then_the_bounds_are_the_estimates_if_the_missing_scores_are_0_or_1(
    frame: Frame, sample: PeopleSample
) -> None:
    # Ada has labels on two queries that are not finished: a second person lacks, for instance.
    two = frozenset(sorted(sample.drawn)[:2])
    found = estimate(frame, PeopleSample(sample.drawn, two))
    human, judge = by_query("Ada"), by_query(JUDGE)
    queries = np.array(list(dict.fromkeys(item.query for item in frame.items)))
    labelled, open_ones = np.isfinite(human), np.isin(queries, sorted(two))
    for fill, place in ((0.0, 0), (1.0, 1)):
        filled = np.where(open_ones, fill, human)[labelled]
        expected = fixed_collection_mean(filled, judge[labelled], judge[~labelled]).value
        assert found["fixed_collection"]["bounds"][place] == pytest.approx(expected)
    # The judge's weight may turn out to be 0 or 1.
    low, high = found["prediction_powered"]["bounds"]
    shift = judge[~labelled].mean() - judge[labelled].mean()
    means = [np.where(open_ones, fill, human)[labelled].mean() for fill in (0.0, 1.0)]
    assert low == pytest.approx(means[0] + min(shift, 0))
    assert high == pytest.approx(means[1] + max(shift, 0))


def test_labels_on_queries_outside_the_sample_do_not_count(
    frame: Frame, sample: PeopleSample
) -> None:
    fewer = PeopleSample(sample.drawn - {min(sample.drawn)})
    assert estimate(frame, fewer)["prediction_powered"]["n"] == len(sample.drawn) - 1
