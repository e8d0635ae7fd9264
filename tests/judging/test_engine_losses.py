"""What was paid is kept where a mistake of ours ends a run, and a row that hangs does not go on."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Campaign, Label, Response
from judging.backends.base import Answer, Request, TransientError
from judging.backends.scripted import Scripted
from judging.models import JudgeCall, JudgeRun
from judging.pump.claiming import claimed
from judging.rows import ledger, runs
from judging.running.work import work
from tests.judging.cast import HASTY, judge, run_scripted, yes

UNITS, ITEMS = 12, 4


def test_a_mistake_in_reading_an_answer_loses_no_call(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr("judging.answers.results.details_of", broken)
    with pytest.raises(ZeroDivisionError):
        run_scripted(campaign, judge())
    monkeypatch.undo()
    assert JudgeRun.objects.get().calls == JudgeCall.objects.count() == ITEMS
    run, _, backend = run_scripted(campaign, judge())
    assert (run.done, backend.asked) == (ITEMS, [])


def test_a_mistake_in_making_a_request_loses_no_call(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = iter([claimed, claimed])

    def breaks_later(*args: Any, **kwargs: Any) -> Any:
        if (claim := next(claims, None)) is None:
            raise ZeroDivisionError("seven")
        return claim(*args, **kwargs)

    monkeypatch.setattr("judging.engine.claimed", breaks_later)
    monkeypatch.setattr("judging.engine.LEAST_CLAIM", 2)
    backend = Scripted(yes, seconds=0.01)
    rater = judge(granularity="unit", params={"concurrency": 2})
    with pytest.raises(ZeroDivisionError):
        run_scripted(campaign, rater, backend=backend)
    assert JudgeRun.objects.get().calls == JudgeCall.objects.count() == len(backend.asked) > 0


@pytest.mark.parametrize(("times", "asked"), [(1, HASTY.attempts - 1), (HASTY.attempts + 2, 1)])
def test_a_row_that_hangs_is_given_up_though_each_pump_ends_before(
    campaign: Campaign, times: int, asked: int
) -> None:
    rater = judge(granularity="unit")
    run = runs.start(campaign, rater)
    row = ledger.rows_of(campaign, rater).filter(scope="q1:1")[0]
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

    lease = runs.take(run)
    assert lease is not None
    work(run, lease, None, Scripted(script), HASTY)
    row.refresh_from_db()
    assert (row.status, row.reason, row.attempts) == ("failed", "timeout", times + asked)


def test_an_answer_that_was_stored_alone_keeps_its_probabilities(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    rater, logprobs = judge(), [{"token": "yes", "logprob": -0.1}]
    run_scripted(campaign, rater, lambda request: Answer(yes(request), logprobs=logprobs))
    Response.objects.all().delete()
    Assignment.objects.update(status="leased", lease=uuid.uuid4())

    def details(prepared: Any, answer: Answer, by_unit: bool) -> dict[Any, Any]:
        told.append(answer.logprobs)
        return {}

    monkeypatch.setattr("judging.answers.results.details_of", details)
    run_scripted(campaign, rater)
    assert told == [logprobs] * ITEMS
    assert Label.objects.count() == UNITS
