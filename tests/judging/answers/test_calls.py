"""Attempts as they are stored: their texts, hashes, costs and sums."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Assignment, Campaign
from judging.answers import calls
from judging.answers.calls import Call, Tally, store_calls
from judging.answers.results import Failure, Result, record
from judging.backends.base import Answer
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.models import JudgeCall, JudgeRun, Price
from judging.runs import ledger, lifecycle, planning
from tests.judging.cast import judge

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
USED = {"prompt_tokens": 1_000_000, "completion_tokens": 500_000}


@pytest.fixture
def run(campaign: Campaign) -> JudgeRun:
    rater = judge(
        "priced", "openai", model="m", base_url="http://127.0.0.1:9/v1", granularity="unit"
    )
    planning.plan(campaign, rater)
    return lifecycle.start(campaign, rater)


def rows(run: JudgeRun) -> list[int]:
    found = Assignment.objects.filter(rater=run.judge.rater).order_by("id")
    return list(found.values_list("pk", flat=True))


def call(answer: Answer | None = None, state: str = "answered", **more: Any) -> Call:
    return Call(state, NOON, 2.0, answer=answer, **more)


def stored(run: JudgeRun, *calls: Call) -> list[JudgeCall]:
    """The calls as attempts at the run's first row."""
    row = rows(run)[0]
    store_calls(run, [(row, n, f"hash {n}", each) for n, each in enumerate(calls, start=1)])
    return list(JudgeCall.objects.order_by("pk"))


def test_every_field_of_a_call_is_stored(run: JudgeRun) -> None:
    usage, logprobs = {"prompt_tokens": 3}, {"content": [{"token": "a"}]}
    answer = Answer("yes", "stop", usage, "m-7", 200, logprobs, "So it is.")
    source = stored(run, call())[0]
    more: dict[str, Any] = {
        "detail": "so", "status": 202, "body": "{}", "repair": True, "cost": Decimal("0.5"),
        "reused_from": source.pk, "reading": "fence", "address": 2,
    }  # fmt: skip
    found = stored(run, call(answer, "truncated", **more))[-1]
    assert {field.attname: getattr(found, field.attname) for field in JudgeCall._meta.fields} == {
        "id": found.pk, "run_id": run.pk, "assignment_id": rows(run)[0], "attempt": 1,
        "request_hash": "hash 1", "state": "truncated", "detail": "so", "http_status": 202,
        "completion": "yes", "reasoning": "So it is.", "body": "{}", "finish_reason": "stop",
        "usage": usage,
        "logprobs": logprobs, "model_returned": "m-7", "cost": Decimal("0.5"), "repair": True,
        "reused_from_id": source.pk, "reading": "fence", "address": 2, "sent_at": NOON,
        "seconds": 2.0,
    }  # fmt: skip


def test_the_beginning_of_long_reasoning_is_stored(run: JudgeRun) -> None:
    (found,) = stored(run, call(Answer("yes", reasoning="\0é" * calls.MAX_REASONING)))
    assert found.reasoning.startswith("\\u0000é")
    assert found.reasoning.count("é") == calls.MAX_REASONING // 2


def test_a_call_without_an_answer_has_no_answer_fields(run: JudgeRun) -> None:
    (found,) = stored(run, call(None, "deadline"))
    assert (found.completion, found.finish_reason, found.usage, found.logprobs) == (
        None, "", {}, None,
    )  # fmt: skip
    assert (found.model_returned, found.cost, found.http_status, found.body) == ("", None, None, "")
    assert (found.repair, found.reused_from_id, found.detail) == (False, None, "")


def test_server_messages_are_truncated_to_the_column(run: JudgeRun) -> None:
    fits = Answer("x" * 999, "f" * 40, {}, "m" * 200)
    long = Answer("x" * 999, "f" * 41, {}, "m" * 201)
    for found in stored(run, call(fits, detail="d" * 300), call(long, detail="d" * 301)):
        lengths = (found.detail, found.finish_reason, found.model_returned, found.completion or "")
        assert tuple(map(len, lengths)) == (300, 40, 200, 999)


def test_unstorable_characters_are_escaped_in_every_text(run: JudgeRun) -> None:
    odd = Answer("a\0", "b\0", {"c\0": "d\0"}, "e\0", logprobs={"f": "\ud800"})
    (found,) = stored(run, call(odd, detail="g\0", body="h\0"))
    assert (found.completion, found.finish_reason, found.usage, found.model_returned) == (
        "a\\u0000", "b\\u0000", {"c\\u0000": "d\\u0000"}, "e\\u0000",
    )  # fmt: skip
    assert (found.logprobs, found.detail, found.body) == (
        {"f": "\\ud800"}, "g\\u0000", "h\\u0000",
    )  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("answer", "given", "cost"),
    [
        (Answer("", usage=USED), None, Decimal(4)),
        (Answer("", usage=USED), Decimal("0.25"), Decimal("0.25")),
        (Answer("", usage=USED), Decimal(0), Decimal(0)),
        (Answer(""), None, None),
        (Answer(""), Decimal("0.25"), Decimal("0.25")),
        (None, None, None),
        (None, Decimal("0.25"), Decimal("0.25")),
    ],
)
def test_a_call_costs_what_the_server_states_or_its_usage_at_the_days_price(
    run: JudgeRun, answer: Answer | None, given: Decimal | None, cost: Decimal | None
) -> None:
    for since, price in (("2026-11-24", 2), ("2026-11-25", 9)):
        Price.objects.create(
            model="m", since=date.fromisoformat(since), prompt=price, cached=1, completion=4
        )
    assert [each.cost for each in stored(run, call(answer, cost=given))] == [cost]


def test_without_a_price_the_cost_is_unknown_and_not_added(run: JudgeRun) -> None:
    tally = store_calls(run, [(rows(run)[0], 1, "h", call(Answer("", usage=USED)))])
    assert JudgeCall.objects.get().cost is None
    assert (tally.calls, tally.cost, tally.prompt_tokens) == (1, 0, 1_000_000)


def test_reused_calls_are_left_out_of_the_sums(
    run: JudgeRun,
) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5,
             "prompt_tokens_details": {"cached_tokens": 3}}  # fmt: skip
    paid = call(Answer("", usage=usage), cost=Decimal("0.5"))
    source = stored(run, call())[0].pk
    taken = call(Answer("", usage=usage), cost=Decimal("0.5"), reused_from=source)
    odd = call(Answer("", usage={"prompt_tokens": 1, "prompt_tokens_details": [3]}))
    row = rows(run)[0]
    tally = store_calls(run, [(row, 1, "h", each) for each in (taken, paid, odd, call(None), paid)])
    assert tally == Tally(
        calls=4, reused=1, prompt_tokens=15, cached_tokens=6, completion_tokens=10,
        cost=Decimal(1),
    )  # fmt: skip


def test_an_empty_group_adds_nothing_to_the_sums(run: JudgeRun) -> None:
    tally = store_calls(run, [])
    assert vars(tally) == {
        "done": 0, "failures": {}, "calls": 0, "reused": 0, "prompt_tokens": 0, "cached_tokens": 0,
        "completion_tokens": 0, "thinking_tokens": 0, "cost": 0,
    }  # fmt: skip


def test_large_groups_of_calls_are_stored_once_each(
    run: JudgeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "CHUNK", 2)
    first, second, third, *_ = rows(run)
    tried = (first, first, second, first, second)
    store_calls(run, [(row, n, f"h{n}", call()) for n, row in enumerate(tried)])
    found = JudgeCall.objects.order_by("pk")
    assert list(found.values_list("assignment_id", "request_hash")) == [
        (row, f"h{n}") for n, row in enumerate(tried)
    ]
    attempts = Assignment.objects.in_bulk([first, second, third])
    assert [attempts[row].attempts for row in (first, second, third)] == [3, 2, 0]


class TestRecorded:
    def record(self, run: JudgeRun, *calls: Call, outcome: Any = None) -> Assignment:
        lease = lifecycle.lease_run(run)
        assert lease is not None
        preparer = build_preparer(run.campaign, run.judge, Scripted({}))
        (row,) = ledger.claim(run.campaign, run.judge, lease, 1)
        prepared = preparer.prepare_all([row])[0]
        record(run, lease, preparer.schema, [Result(prepared, calls, outcome)])
        return Assignment.objects.get(pk=row.pk)

    def test_an_assignment_without_a_result_stays_leased(self, run: JudgeRun) -> None:
        row = self.record(run, call(None, "deadline"))
        assert (row.status, row.reason, row.attempts) == ("leased", "", 1)
        run.refresh_from_db()
        assert (run.done, run.failures, run.calls) == (0, {}, 1)

    def test_a_failed_assignment_has_its_own_reason(self, run: JudgeRun) -> None:
        row = self.record(run, call(None, "too-long"), outcome=Failure("too-long"))
        assert (row.status, row.reason) == ("failed", "too-long")
        run.refresh_from_db()
        assert (run.done, run.failures) == (0, {"too-long": 1})

    def test_each_different_request_has_its_own_hash(self, run: JudgeRun) -> None:
        self.record(run, call(None, "deadline"), call(None, "deadline", request_hash="of another"))
        first, second = JudgeCall.objects.order_by("attempt")
        assert (first.attempt, second.attempt, second.request_hash) == (1, 2, "of another")
        assert first.request_hash not in ("", "of another")

    def test_a_kill_between_calls_and_labels_stores_neither(
        self, run: JudgeRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(rows: list[int]) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("judging.answers.results._forget_strikes", killed)
        with pytest.raises(KeyboardInterrupt):
            self.record(run, call(None, "too-long"), outcome=Failure("too-long"))
        assert not JudgeCall.objects.exists()
        assert not Assignment.objects.filter(status="failed").exists()
