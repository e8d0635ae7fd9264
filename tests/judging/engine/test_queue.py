"""The engine claims open assignments, reuses equal results, and records what happened.

No server is asked: rows and calls are in the database.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign
from judging.answers import cache
from judging.answers.cache import EqualRequests, find_answers
from judging.answers.results import FINAL
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.engine import persistence
from judging.engine.persistence import Claim, ServerHistory, claim_requests, read_history
from judging.models import JudgeCall, JudgeRun
from judging.runs import ledger
from tests.databases import rolling_back
from tests.judging.cast import judge, run_scripted, yes
from tests.judging.runs.test_runs import held

MIN_FAILURES = 5

ITEMS = 4


def claim(
    run: JudgeRun, token: uuid.UUID, count: int = 9, equals: EqualRequests | None = None
) -> Claim:
    preparer = build_preparer(run.campaign, run.judge, Scripted(yes))
    return claim_requests(run, token, preparer, equals or EqualRequests(run), count)


def called(run: JudgeRun, row: Assignment, state: str, ago: float, **more: Any) -> JudgeCall:
    sent_at = timezone.now() - timedelta(seconds=ago)
    given = {"attempt": 1, "seconds": 1.0, "sent_at": sent_at} | more
    return JudgeCall.objects.create(run=run, assignment=row, state=state, **given)


@pytest.fixture
def run(campaign: Campaign) -> tuple[JudgeRun, uuid.UUID, list[Assignment]]:
    run, token = held(campaign, judge())
    return run, token, list(ledger.assignments_of(campaign, run.judge).order_by("pk"))


Held = tuple[JudgeRun, uuid.UUID, list[Assignment]]


class TestClaim:
    def test_a_worker_without_the_lease_claims_nothing(self, run: Held) -> None:
        with pytest.raises(LostLeaseError):
            claim(run[0], uuid.uuid4())
        assert ledger.count_by_status(run[0].campaign, run[0].judge) == {"open": ITEMS}

    def test_assignments_that_cannot_be_loaded_stay_open(
        self, run: Held, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("broken")

        monkeypatch.setattr(ledger, "attach_items", broken)
        with pytest.raises(RuntimeError):
            claim(run[0], run[1])
        assert ledger.count_by_status(run[0].campaign, run[0].judge) == {"open": ITEMS}

    def test_a_claim_takes_the_requested_number_of_assignments_in_order(self, run: Held) -> None:
        claimed = claim(*run[:2], count=3)
        assert claimed.rows == 3
        assert claimed.known == []
        assert [each.assignment for each in claimed.ready] == run[2][:3]
        assert {(each.late, each.refused_for) for each in claimed.ready} == {(0, 0.0)}
        left = claim(*run[:2])
        assert (left.rows, [each.assignment for each in left.ready]) == (1, run[2][3:])
        assert claim(*run[:2]) == Claim(0, [], [])

    def test_an_answer_stored_without_a_label_is_not_asked_again(self, run: Held) -> None:
        row = run[2][1]
        preparer = build_preparer(run[0].campaign, run[0].judge, Scripted(yes))
        digest = preparer.prepare_all([row])[0].request_hash
        called(run[0], row, "answered", 5, request_hash=digest, completion="{}")
        Assignment.objects.filter(pk=row.pk).update(attempts=1)
        claimed = claim(*run[:2])
        assert claimed.rows == ITEMS
        assert [each.prepared.assignment for each in claimed.known] == [row]
        assert [each.assignment for each in claimed.ready] == [run[2][0], *run[2][2:]]

    @pytest.mark.every_case
    @pytest.mark.parametrize(("reuse", "taken"), [("never", 0), ("campaign", 2), ("all", 2)])
    def test_answers_to_equal_requests_are_reused_if_allowed(
        self, campaign: Campaign, reuse: str, taken: int
    ) -> None:
        run_scripted(campaign, judge("first"), limit=2)
        run, token = held(campaign, judge("second"), reuse=reuse)
        rows = list(ledger.assignments_of(campaign, run.judge).order_by("pk"))
        claimed = claim(run, token)
        assert claimed.rows == ITEMS
        assert [each.prepared.assignment for each in claimed.known] == rows[:taken]
        assert [each.assignment for each in claimed.ready] == rows[taken:]

    @pytest.mark.every_case
    @pytest.mark.parametrize(("reuse", "asked"), [("never", ITEMS), ("all", 1)])
    def test_only_the_first_of_equal_requests_is_asked_if_reuse_is_allowed(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch, reuse: str, asked: int
    ) -> None:
        run, token = held(campaign, judge(), reuse=reuse)
        preparer = build_preparer(campaign, run.judge, Scripted(yes))
        prepare_all = preparer.prepare_all
        monkeypatch.setattr(
            preparer,
            "prepare_all",
            lambda rows: [replace(each, request_hash="x") for each in prepare_all(rows)],
        )
        equals = EqualRequests(run)
        claimed = claim_requests(run, token, preparer, equals, 9)
        assert (claimed.rows, len(claimed.ready), equals.waiting) == (ITEMS, asked, ITEMS - asked)


class TestAssignmentHistory:
    """The first row's own calls, and one of the second row's that was answered."""

    def history_of(self, run: Held, answered: float | None, *calls: tuple[str, float]) -> Any:
        for state, ago in calls:
            called(run[0], run[2][0], state, ago)
        if answered is not None:
            called(run[0], run[2][1], "answered", answered)
        Assignment.objects.filter(pk=run[2][0].pk).update(attempts=1)
        first, *others = claim(*run[:2]).ready
        assert {(each.late, each.refused_for) for each in others} == {(0, 0.0)}
        return first

    def test_calls_that_timed_out_or_were_abandoned_count_as_late(self, run: Held) -> None:
        late = {"deadline": 1, "abandoned": 1, "rate": 0, "reset": 0, "status-500": 0}
        for state, times in late.items():
            with rolling_back():
                assert self.history_of(run, None, (state, 9)).late == times, state

    def test_the_time_of_refusals_counts_only_if_others_were_answered(self, run: Held) -> None:
        table: list[tuple[float | None, list[tuple[str, float]], float]] = [
            (10, [("rate", 60)], 60),
            (10, [("rate", 60), ("rate", 30)], 60),
            (10, [("deadline", 90), ("rate", 60)], 60),
            (10, [("deadline", 90)], 0),
            (60, [("rate", 10)], 0),
            (None, [("rate", 60)], 0),
        ]
        for answered, calls, seconds in table:
            with rolling_back():
                began = timezone.now()
                refused_for = self.history_of(run, answered, *calls).refused_for
                passed = (timezone.now() - began).total_seconds() if seconds else 0
                assert seconds <= refused_for <= seconds + passed, calls

    def test_attempts_in_another_run_do_not_count(self, run: Held, campaign: Campaign) -> None:
        other, _ = held(campaign, judge("other"))
        called(other, run[2][0], "deadline", 9)
        assert self.history_of(run, None).late == 0

    def test_calls_are_read_only_for_attempted_assignments(self, run: Held) -> None:
        called(run[0], run[2][0], "deadline", 9)
        assert claim(*run[:2]).ready[0].late == 0


class TestServerHistory:
    def test_a_server_is_proven_by_any_kind_of_answer(self, run: Held) -> None:
        assert read_history(run[0]) == ServerHistory(False, 0.0, 0.0)
        no_answers = ("rate", "deadline", "status-500", "abandoned")
        for state in ("answered", *FINAL, *no_answers):
            with rolling_back():
                called(run[0], run[2][0], state, 5)
                assert read_history(run[0]).proven == (state not in no_answers), state

    def test_a_server_is_down_or_busy_since_the_first_of_five_failed_calls(self, run: Held) -> None:
        table = {"rate": (False, True), "abandoned": (False, False), "deadline": (True, False),
                 "reset": (True, False)}  # fmt: skip
        for state, since in table.items():
            with rolling_back():
                for n in range(MIN_FAILURES):
                    assert (read_history(run[0]).down_for, read_history(run[0]).busy_for) == (
                        0.0,
                        0.0,
                    )
                    called(run[0], run[2][0], state, 100 - n)
                history = read_history(run[0])
                assert (history.down_for >= 100, history.busy_for >= 100) == since, state
                assert max(history.down_for, history.busy_for) < 105

    def test_only_calls_sent_after_the_last_answer_count(self, run: Held) -> None:
        def fail(ago: float, **more: Any) -> float:
            for _ in range(MIN_FAILURES):
                called(run[0], run[2][0], "reset", ago, **more)
            return read_history(run[0]).down_for

        assert fail(40) >= 40
        answer = called(run[0], run[2][1], "answered", 50)
        assert read_history(run[0]).down_for == 0.0
        assert fail(60) == 0.0
        assert fail(30, reused_from=answer) == 0.0
        assert 20 <= fail(20) < 25

    def test_a_reused_answer_does_not_count_as_the_servers(self, run: Held) -> None:
        called(run[0], run[2][0], "answered", 50)
        source = JudgeCall.objects.get()
        for _ in range(MIN_FAILURES):
            called(run[0], run[2][0], "reset", 40)
        called(run[0], run[2][1], "answered", 30, reused_from=source)
        assert read_history(run[0]).down_for >= 40

    def test_calls_of_other_runs_do_not_count(self, run: Held, campaign: Campaign) -> None:
        other, _ = held(campaign, judge("other"))
        called(other, run[2][0], "answered", 5)
        assert read_history(run[0]) == ServerHistory(False, 0.0, 0.0)

    def test_a_future_time_counts_as_now(self) -> None:
        assert persistence._since(timezone.now() + timedelta(hours=1)) == 0.0
        assert persistence._since(None) == 0.0

    def test_a_past_time_counts_from_then_to_now(self) -> None:
        now = timezone.now()
        found = persistence._since(now - timedelta(seconds=60))
        assert 60 <= found <= (timezone.now() - now).total_seconds() + 60


def test_reusable_answers_are_looked_up_in_chunks_of_hashes(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(cache, "CHUNK", 2)
    run = JudgeRun(campaign=campaign, judge=judge(), reuse="all")
    with django_assert_num_queries(3) as asked:
        find_answers(run, ["a0", "b0", "c0", "a0", "d0", "e0"])
    sql = [each["sql"] for each in asked.captured_queries]
    named = [[h for h in ("a0", "b0", "c0", "d0", "e0") if f"'{h}'" in one] for one in sql]
    assert named == [["a0", "b0"], ["c0", "d0"], ["e0"]]
