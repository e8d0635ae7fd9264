"""Paid answers are kept if a bug ends a run, and an assignment that hangs is given up."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Campaign, Label, Response
from judging.backends.base import Answer, RateError, Request, TransientError
from judging.backends.scripted import Scripted
from judging.engine import Control
from judging.engine.persistence import ServerHistory, claim_requests, read_history
from judging.engine.worker import work
from judging.models import JudgeCall, JudgeRun
from judging.retries import Patience
from judging.runs import ledger, lifecycle
from tests.judging.answers.test_logprobs import logprobs_of
from tests.judging.cast import HASTY, judge, run_scripted, yes

MIN_FAILURES = 5

UNITS, ITEMS = 12, 4


def test_a_bug_in_reading_an_answer_loses_no_call(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr("judging.answers.results.score_answer", broken)
    with pytest.raises(ZeroDivisionError):
        run_scripted(campaign, judge())
    monkeypatch.undo()
    assert JudgeRun.objects.get().calls == JudgeCall.objects.count() == ITEMS
    run, _, backend = run_scripted(campaign, judge())
    assert (run.done, backend.asked) == (ITEMS, [])


def test_a_bug_in_creating_a_request_loses_no_call(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = iter([claim_requests, claim_requests])

    def breaks_later(*args: Any, **kwargs: Any) -> Any:
        if (claim := next(claims, None)) is None:
            raise ZeroDivisionError("seven")
        return claim(*args, **kwargs)

    monkeypatch.setattr("judging.engine.database.claim_requests", breaks_later)
    monkeypatch.setattr("judging.engine.loop.MIN_CLAIM", 2)
    backend = Scripted(yes, seconds=0.01)
    rater = judge(granularity="unit", params={"concurrency": 2})
    with pytest.raises(ZeroDivisionError):
        run_scripted(campaign, rater, backend=backend)
    assert JudgeRun.objects.get().calls == JudgeCall.objects.count() == len(backend.asked) > 0


@pytest.mark.first_case
@pytest.mark.parametrize(("times", "asked"), [(1, HASTY.attempts - 1), (HASTY.attempts + 2, 1)])
def test_a_hanging_assignment_is_given_up_across_short_pumps(
    campaign: Campaign, times: int, asked: int
) -> None:
    rater = judge(granularity="unit")
    run = lifecycle.start(campaign, rater)
    row = ledger.assignments_of(campaign, rater).filter(scope="q1:1")[0]
    for attempt in range(1, times + 1):
        JudgeCall.objects.create(
            run=run, assignment=row, attempt=attempt, state="deadline", request_hash="",
            sent_at=timezone.now(), seconds=1.0,
        )  # fmt: skip
    Assignment.objects.filter(pk=row.pk).update(attempts=times)
    assert row.item.report is not None
    text = row.item.report.text

    def script(request: Request) -> Any:
        late = request.facts.units[0].name == "q1:1" and text in request.facts.texts
        return TransientError("deadline", "no answer") if late else yes(request)

    lease = lifecycle.lease_run(run)
    assert lease is not None
    work(run, lease, None, Scripted(script), HASTY)
    row.refresh_from_db()
    late = row.judge_calls.filter(state="deadline").count()
    assert (row.status, row.reason, late) == ("failed", "timeout", times + asked)


def pumps_until_the_end(run: JudgeRun, script: Any, patience: Patience) -> int:
    """Run short pumps in sequence, as workers do; return their number."""
    for number in range(1, 100):
        lease = lifecycle.lease_run(run)
        assert lease is not None
        work(run, lease, Control(seconds=0.05), Scripted(script), patience)
        run.refresh_from_db()
        if run.state != "running":
            return number
    raise AssertionError("the run does not end")


def test_a_server_refusing_everything_stops_a_run_of_short_pumps_and_fails_no_assignment(
    campaign: Campaign,
) -> None:
    rater = judge(granularity="unit")
    run = lifecycle.start(campaign, rater, queued=True)
    busy = RateError("come later", wait=0.01)
    patience = replace(HASTY, rate_patience=3.0, longest_wait=0.02)
    assert pumps_until_the_end(run, lambda request: busy, patience) > 1  # however slow one is
    assert run.state == "stopped"
    assert re.fullmatch(r"endpoint busy since 20.* UTC: come later", run.error)
    assert ledger.count_by_status(campaign, rater) == {"open": UNITS}


def test_a_run_still_shows_its_server_as_busy_between_two_pumps(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.engine.rate_limits.BUSY_SHOWN_AFTER", 0.02)
    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.01)
    run = lifecycle.start(campaign, judge(granularity="unit"), queued=True)
    shown: list[str] = []
    renew = lifecycle.renew

    def watched(run: JudgeRun, *args: Any) -> lifecycle.Orders | None:
        shown.extend(JudgeRun.objects.values_list("error", flat=True))
        return renew(run, *args)

    monkeypatch.setattr("judging.runs.lifecycle.renew", watched)
    patience = replace(HASTY, rate_patience=3.0, longest_wait=0.02)
    busy = RateError("come later", wait=0.01)
    pumps_until_the_end(run, lambda request: busy, patience)
    first = next(number for number, words in enumerate(shown) if words)
    assert all("endpoint busy since" in words for words in shown[first:])


def test_an_assignment_refused_alone_is_closed_across_short_pumps(
    campaign: Campaign,
) -> None:
    def script(request: Request) -> Any:
        busy = request.facts.units[0].name == "q1:1"
        return RateError("later", wait=0.01) if busy else yes(request)

    rater = judge(granularity="unit")
    run = lifecycle.start(campaign, rater, queued=True)
    pumps_until_the_end(run, script, replace(HASTY, rate_patience=0.5))
    assert (run.state, run.done, run.failures) == ("done", UNITS - 2, {"error": 2})


def test_cancelled_calls_do_not_count_as_an_outage(campaign: Campaign) -> None:
    rater = judge(granularity="unit")
    run = lifecycle.start(campaign, rater)
    long_ago = timezone.now() - timedelta(hours=1)
    for state in ("abandoned", "rate", "reset"):
        for row in ledger.assignments_of(campaign, rater)[: MIN_FAILURES - (state == "rate")]:
            JudgeCall.objects.create(
                run=run, assignment=row, attempt=1, state=state, request_hash="",
                sent_at=long_ago if state == "abandoned" else timezone.now(), seconds=1.0,
            )  # fmt: skip
    found = read_history(run)
    assert (found.proven, found.busy_for) == (False, 0.0)
    assert 0 < found.down_for < 60


def test_only_calls_sent_after_the_last_answer_count_towards_an_outage(campaign: Campaign) -> None:
    rater = judge(granularity="unit")
    run = lifecycle.start(campaign, rater)
    answered = timezone.now() - timedelta(minutes=5)
    first, *others = ledger.assignments_of(campaign, rater)[: MIN_FAILURES + 1]

    def called(row: Assignment, state: str, sent_at: datetime) -> JudgeCall:
        return JudgeCall.objects.create(
            run=run, assignment=row, attempt=1, state=state, request_hash="", sent_at=sent_at,
            seconds=1.0,
        )  # fmt: skip

    called(first, "answered", answered)
    calls = [called(row, "reset", answered) for row in others]
    # Sent together with the answered ones, and stored later.
    assert read_history(run) == ServerHistory(True, 0.0, 0.0)
    JudgeCall.objects.filter(pk__in=[each.pk for each in calls]).update(
        sent_at=answered + timedelta(seconds=1)
    )
    assert 290 < read_history(run).down_for < 299.9
    JudgeCall.objects.filter(pk=calls[0].pk).update(sent_at=answered)
    assert read_history(run) == ServerHistory(True, 0.0, 0.0), "few failures are no outage"


def test_an_answer_stored_without_labels_keeps_its_log_probabilities(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    rater = judge()
    run_scripted(
        campaign, rater, lambda request: Answer(yes(request), logprobs=logprobs_of(yes(request)))
    )
    logprobs = JudgeCall.objects.values_list("logprobs", flat=True)[0]
    Response.objects.all().delete()
    Assignment.objects.update(status="leased", lease=uuid.uuid4())

    def details(prepared: Any, answer: Answer, by_unit: bool) -> dict[Any, Any]:
        calls.append(answer.logprobs)
        return {}

    monkeypatch.setattr("judging.answers.results.score_answer", details)
    run_scripted(campaign, rater)
    assert logprobs is not None
    assert calls == list(JudgeCall.objects.values_list("logprobs", flat=True)[:ITEMS])
    assert Label.objects.count() == UNITS
