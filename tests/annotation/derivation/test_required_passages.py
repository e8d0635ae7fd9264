"""The required passages match examples worked by hand, and the measures."""

from __future__ import annotations

import numpy as np

from annotation.derivation.rules.required_passages import choose_passages
from tandem.scores.contexts import Answers, required_subset


def test_the_papers_method_goes_down_the_ranking_and_the_stepwise_one_needs_fewer_passages() -> (
    None
):
    """Down the ranking, b adds question 4 and then c question 5; stepwise, c adds both at once."""
    answers = {
        "a": frozenset({"1", "2", "3"}),
        "b": frozenset({"2", "3", "4"}),
        "c": frozenset({"4", "5"}),
        "d": frozenset[str](),
    }
    assert choose_passages(answers) == ["a", "b", "c"]
    assert choose_passages(answers, "stepwise") == ["a", "c"]


def test_rule_and_measures_require_the_same_passages() -> None:
    """Two implementations, on fifty random tables of 6 passages and 8 questions."""
    chance = np.random.default_rng(7)
    for _ in range(50):
        yes = chance.random((1, 6, 8)) < 0.3
        every, none = np.ones_like(yes), np.zeros_like(yes)
        passages, questions = np.ones((1, 6), bool), np.ones((1, 8), bool)
        found = Answers(yes, every, passages, questions, none, every, every, none, np.ones(1, bool))
        kept = required_subset(found, passages)[0]
        answers = {f"p{p}": frozenset(str(q) for q in range(8) if yes[0, p, q]) for p in range(6)}
        assert set(choose_passages(answers)) == {f"p{p}" for p in range(6) if kept[p]}
