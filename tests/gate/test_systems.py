"""A release held against the one before it, by people's scores of the same queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path

import numpy as np
import pytest

from tandem.gate.findings import Finding, GateError, Outcome
from tandem.gate.systems import NAMED, Release, Terms, better, better_in, not_worse
from tandem.labels.file.frames import file_frame
from tandem.labels.frame import Frame
from tandem.trust.compared import Drawn
from tests.cast import write_lines

HOLDS, FAILS, UNDECIDED = Outcome
Labels = Mapping[str, Mapping[str, Sequence[str]]]
"""Codes of each unit of a query, by system and query."""
FrameOf = Callable[[Labels], Frame]


@pytest.fixture
def frame_of(tmp_path: Path) -> FrameOf:
    def make(labels: Labels, rater_kind: str = "human") -> Frame:
        rows = [
            {
                "item": f"{query}#{system}",
                "unit": f"{query}:{n}",
                "variable": "good",
                "value": code,
                "rater": "ada",
                "rater_kind": rater_kind,
                "query": query,
                "system": system,
            }
            for system, queries in labels.items()
            for query, codes in queries.items()
            for n, code in enumerate(codes)
        ]
        path = tmp_path / "labels.jsonl"
        write_lines(path, rows)
        return file_frame([path], {})[0]

    return make


def scored(system: str, shares: Mapping[str, float]) -> Release:
    return Release(system, dict(shares), frozenset(shares))


def queries(number: int, share: float, first: int = 0) -> dict[str, float]:
    return {f"q{n}": share for n in range(first, first + number)}


def compared(
    new: Release,
    old: Release,
    drawn: Drawn = "even",
    margin: float = 0.05,
    of: int | None = 1000,
) -> Finding:
    return not_worse(new, old, margin, Terms(drawn, 0.05, among=of), "old.jsonl")


class TestNotWorse:
    def test_it_holds_once_the_evidence_is_there_as_worked_by_hand(self) -> None:
        # Of a stream, each equal query multiplies a bet c by 1 + .999 c .05 / .95.
        bets = np.exp(np.linspace(log(0.01), 0, 40))
        needed = next(
            n for n in range(1, 500) if ((1 + 0.999 * bets * 0.05 / 0.95) ** n).mean() >= 20
        )
        for labelled, outcome in ((needed, HOLDS), (needed - 1, UNDECIDED)):
            same = scored("a", queries(labelled, 0.5))
            assert compared(same, same, "all", of=None).outcome is outcome

    def test_it_fails_if_the_difference_is_below_the_margin(self) -> None:
        found = compared(scored("new", queries(100, 0.3)), scored("old", queries(100, 0.6)))
        assert found.outcome is FAILS
        assert found.value == pytest.approx(-0.3)
        assert found.high == pytest.approx(-0.05, abs=0.25)
        assert (found.high or 0) < -0.05

    def test_the_interval_is_where_the_evidence_begins(self) -> None:
        generator = np.random.default_rng(0)
        values = generator.choice([0.0, 0.25, 0.5], 80)
        old = scored("old", queries(80, 0.25))
        new = scored("new", {f"q{n}": value for n, value in enumerate(values)})
        found = compared(new, old)
        assert found.low is not None
        assert found.high is not None
        assert -1 < found.low < (found.value or 0) < found.high < 1
        # What the lower end says is shown, and what is .01 above is not.
        for margin, outcome in ((-found.low, HOLDS), (-found.low - 0.01, UNDECIDED)):
            if 0 <= margin < 1:
                assert compared(new, old, margin=margin).outcome is outcome

    def test_all_queries_labelled_prove_it_by_arithmetic(self) -> None:
        two = scored("a", queries(2, 0.5))
        assert compared(two, two, of=None).outcome is HOLDS
        assert compared(two, two, of=100).outcome is UNDECIDED

    def test_labels_of_an_unknown_draw_are_no_evidence(self) -> None:
        many = scored("a", queries(300, 0.5))
        found = compared(many, many, "unknown")
        assert (found.outcome, found.low) == (UNDECIDED, None)
        assert "--drawn even" in found.reason

    def test_queries_of_one_side_are_counted_and_named(self) -> None:
        new = scored("new", queries(60, 0.5, first=0))
        old = scored("old", queries(60, 0.5, first=2))
        reason = compared(new, old).reason
        assert "only the release has 2 queries: q0, q1" in reason
        assert "only the baseline has 2 queries: q60, q61" in reason

    def test_of_many_the_first_are_named(self) -> None:
        reason = compared(scored("n", queries(60, 0.5)), scored("o", queries(20, 0.5))).reason
        assert "only the release has 40 queries: q20, q21" in reason
        assert f" and {40 - NAMED} more" in reason

    def test_queries_without_labels_on_both_sides_are_counted(self) -> None:
        new = scored("new", queries(60, 0.5))
        old = Release("old", new.scores, frozenset(list(new.scores)[:50]))
        assert (
            "10 queries of both without people’s labels on both sides" in compared(new, old).reason
        )

    def test_without_common_queries_nothing_is_decided(self) -> None:
        found = compared(scored("n", queries(9, 0.5)), scored("o", queries(9, 0.5, first=9)))
        assert (found.outcome, found.value) == (UNDECIDED, None)
        assert found.reason.startswith("no query has people’s labels on both sides")

    def test_more_queries_than_stated_are_refused(self) -> None:
        many = scored("a", queries(9, 0.5))
        with pytest.raises(GateError, match="9 queries are labelled, so not drawn among 5"):
            compared(many, many, of=5)


class TestReleases:
    def test_the_score_of_a_query_is_people_s(self, frame_of: FrameOf) -> None:
        made = Release.of(frame_of({"v1": {"q0": ["yes", "no"], "q1": ["yes", "yes"]}}), "")
        assert made.system == "v1"
        assert made.scores == {"q0": 0.5, "q1": 1.0}
        assert made.labelled == {"q0", "q1"}

    def test_scores_on_two_scales_are_not_compared(self, tmp_path: Path) -> None:
        def release(*codes: str) -> Release:
            rows = [
                {"item": f"q{n}", "unit": f"u{n}", "variable": "rating", "value": code,
                 "rater": "ada", "query": f"q{n}", "system": "v"}
                for n, code in enumerate(codes)
            ]  # fmt: skip
            path = tmp_path / "labels.jsonl"
            write_lines(path, rows)
            return Release.of(file_frame([path], {"rating": "ordinal"})[0], "")

        with pytest.raises(GateError, match=r"The scores differ.*declare the same --scale"):
            compared(release("1", "2", "5"), release("1", "2", "4"))

    def test_of_several_systems_one_has_to_be_named(self, frame_of: FrameOf) -> None:
        frame = frame_of({"v1": {"q": ["yes"]}, "v2": {"q": ["no"]}})
        with pytest.raises(GateError, match="'v1' and 'v2'; name two with --systems"):
            Release.of(frame, "")
        assert Release.of(frame, "", "v2").scores == {"q": 0}

    def test_an_unknown_system_gets_a_similar_name(self, frame_of: FrameOf) -> None:
        frame = frame_of({"release-1": {"q": ["yes"]}, "other": {"q": ["no"]}})
        with pytest.raises(GateError, match="did you mean 'release-1'"):
            Release.of(frame, "", "relaese-1")

    def test_an_unknown_score_is_refused(self, frame_of: FrameOf) -> None:
        with pytest.raises(GateError, match=r"no score 'goud'.*did you mean 'good'"):
            Release.of(frame_of({"v1": {"q": ["yes", "no"]}}), "goud")


class TestBetter:
    def many(self, code: str, number: int = 40) -> dict[str, list[str]]:
        return {f"q{n}": [code] for n in range(number)}

    def test_it_holds_in_one_direction_and_fails_in_the_other(self, frame_of: FrameOf) -> None:
        frame = frame_of({"new": self.many("yes"), "old": self.many("no")})
        terms = Terms("even", 0.05, among=500)
        found = [better(frame, [pair], terms)[0] for pair in (("new", "old"), ("old", "new"))]
        assert [each.outcome for each in found] == [HOLDS, FAILS]
        assert [each.value for each in found] == [1, -1]

    def test_few_queries_do_not_decide(self, frame_of: FrameOf) -> None:
        frame = frame_of({"new": self.many("yes", 3), "old": self.many("no", 3)})
        (found,) = better(frame, [("new", "old")], Terms("even", 0.05, among=500))
        assert found.outcome is UNDECIDED
        assert "3 queries do not decide it yet" in found.reason

    def test_an_unknown_draw_does_not_decide(self, frame_of: FrameOf) -> None:
        frame = frame_of({"new": self.many("yes"), "old": self.many("no")})
        (found,) = better(frame, [("new", "old")], Terms("unknown", 0.05))
        assert found.outcome is UNDECIDED


class TestOfAComparison:
    def comparison(self, **pair: object) -> dict[str, object]:
        made = {"a": "old", "b": "new", "mean_difference": 0.25, "labelled": 40, **pair}
        return json.loads(
            json.dumps({"pairs": [made], "drawn": "committed", "how_drawn": "drawn evenly"})
        )

    @pytest.mark.parametrize(
        ("state", "winner", "outcome"),
        [
            ("decided", "new", HOLDS),
            ("decided", "old", FAILS),
            ("not yet", None, UNDECIDED),
            ("no evidence", None, UNDECIDED),
            ("exploratory", "new", UNDECIDED),
        ],
    )
    def test_only_what_is_decided_counts(
        self, state: str, winner: str | None, outcome: Outcome
    ) -> None:
        made = self.comparison(state=state, better=winner, after=30 if winner else None)
        assert better_in(made, "new", "old", "unknown").outcome is outcome

    def test_evidence_without_a_committed_draw_counts_if_the_draw_is_stated(self) -> None:
        made = self.comparison(state="exploratory", better="new", after=30) | {"drawn": "even"}
        assert better_in(made, "new", "old", "unknown").outcome is UNDECIDED
        assert better_in(made, "new", "old", "even").outcome is HOLDS

    def test_the_difference_is_new_minus_old(self) -> None:
        made = self.comparison(state="decided", better="new", after=30)
        assert better_in(made, "new", "old", "unknown").value == 0.25
        assert better_in(made, "old", "new", "unknown").value == -0.25

    def test_an_unknown_system_is_refused(self) -> None:
        made = self.comparison(state="decided", better="new", after=30)
        with pytest.raises(GateError, match="no system 'newer'; did you mean 'new'"):
            better_in(made, "newer", "old", "unknown")
