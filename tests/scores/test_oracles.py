"""Our measures against other libraries on random data, where these are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.scores.answers import rouge_1_recall
from tandem.scores.contexts import Contexts, Ratings, answerable, answers
from tandem.scores.coverage import alpha_ndcg
from tandem.scores.ir_measures import checked
from tandem.scores.options import Options
from tandem.scores.retrieval import Ranked, average_precision, ndcg, recall
from tandem.statistics import Floats, Ints, rouge_l

pytestmark = pytest.mark.every_case

QUERIES, PASSAGES, QUESTIONS, RANKS = 30, 12, 6, 15


def rankings(generator: np.random.Generator) -> Ints:
    """Random orders of all passages, for each query."""
    orders = [generator.permutation(PASSAGES) for _ in range(QUERIES)]
    return np.array(orders, dtype=np.int64)


def as_run(library: Any, ranked: Ints) -> list[Any]:
    return [
        library.ScoredDoc(f"q{query}", f"p{passage:02}", float(-rank))
        for query, order in enumerate(ranked)
        for rank, passage in enumerate(order)
    ]


def of_library(library: Any, measure: Any, qrels: list[Any], ranked: Ints) -> Floats:
    found = {
        each.query_id: each.value
        for each in library.iter_calc([measure], qrels, as_run(library, ranked))
    }
    return np.array([found.get(f"q{n}", np.nan) for n in range(len(ranked))])


@pytest.mark.parametrize("depth", [3, 10])
def test_rankings_agree_with_ir_measures(depth: int) -> None:
    library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    generator = np.random.default_rng(depth)
    relevance = generator.integers(0, 4, (QUERIES, PASSAGES)).astype(float)
    relevance[:, 0] = 1
    ranked = rankings(generator)
    qrels = [
        library.Qrel(f"q{q}", f"p{p:02}", int(relevance[q, p]))
        for q in range(QUERIES)
        for p in range(PASSAGES)
    ]
    of = Ranked(relevance, ranked, np.full(QUERIES, depth), np.ones(QUERIES, bool))
    for ours, theirs in (
        (average_precision, library.AP @ depth),
        (recall, library.R @ depth),
        (ndcg, library.nDCG @ depth),
    ):
        np.testing.assert_allclose(ours(of), of_library(library, theirs, qrels, ranked), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.3, 0.5])
@pytest.mark.parametrize("depth", [5, 10, 20])
def test_alpha_ndcg_agrees_with_ir_measures(alpha: float, depth: int) -> None:
    library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    pytest.importorskip("pyndeval", reason="pyndeval, which computes it, is not installed")
    generator = np.random.default_rng(7)
    ratings, chances = [0.0, 2, 3, 5], [0.5, 0.2, 0.2, 0.1]
    values = generator.choice(ratings, (QUERIES, PASSAGES, QUESTIONS), p=chances)
    values[:, 0, 0] = 5
    options = Options(alpha=alpha)
    there = np.ones((QUERIES, PASSAGES), bool), np.ones((QUERIES, QUESTIONS), bool)
    found = answers(Ratings(values, *there), options)
    ranked = rankings(generator)
    contexts = Contexts(
        found,
        ranked,
        ranked,
        there[1],
        there[0].astype(float),
        np.full(QUERIES, RANKS),
        np.ones(QUERIES, bool),
    )
    qrels = [
        library.Qrel(f"q{q}", f"p{p:02}", int(found.yes[q, p, m]), iteration=str(m + 1))
        for q, p, m in np.ndindex(*values.shape)
    ]
    theirs = library.alpha_nDCG(alpha=alpha) @ depth
    expected = of_library(library, theirs, qrels, ranked)
    np.testing.assert_allclose(alpha_ndcg(contexts.cut(depth), options), expected, atol=1e-5)


def contexts_of_all_depths(alpha: float) -> tuple[Contexts, Options]:
    """Contexts of each depth from no passage to all, and a query that no passage answers."""
    generator = np.random.default_rng(19)
    values = generator.choice(
        [0.0, 2, 3, 5], (QUERIES, PASSAGES, QUESTIONS), p=[0.6, 0.2, 0.1, 0.1]
    )
    values[-1] = 0
    options = Options(alpha=alpha, alpha_ndcg="ir-measures")
    there = np.ones((QUERIES, PASSAGES), bool), np.ones((QUERIES, QUESTIONS), bool)
    found = answers(Ratings(values, *there), options)
    sizes = np.arange(QUERIES) % (PASSAGES + 1)
    ranked = np.where(np.arange(PASSAGES) < sizes[:, None], rankings(generator), -1)
    return Contexts(
        found,
        ranked,
        ranked,
        answerable(found, there[0], options),
        there[0].astype(float),
        sizes,
        np.arange(QUERIES) != 3,
    ), options


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_figures_of_ir_measures_are_used_if_ours_agree(alpha: float) -> None:
    pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    contexts, options = contexts_of_all_depths(alpha)
    theirs = alpha_ndcg(contexts, options)
    ours = alpha_ndcg(contexts, Options(alpha=alpha))
    np.testing.assert_allclose(theirs, ours, atol=1e-5)
    assert np.isnan(theirs).nonzero()[0].tolist() == [3, QUERIES - 1]
    assert theirs[0] == 0


def test_figures_of_ir_measures_are_refused_if_ours_disagree() -> None:
    with pytest.raises(ValueError, match=r"is 0\.400000 where ours is 0\.500000"):
        checked(np.array([np.nan, 0.5]), np.array([np.nan, 0.4]))


WORDS = ("the", "a", "of", "river", "bridge", "flood", "city", "said", "after", "three", "1998")


def test_rouge_agrees_with_rouge_score() -> None:
    scoring = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
    scorer = scoring.RougeScorer(["rouge1", "rougeL"])
    generator = np.random.default_rng(3)
    for _ in range(200):
        answer, reference = (
            " ".join(generator.choice(WORDS, generator.integers(1, 25))) + "." for _ in range(2)
        )
        theirs = scorer.score(reference, answer)
        assert rouge_1_recall(answer, reference) == pytest.approx(theirs["rouge1"].recall)
        assert rouge_l(answer, reference).f1 == pytest.approx(theirs["rougeL"].fmeasure)
