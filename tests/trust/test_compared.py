"""Systems compared by scores of queries: what people decide, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest

from tandem.labels.facts import Scale
from tandem.labels.frame import make_frame
from tandem.sections.named_scores import UnknownScoreError, score_called
from tandem.statistics import Floats, prediction_powered_mean
from tandem.trust.better import Difference, standings
from tandem.trust.compared import (
    HOW_DRAWN,
    NEVER_DECIDES,
    Draw,
    QueryScores,
    UnboundedScoreError,
    compared,
    differences_of,
    neighbours,
)
from tests.analysis.cast import fact

JUDGE = "model"


def scores(
    people: Floats, systems: tuple[str, ...] = ("A", "B"), judge: Floats | None = None
) -> QueryScores:
    """Scores of all queries (Q, S), NaN where people did not answer."""
    queries = tuple(f"q{n}" for n in range(len(people)))
    judges: Mapping[str, Floats] = {} if judge is None else {JUDGE: judge}
    asked = np.ones(people.shape, bool)
    return QueryScores("s", systems, queries, people, judges, asked, np.isfinite(people))


def table(gap: float, queries: int = 80, seed: int = 0) -> Floats:
    """Scores of two systems of which the second is better by about the gap."""
    random = np.random.default_rng(seed)
    base = random.uniform(0.2, 0.6, queries)
    return np.clip(np.c_[base, base + random.normal(gap, 0.2, queries)], 0, 1)


class TestWhatPeopleDecide:
    def test_a_committed_draw_decides_and_labels_that_exist_do_not(self) -> None:
        of = scores(table(0.2))
        rows = list(range(60))
        states = {how: compared(of, Draw(how, rows))["pairs"][0]["state"] for how in HOW_DRAWN}
        assert states == {
            "committed": "decided",
            "even": "exploratory",
            "all": "exploratory",
            "unknown": "no evidence",
        }

    def test_the_rows_count_in_the_order_of_the_draw(self) -> None:
        values = table(0.1)
        rows = np.random.default_rng(1).permutation(80)[:50].tolist()
        (pair,) = compared(scores(values), Draw("committed", rows))["pairs"]
        difference = Difference("A", "B", (values[:, 1] - values[:, 0])[rows], 80)
        np.testing.assert_allclose(pair["evidence"]["b"], difference.strongest["b"], atol=1e-8)
        assert pair["after"] == standings([difference], 0.05)[0].after

    def test_a_query_without_a_score_leaves_the_sum_as_it_is(self) -> None:
        values = table(0.1)
        values[2, 0] = np.nan
        (difference,) = differences_of(scores(values), Draw("committed", [0, 2, 4]))
        assert difference.values[1] == 0
        (late,) = differences_of(scores(values), Draw("committed", [0, 2, 4], frozenset({2})))
        assert np.isnan(late.values[1])

    def test_only_queries_with_both_systems_count(self) -> None:
        values = table(0.2)
        of = scores(values)
        of.asked[1::2, 0] = False
        (difference,) = differences_of(of, Draw("committed", [0, 1, 2, 3, 4]))
        assert difference.queries == 40
        assert difference.turns.tolist() == [1, 3, 5]

    def test_several_systems_share_the_level(self) -> None:
        values = np.c_[table(0.15), table(0.3, seed=1)[:, 1]]
        of = scores(values, ("A", "B", "C"))
        found = compared(of, Draw("committed", range(80)))
        alone = compared(of.of_systems(["A", "B"]), Draw("committed", range(80)))
        assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
            ("A", "B"), ("A", "C"), ("B", "C"),
        ]  # fmt: skip
        assert found["pairs"][0]["after"] > alone["pairs"][0]["after"]

    def test_neighbours_have_the_numbers_of_all_pairs(self) -> None:
        of = scores(np.c_[table(0.15), table(0.3, seed=1)[:, 1]], ("A", "B", "C"))
        draw = Draw("even", range(60))
        every = {(pair["a"], pair["b"]): pair for pair in compared(of, draw)["pairs"]}
        near = neighbours(of, draw)
        assert near["compared"] == 3
        assert [(pair["a"], pair["b"]) for pair in near["pairs"]] == list(pairwise("ABC"))
        for pair in near["pairs"]:
            whole = every[pair["a"], pair["b"]]
            assert pair["after"] == whole["after"]
            assert pair["more"] == whole["more"]
            assert pair["evidence"] == max(whole["evidence"]["a"])

    def test_a_hashed_order_depends_on_keys_and_not_on_their_order(self) -> None:
        of = scores(table(0.1, 30))
        first = [of.queries[n] for n in of.in_hashed_order(range(30), "seed")]
        turned = QueryScores(
            "s", of.systems, of.queries[::-1], of.people[::-1], {}, of.asked, of.answered
        )
        assert [turned.queries[n] for n in turned.in_hashed_order(range(30), "seed")] == first
        assert first != [of.queries[n] for n in of.in_hashed_order(range(30), "other")]


class TestWhatStandsBeside:
    def test_the_judge_alone_never_decides(self) -> None:
        # People see no difference, and the judge a clear one.
        people = np.tile(np.random.default_rng(0).uniform(0, 1, (60, 1)), (1, 2))
        judge = np.clip(table(0.3, 60), 0, 1)
        (pair,) = compared(scores(people, judge=judge), Draw("committed", range(40)))["pairs"]
        of = pair["judges"][JUDGE]
        assert (pair["state"], of["note"]) == ("not yet", NEVER_DECIDES)
        assert of["difference"]["low"] > 0.2
        assert of["difference"]["value"] == pytest.approx((judge[:, 1] - judge[:, 0]).mean())

    def test_people_and_judge_together_are_read_at_the_registered_number(self) -> None:
        people, judge = table(0.1), table(0.1, seed=2)
        of = scores(people, judge=judge)
        apart = people[:, 1] - people[:, 0]
        judged = judge[:, 1] - judge[:, 0]
        by_hand = prediction_powered_mean(apart[:40], judged[:40], judged[40:])
        for labelled in (40, 60):
            draw = Draw("committed", range(labelled), registered=40)
            (pair,) = compared(of, draw)["pairs"]
            found = pair["prediction_powered"][JUDGE]
            assert found["value"] == pytest.approx(by_hand.value)
            assert (found["low"], found["high"]) == pytest.approx((by_hand.low, by_hand.high))
        (early,) = compared(of, Draw("committed", range(30), registered=40))["pairs"]
        assert early["prediction_powered"][JUDGE]["value"] is None
        reason = early["prediction_powered"][JUDGE]["reason"]
        assert reason == "30 of the 40 registered queries are labelled"

    def test_nothing_drawn_at_random_gives_no_figure_from_both(self) -> None:
        of = scores(table(0.1), judge=table(0.1, seed=2))
        (pair,) = compared(of, Draw("unknown", range(40)))["pairs"]
        found = pair["prediction_powered"][JUDGE]
        assert (found["value"], "not known to be drawn" in found["reason"]) == (None, True)


SCALES = {
    "grade": Scale(("1", "2", "3", "4"), "ordinal", declared=True),
    "words": Scale(("poor", "fair", "good"), "ordinal", declared=True),
    "length": Scale((), "interval"),
    "kind": Scale(("news", "blog", "shop"), "nominal", declared=True),
    "right": Scale(("yes", "no"), "nominal", declared=True),
}


def named(variable: str, *values: str, score: str = "") -> QueryScores:
    """The scores of one query's two systems by these labels of Ada, half of them each."""
    facts = [
        fact(f"i{n % 2}", f"u{n}", "ada", value, variable, query="q", system="AB"[n % 2])
        for n, value in enumerate(values)
    ]
    frame = make_frame(facts, SCALES)
    found = score_called(frame, score or variable)
    return QueryScores.of(found.name, found.scores)


class TestScoresByName:
    @pytest.mark.parametrize(
        ("variable", "labels", "score", "expected"),
        [
            # (1 + 4)/2 and 3 on a scale from 1 to 4.
            ("grade", ("1", "3", "4", "3"), "", [0.5, 2 / 3]),
            ("words", ("poor", "good", "fair", "good"), "", [0.25, 1.0]),
            ("right", ("yes", "no", "no", "no"), "", [0.5, 0.0]),
            ("kind", ("news", "blog", "blog", "blog"), "kind:blog", [0.5, 1.0]),
            ("grade", ("1", "3", "4", "3"), "grade:4", [0.5, 0.0]),
        ],
    )
    def test_a_score_is_between_0_and_1(
        self, variable: str, labels: tuple[str, ...], score: str, expected: list[float]
    ) -> None:
        found = named(variable, *labels, score=score)
        assert found.people[0].tolist() == pytest.approx(expected)

    def test_a_score_without_ends_is_refused_with_the_mend(self) -> None:
        with pytest.raises(UnboundedScoreError, match="declare its scale"):
            named("length", "3", "11", score="mean length")

    def test_a_variable_without_an_order_needs_a_code(self) -> None:
        with pytest.raises(UnknownScoreError, match="VARIABLE:CODE"):
            named("kind", "news", "blog")

    def test_an_unknown_name_is_refused_with_what_was_meant(self) -> None:
        with pytest.raises(UnknownScoreError, match="did you mean 'grade'"):
            named("grade", "1", "2", score="grades")

    def test_an_unknown_system_is_refused_with_those_there_are(self) -> None:
        with pytest.raises(
            ValueError, match="there is no system 'C' in these labels; there are A, B"
        ):
            scores(table(0.1)).of_systems(["A", "C"])

    def test_an_escape_is_an_answer_without_a_score(self) -> None:
        scale = Scale(("yes", "no"), "nominal", ("unclear",), declared=True)
        facts = [
            fact(system, "u", "ada", value, "right", query="q", system=system)
            for system, value in (("A", "yes"), ("B", "unclear"))
        ]
        found = score_called(make_frame(facts, {"right": scale}), "right")
        of = QueryScores.of(found.name, found.scores)
        assert of.labelled() == [0]
        assert np.isnan(of.people[0, 1])
