"""The ledger and reused answers, query by query: which assignments, states and counts."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Campaign
from datasets.models import Team
from judging.answers import cache
from judging.answers.cache import (
    EqualRequests,
    find_answers,
    may_reuse,
    reusable_calls,
    reused_results,
)
from judging.answers.results import Failure, Result
from judging.backends.base import Answer
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.models import Judge, JudgeCall, JudgeRun, Strike
from judging.prompts.request import Prepared
from judging.runs import ledger, planning
from tests.judging.cast import command, judge, run_scripted, yes
from tests.judging.virtual import rows as plain_rows

STATES = ("open", "leased", "done", "failed", "cancelled")


@pytest.fixture
def ten(campaign: Campaign) -> tuple[Campaign, Judge]:
    """Rows of a judge, two in each state; one with a lease and a strike in each."""
    rater = judge(granularity="unit")
    planning.plan(campaign, rater)
    rows = list(ledger.assignments_of(campaign, rater).order_by("id"))
    for number, row in enumerate(rows[:10]):
        lease = uuid.uuid4() if STATES[number // 2] == "leased" else None
        Assignment.objects.filter(pk=row.pk).update(status=STATES[number // 2], lease=lease)
        if number % 2:
            Strike.objects.create(assignment=row, count=2)
    for row in rows[10:]:
        row.delete()
    return campaign, rater


def count_states(campaign: Campaign, rater: Judge) -> dict[str, int]:
    return ledger.count_by_status(campaign, rater)


def test_assignments_are_counted_by_status(ten: tuple[Campaign, Judge]) -> None:
    assert count_states(*ten) == dict.fromkeys(STATES, 2)
    assert ledger.count_waiting(*ten) == ledger.count_unfinished(count_states(*ten)) == 4
    assert ledger.count_unfinished({"open": 3}) == ledger.count_unfinished({"leased": 3}) == 3
    assert ledger.count_unfinished({"done": 5}) == 0
    assert ledger.count_isolated(*ten) == 1
    Strike.objects.update(count=1)
    assert ledger.count_isolated(*ten) == 0


def test_failed_assignments_are_counted_by_reason(ten: tuple[Campaign, Judge]) -> None:
    Assignment.objects.update(reason="timeout")
    failed = Assignment.objects.filter(status="failed").order_by("id").values_list("pk", flat=True)
    Assignment.objects.filter(pk=failed[0]).update(reason="error")
    assert ledger.count_missing_reasons(*ten) == {"error": 1, "timeout": 1}


def test_reopened_assignments_have_no_lease(ten: tuple[Campaign, Judge]) -> None:
    ledger.reopen(*ten)
    assert count_states(*ten) == {"open": 4, "done": 2, "failed": 2, "cancelled": 2}
    assert not Assignment.objects.exclude(lease=None).exists()


def test_unfinished_assignments_are_cancelled_and_revived(ten: tuple[Campaign, Judge]) -> None:
    ledger.cancel(*ten)
    assert count_states(*ten) == {"done": 2, "failed": 2, "cancelled": 6}
    assert not Assignment.objects.exclude(lease=None).exists()
    ledger.revive(*ten)
    assert count_states(*ten) == {"open": 6, "done": 2, "failed": 2}


def test_assignments_of_other_judges_and_campaigns_are_left_unchanged(
    ten: tuple[Campaign, Judge],
) -> None:
    campaign, rater = ten
    command("create_campaign", "other", "--protocol", "report-coverage", "--batch", "bridges")
    other = Campaign.objects.get(name="other")
    further = judge("further")
    for place, who in ((other, rater), (campaign, further)):
        planning.plan(place, who)
        kept = count_states(place, who)
        ledger.cancel(campaign, rater)
        ledger.revive(campaign, rater)
        ledger.reopen(campaign, rater)
        assert count_states(place, who) == kept


def test_a_claim_leases_open_assignments_and_loads_their_items(
    ten: tuple[Campaign, Judge], django_assert_num_queries: Any
) -> None:
    campaign, rater = ten
    lease = uuid.uuid4()
    assert ledger.claim(campaign, rater, lease, 0) == []
    (row,) = ledger.claim(campaign, rater, lease, 5)
    with django_assert_num_queries(0):
        assert (row.status, row.lease, row.item.campaign) == ("leased", lease, campaign)
        assert row.item.query.text
    stored = Assignment.objects.get(pk=row.pk)
    assert (stored.status, stored.lease) == ("leased", lease)
    assert ledger.claim(campaign, rater, lease, 5) == []


def test_claim_positions_are_remembered_for_the_newest_leases_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: dict[uuid.UUID, int] = {}
    monkeypatch.setattr(ledger, "_positions", known)
    monkeypatch.setattr(ledger, "MAX_POSITIONS", 2)
    for number in (1, 2, 3):
        ledger._remember_position(uuid.uuid4(), number)
    assert list(known.values()) == [1, 2, 3]
    ledger._remember_position(uuid.uuid4(), 4)
    assert list(known.values()) == [4]


def test_an_assignment_with_strikes_is_claimed_alone(
    ten: tuple[Campaign, Judge],
) -> None:
    campaign, rater = ten
    ledger.assignments_of(campaign, rater).exclude(strike=None).update(status="open")
    ledger.assignments_of(campaign, rater).filter(strike=None).update(status="done")
    assert ledger.claim(campaign, rater, uuid.uuid4(), 0) == []
    (first,) = ledger.claim(campaign, rater, uuid.uuid4(), 3)
    assert first.pk == min(Strike.objects.values_list("assignment", flat=True))
    assert ledger.claim(campaign, rater, uuid.uuid4(), 3) == []


def test_an_assignment_reopened_before_the_claim_position_is_claimed_again(
    campaign: Campaign,
) -> None:
    rater, lease = judge(granularity="unit"), uuid.uuid4()
    planning.plan(campaign, rater)
    first, second = ledger.claim(campaign, rater, lease, 2)
    Assignment.objects.filter(pk=first.pk).update(status="open", lease=None)
    further = ledger.claim(campaign, rater, lease, 2)
    assert min(row.pk for row in further) > second.pk
    rest = ledger.claim(campaign, rater, lease, 12)
    assert rest[0].pk == first.pk
    assert len(rest) == 9


def test_a_claim_leaves_out_an_assignment_leased_by_another_run_meanwhile(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater, lease = judge(granularity="unit"), uuid.uuid4()
    planning.plan(campaign, rater)
    free_rows = ledger.open_assignments

    def late(*args: Any, **more: Any) -> list[Assignment]:
        rows = free_rows(*args, **more)
        Assignment.objects.filter(pk=rows[0].pk).update(status="leased", lease=uuid.uuid4())
        return rows

    monkeypatch.setattr(ledger, "open_assignments", late)
    rows = ledger.claim(campaign, rater, lease, 3)
    first = ledger.assignments_of(campaign, rater).order_by("id")[0]
    assert len(rows) == 2
    assert first.pk not in {row.pk for row in rows}
    assert {row.lease for row in rows} == {lease}


def test_a_takeover_adds_strikes_to_leased_assignments_and_closes_those_with_three(
    ten: tuple[Campaign, Judge], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, rater = ten
    monkeypatch.setattr(ledger, "CHUNK", 1)
    run = JudgeRun.objects.create(campaign=campaign, judge=rater)
    plain, struck = ledger.assignments_of(campaign, rater).filter(status="leased").order_by("id")
    others = dict(Strike.objects.exclude(assignment=struck).values_list("assignment", "count"))
    assert ledger.take_over(run) == 1
    assert count_states(campaign, rater) == {"open": 3, "done": 2, "failed": 3, "cancelled": 2}
    strikes = dict(Strike.objects.values_list("assignment", "count"))
    assert strikes == others | {struck.pk: 3, plain.pk: 1}
    poisoned = Assignment.objects.get(pk=struck.pk)
    assert (poisoned.status, poisoned.reason, poisoned.lease) == ("failed", "error", None)
    assert poisoned.attempts == struck.attempts + 1
    call = JudgeCall.objects.get()
    assert (call.run, call.assignment, call.attempt) == (run, poisoned, poisoned.attempts)
    assert (call.state, call.seconds, call.completion) == ("poisoned", 0.0, None)
    assert call.detail == "three workers died during this request"
    assert not Assignment.objects.exclude(lease=None).exists()
    assert ledger.take_over(run) == 0
    # Closed assignments stay closed, however often another worker dies.
    Assignment.objects.filter(pk=plain.pk).update(status="leased")
    assert ledger.take_over(run) == 0
    assert JudgeCall.objects.get() == call


class TestReuse:
    @pytest.fixture
    def first(self, campaign: Campaign) -> JudgeRun:
        return run_scripted(campaign, judge("first"))[0]

    def test_calls_of_different_requests_are_not_reused(
        self, campaign: Campaign, first: JudgeRun
    ) -> None:
        second = judge("second")
        call = JudgeCall.objects.order_by("id")[1]
        calls = JudgeCall.objects.filter(pk=call.pk)
        rows = Assignment.objects.filter(pk=call.assignment_id)
        source = JudgeCall.objects.order_by("id").first()
        warm = Judge(rater=second.rater, backend="lexical", params={"temperature": 0.7})
        table: list[tuple[QuerySet[Any], dict[str, Any], int, int]] = [
            (calls, {}, 4, 4),
            (calls, {"state": "unreadable"}, 3, 3),
            (calls, {"state": "deadline"}, 3, 3),
            (calls, {"reused_from": source}, 3, 3),
            (calls, {"repair": True}, 3, 3),
            (rows, {"status": "open"}, 3, 3),
            (rows, {"status": "failed", "reason": "error"}, 3, 3),
            (rows, {"status": "failed", "reason": "unreadable"}, 4, 3),
        ]
        for some, changed, cold_ones, warm_ones in table:
            with transaction.atomic():
                some.update(**changed)
                found = [reusable_calls("all", campaign, each).count() for each in (second, warm)]
                assert found == [cold_ones, warm_ones], changed
                transaction.set_rollback(True)
        with transaction.atomic():
            rows.update(status="failed", reason="unreadable")
            for state, count in (("unreadable", 4), ("answered", 4), ("deadline", 3)):
                calls.update(state=state)
                assert reusable_calls("all", campaign, second).count() == count, state

    def test_reuse_within_the_campaign_takes_only_calls_of_that_campaign(
        self, campaign: Campaign, first: JudgeRun
    ) -> None:
        command("create_campaign", "other", "--protocol", "report-coverage", "--batch", "bridges")
        other = Campaign.objects.get(name="other")
        counts = {
            reuse: [reusable_calls(reuse, each, first.judge).count() for each in (campaign, other)]
            for reuse in ("campaign", "all")
        }
        assert counts == {"campaign": [4, 0], "all": [4, 4]}
        other.team = Team.objects.create(name="another")
        other.save()
        assert reusable_calls("all", other, first.judge).count() == 0, "another team paid for them"

    def prepared(self, campaign: Campaign, rater: Judge) -> list[Prepared]:
        preparer = build_preparer(campaign, rater, Scripted(yes))
        return preparer.prepare_all(list(ledger.assignments_of(campaign, rater).order_by("id")))

    def test_the_newest_answer_is_reused_with_all_its_facts(
        self, campaign: Campaign, first: JudgeRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cache, "CHUNK", 1)
        facts = {"model_returned": "m-1", "logprobs": {"content": []}, "finish_reason": "end_turn"}
        facts |= {"reasoning": "since"}
        JudgeCall.objects.update(**facts, seconds=4.0, detail="so", cost=Decimal(3))
        run_scripted(campaign, judge("again"))
        JudgeCall.objects.exclude(run=first).update(**facts, seconds=5.0, detail="later")
        run = JudgeRun(campaign=campaign, judge=judge("second"), reuse="all")
        prepared = self.prepared(campaign, first.judge)
        found = find_answers(run, [each.request_hash for each in prepared] * 2)
        assert len(found) == 4
        assert list(find_answers(run, [prepared[1].request_hash])) == [prepared[1].request_hash]
        assert {call.run_id for call in found.values()} != {first.pk}
        for result in reused_results(run, prepared):
            (call,) = result.calls
            answer = result.outcome
            assert isinstance(answer, Answer)
            came = (answer.model, answer.logprobs, answer.finish_reason, answer.reasoning)
            assert came == tuple(facts.values())
            assert (answer.usage, call.answer, result.seconds) == ({}, answer, 5.0)
            assert (call.state, call.seconds, call.cost) == ("answered", 5.0, 0)
            assert call.detail == "later"
            assert call.reused_from == found[result.prepared.request_hash].pk
        never = JudgeRun(campaign=campaign, judge=run.judge, reuse="never")
        assert (may_reuse(run), may_reuse(never)) == (True, False)
        assert find_answers(never, list(found)) == {}

    def test_an_unreadable_answer_is_reused_as_unreadable(
        self, campaign: Campaign, first: JudgeRun
    ) -> None:
        JudgeCall.objects.update(state="unreadable", completion=None)
        ledger.assignments_of(campaign, first.judge).update(status="failed", reason="unreadable")
        run = JudgeRun(campaign=campaign, judge=judge("second"), reuse="all")
        results = reused_results(run, self.prepared(campaign, first.judge))
        assert {result.outcome for result in results} == {Failure("unreadable")}
        assert [result.calls[0].answer for result in results] == [None] * 4


class TestEqualRequests:
    def equals(self, monkeypatch: pytest.MonkeyPatch, taken: int = 0) -> EqualRequests:
        """The first `taken` waiting requests find an answer to reuse."""
        monkeypatch.setattr(
            cache,
            "reused_results",
            lambda run, others: [Result(each, (), Answer("{}")) for each in others[:taken]],
        )
        return EqualRequests(JudgeRun(judge=Judge(), reuse="all"))

    def rows(self, *hashes: str) -> list[Prepared]:
        made = plain_rows(len(hashes))
        return [replace(row, request_hash=digest) for row, digest in zip(made, hashes, strict=True)]

    def test_the_first_of_several_equal_requests_is_sent_and_the_others_wait(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        equals = self.equals(monkeypatch, taken=1)
        assert equals.release([Result(self.rows("a")[0], (), Answer("{}"))]) == ([], [])
        rows = self.rows("a", "a", "b", "a")
        assert equals.claim_firsts(rows) == [rows[0], rows[2]]
        assert equals.waiting == 2
        assert equals.release([Result(rows[0])]) == ([], [])
        assert equals.waiting == 2
        asked, taken = equals.release([Result(rows[0], (), Failure("refused"))])
        assert ([each.prepared for each in taken], asked) == ([rows[1]], [rows[3]])
        assert equals.waiting == 0
        assert equals.claim_firsts(self.rows("a", "b")) == []
        assert equals.waiting == 2
        assert equals.release([Result(rows[2], (), Answer("{}"))])[0] == []

    def test_at_most_a_fixed_number_of_requests_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        equals = self.equals(monkeypatch)
        equals.waiting = cache.MAX_WAITING - 1
        assert not equals.is_full
        equals.waiting += 1
        assert equals.is_full

    def test_without_reuse_all_equal_requests_are_sent(self) -> None:
        rows = self.rows("a", "a")
        equals = EqualRequests(JudgeRun(judge=Judge(), reuse="never"))
        assert equals.claim_firsts(rows) == rows
        assert equals.waiting == 0
