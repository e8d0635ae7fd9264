"""One attempt: its deadline, what is stored of it, and the wait before the next one."""

from __future__ import annotations

import asyncio

import pytest

from judging.answers.calls import Call
from judging.answers.results import Failure
from judging.backends.base import Answer, FinalError, Request, TransientError
from judging.engine.queue import CallReply, Job, attempt, reason_for
from judging.retries import LONGEST_BACKOFF, Patience
from tests.judging.virtual import Reply, Server, in_virtual_time, now, rows


def attempted(server: Server, row: Job, seconds: float = 120.0) -> tuple[Call, CallReply]:
    return in_virtual_time(lambda: attempt(server, row, seconds, now))


def row() -> Job:
    return Job(rows(1)[0])


def server(reply: Reply, latency: float = 0.5) -> Server:
    return Server(latency, lambda moment: reply)


def test_an_answer_is_stored_with_its_duration_and_status() -> None:
    call, came = attempted(server(Answer("{}", status=200)), row())
    assert came == Answer("{}", status=200)
    assert (call.state, call.seconds, call.status) == ("answered", 0.5, 200)
    assert call.answer is came


def test_a_failure_is_stored_with_state_message_and_the_beginning_of_the_body() -> None:
    error = TransientError("status-502", "bad gateway", status=502, body="<html>")
    call, came = attempted(server(error), row())
    assert came is error
    assert (call.state, call.detail, call.status, call.body, call.answer) == (
        "status-502", "bad gateway", 502, "<html>", None,
    )  # fmt: skip


def test_text_written_before_the_answer_was_truncated_is_kept() -> None:
    cut = Answer('{"a', "length")
    call, _ = attempted(server(FinalError("truncated", "cut", answer=cut)), row())
    assert call.answer == cut


def test_a_call_ends_at_its_deadline() -> None:
    call, came = attempted(server(Answer("{}"), latency=3600), row(), seconds=30)
    assert isinstance(came, TransientError)
    assert (call.state, call.seconds) == ("deadline", 30)
    assert came.message == "no answer within 30 s"
    assert reason_for(came) == "timeout"


@pytest.mark.every_case
@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError(), RecursionError(), OSError()])
def test_exceptions_of_a_backend_become_replies(error: Exception) -> None:
    _, came = attempted(server(error), row())
    assert not isinstance(came, Answer)
    assert reason_for(came) in ("error", "timeout")


def test_a_cancelled_call_is_marked_as_cancelled() -> None:
    async def off() -> None:
        task = asyncio.create_task(attempt(server(Answer("{}"), 3600), row(), 7200, now))
        await asyncio.sleep(1)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        in_virtual_time(off)


def test_a_repair_sends_another_request_and_is_marked_on_its_call() -> None:
    one, target = row(), server(Answer("{}"))
    one.repair = Request(one.prepared.request.messages, {"again": True}, one.prepared.request.facts)
    call, _ = attempted(target, one)
    assert call.repair
    assert target.asked == [one.repair]


def test_an_assignment_whose_repair_failed_keeps_the_first_answer() -> None:
    one = row()
    assert one.failed("error").outcome == Failure("error")
    one.answer = Answer("prose")
    assert one.failed("error").outcome == Answer("prose")


def test_waits_grow_with_full_jitter_up_to_a_bound() -> None:
    patience = Patience()
    for tries in range(1, 12):
        waits = [patience.before_retry(tries) for _ in range(200)]
        highest = min(0.5 * 2 ** (tries - 1), LONGEST_BACKOFF)
        assert min(waits) >= 0
        assert 0.8 * highest < max(waits) <= highest


def test_a_busy_server_is_left_alone_for_as_long_as_it_says_up_to_2_minutes() -> None:
    patience = Patience()
    assert 7 <= patience.before_busy(1, 7.0, None) <= 7.7
    assert 120 <= patience.before_busy(1, 10.0**9, None) <= 132
    assert max(patience.before_busy(1, None, 4.0) for _ in range(200)) > 4
