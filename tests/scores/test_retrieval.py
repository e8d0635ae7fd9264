"""Average precision, recall and nDCG of rankings match cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.scores.retrieval import Ranked, average_precision, ndcg, recall, values_at_ranks

pytestmark = pytest.mark.every_case


def ranking(relevance: list[float], ranked: list[int], depth: int) -> Ranked:
    return Ranked(
        np.array([relevance], float),
        np.array([ranked], dtype=np.int64).reshape(1, -1),
        np.array([depth]),
        np.ones(1, bool),
    )


def test_average_precision_takes_the_precision_at_each_relevant_passage() -> None:
    # Relevant at ranks 1 and 3, a third is not ranked: (1/1 + 2/3) / 3.
    assert average_precision(ranking([1, 0, 1, 1], [0, 1, 2], 3)) == pytest.approx([5 / 9])


def test_recall_counts_relevant_passages_up_to_the_cut() -> None:
    assert recall(ranking([1, 0, 1, 1], [0, 1, 2], 3)) == pytest.approx([2 / 3])
    assert recall(ranking([1, 0, 1, 1], [0, 1, 2], 2)) == pytest.approx([1 / 3])


def test_ndcg_discounts_gains_by_rank() -> None:
    # Gains 1, 0, 3 at ranks 1 to 3; best order 3, 2, 1.
    found = 1 + 3 / np.log2(4)
    ideal = 3 + 2 / np.log2(3) + 1 / np.log2(4)
    assert ndcg(ranking([1, 0, 3, 2], [0, 1, 2], 3)) == pytest.approx([found / ideal])


def test_the_ideal_stops_at_the_cut_too() -> None:
    assert ndcg(ranking([1, 0, 3, 2], [2], 1)) == pytest.approx([1.0])


@pytest.mark.parametrize("measure", [average_precision, recall, ndcg])
def test_without_a_relevant_passage_every_measure_is_undefined(measure: object) -> None:
    assert callable(measure)
    assert np.isnan(measure(ranking([0, 0], [0, 1], 2))).all()


@pytest.mark.parametrize("measure", [average_precision, recall, ndcg])
@pytest.mark.parametrize("depth", [0, 10])
def test_an_empty_ranking_scores_0(measure: object, depth: int) -> None:
    assert callable(measure)
    assert measure(ranking([1, 0], [], depth)) == pytest.approx([0.0])


def test_a_query_without_passages_has_a_gain_of_0_at_every_rank() -> None:
    found = values_at_ranks(np.zeros((2, 0)), np.full((2, 3), -1))
    assert found.tolist() == [[0.0] * 3] * 2


def test_the_gain_at_each_rank_is_that_of_its_passage_and_0_if_empty() -> None:
    found = values_at_ranks(np.array([[0.5, 0.25], [1.0, 2.0]]), np.array([[1, -1], [0, 1]]))
    assert found.tolist() == [[0.25, 0.0], [1.0, 2.0]]
