"""Complete runs: one label per unit, failures missing with a reason, nothing paid for twice."""

from __future__ import annotations

import json
import re
import threading
import uuid
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Label, Response
from judging.backends.base import (
    Answer,
    FatalError,
    FinalError,
    RateError,
    RejectedError,
    Request,
    TransientError,
)
from judging.backends.scripted import Scripted
from judging.engine import Control, Ending
from judging.engine.worker import work
from judging.models import JudgeCall, JudgeRun
from judging.runs import ledger, lifecycle
from tests.judging.cast import HASTY, judge, run_scripted, yes

UNITS, ITEMS = 12, 4


def failed_reasons(campaign: Campaign) -> dict[str, int]:
    return ledger.count_missing_reasons(campaign, judge())


def first_of(request: Request) -> str:
    return request.facts.units[0].name


def test_every_unit_gets_one_label(campaign: Campaign) -> None:
    run, ending, backend = run_scripted(campaign, judge())
    assert ending == Ending("finished")
    assert (run.state, run.done, run.failed, run.calls) == ("done", ITEMS, 0, ITEMS)
    assert len(backend.asked) == ITEMS
    labels = Label.objects.filter(variable="answerable", response__door="judge")
    assert labels.count() == labels.values("unit").distinct().count() == UNITS


def test_unit_by_unit_makes_a_request_for_each_unit(campaign: Campaign) -> None:
    run, _, backend = run_scripted(campaign, judge(granularity="unit"))
    assert run.done == len(backend.asked) == UNITS
    assert all(len(request.facts.units) == 1 for request in backend.asked)
    assert Label.objects.values("unit").distinct().count() == UNITS


def test_requests_are_sent_in_campaign_order(campaign: Campaign) -> None:
    _, _, backend = run_scripted(campaign, judge(granularity="unit", params={"concurrency": 1}))
    units = campaign.items.order_by("position").values_list("units__name", flat=True)
    assert [first_of(r) for r in backend.asked] == list(
        units.order_by("position", "units__position")
    )


def test_the_judges_concurrency_is_used_fully(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 3})
    _, _, backend = run_scripted(campaign, rater, backend=Scripted(yes, seconds=0.02))
    assert backend.most == 3


def test_a_second_run_asks_for_nothing(campaign: Campaign) -> None:
    run_scripted(campaign, judge())
    run, ending, backend = run_scripted(campaign, judge())
    assert (ending.how, run.calls, backend.asked) == ("finished", 0, [])
    assert Response.objects.count() == ITEMS


def test_a_limit_is_respected_and_the_next_run_asks_the_rest(campaign: Campaign) -> None:
    rater = judge(granularity="unit")
    first, _, begun = run_scripted(campaign, rater, limit=5)
    assert (first.state, first.done, len(begun.asked)) == ("done", 5, 5)
    second, _, rest = run_scripted(campaign, rater)
    assert second.done == len(rest.asked) == UNITS - 5
    asked = [(r.facts.texts, first_of(r)) for r in (*begun.asked, *rest.asked)]
    assert len(set(asked)) == UNITS


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Yes, it does.", "unreadable"),
        ('{"evidence": [], "answerable": "perhaps"}', "unreadable"),
        ('{"evidence": [], "answerable": "yes"}', "unreadable"),
        ('{"evidence": [], "answerable": true}', "unreadable"),
        ('{"evidence": [], "answerable": "no", "why": "so"}', "unreadable"),
        ('{"answerable": "no"}', "unreadable"),
        ("", "unreadable"),
        ("[" * 100_000, "unreadable"),
        (FinalError("truncated", "cut", answer=Answer('{"evid', "length")), "truncated"),
        (FinalError("refused", "no", answer=Answer("I cannot")), "refused"),
        (FinalError("filtered", "no"), "filtered"),
        (FinalError("too-long", "4096 tokens"), "too-long"),
        (TransientError("deadline", "no answer"), "timeout"),
        (TransientError("status-500", "no answer"), "error"),
        (RejectedError("status-400", "no"), "error"),
        (RateError("later", wait=None), "error"),
        (RuntimeError("a mistake of the backend"), "error"),
    ],
)
def test_a_failure_is_missing_with_its_reason(campaign: Campaign, line: Any, reason: str) -> None:
    def script(request: Request) -> Any:
        return line if first_of(request) == "q1:1" else yes(request)

    run, ending, _ = run_scripted(campaign, judge(granularity="unit"), script)
    assert ending.how == "finished"
    assert (run.done, run.failures) == (UNITS - 2, {reason: 2})
    failed = Assignment.objects.filter(status="failed")
    assert set(failed.values_list("scope", "reason")) == {("q1:1", reason)}
    assert not Label.objects.filter(unit__name="q1:1").exists()


def test_a_completion_is_stored_verbatim_even_if_unreadable(campaign: Campaign) -> None:
    run_scripted(campaign, judge(granularity="unit"), lambda request: " Ja \n 🌉", limit=1)
    call = JudgeCall.objects.get()
    assert (call.state, call.completion) == ("answered", " Ja \n 🌉")


def test_unstorable_characters_of_a_completion_are_escaped(campaign: Campaign) -> None:
    run_scripted(campaign, judge(granularity="unit"), lambda request: "a\0b\ud800", limit=1)
    assert JudgeCall.objects.get().completion == "a\\u0000b\\ud800"


def test_failed_assignments_are_not_asked_again(campaign: Campaign) -> None:
    run_scripted(campaign, judge(), lambda request: "prose")
    run, _, backend = run_scripted(campaign, judge())
    assert (run.done, backend.asked) == (0, [])
    assert failed_reasons(campaign) == {"unreadable": ITEMS}


def test_transport_failures_are_retried_and_every_attempt_is_stored(campaign: Campaign) -> None:
    lines = iter([TransientError("reset", "gone"), RateError("later", wait=0.001), None])

    def script(request: Request) -> Any:
        return next(lines, None) or yes(request)

    run, _, _ = run_scripted(campaign, judge(), script, limit=1)
    assert (run.done, run.calls) == (1, 3)
    calls = JudgeCall.objects.order_by("attempt").values_list("attempt", "state")
    assert list(calls) == [(1, "reset"), (2, "rate"), (3, "answered")]


def test_patience_with_a_busy_server_uses_up_no_attempts(campaign: Campaign) -> None:
    lines = iter([RateError("later", wait=0.0)] * (HASTY.attempts + 3))
    run, _, _ = run_scripted(
        campaign, judge(), lambda request: next(lines, None) or yes(request), limit=1
    )
    assert (run.done, run.failed) == (1, 0)


def test_a_refused_key_stops_the_run_and_leaves_the_rest_open(campaign: Campaign) -> None:
    fatal = FatalError("status-401", "the server answered 401: wrong key")
    rater = judge(granularity="unit", params={"concurrency": 1})
    run, ending, backend = run_scripted(campaign, rater, lambda request: fatal)
    assert ending == Ending("fatal", fatal.message)
    assert (run.state, run.error, len(backend.asked)) == ("stopped", fatal.message, 2)
    assert ledger.count_by_status(campaign, rater) == {"open": UNITS}


def test_an_unreachable_server_leaves_every_assignment_open(campaign: Campaign) -> None:
    gone = TransientError("refused-connection", "nobody listens", unreachable=True)
    run, ending, backend = run_scripted(campaign, judge(), lambda request: gone)
    assert (ending.how, run.state) == ("fatal", "stopped")
    assert re.fullmatch(r"endpoint down since 20.* UTC: nobody listens", ending.error)
    assert ledger.count_by_status(campaign, judge()) == {"open": ITEMS}
    assert JudgeCall.objects.count() == run.calls == len(backend.asked)


def test_a_failing_server_closes_no_assignments(campaign: Campaign) -> None:
    down = TransientError("status-500", "the server answered 500")
    rater = judge(granularity="unit")
    _, ending, _ = run_scripted(campaign, rater, lambda request: down)
    assert ending.how == "fatal"
    assert ledger.count_by_status(campaign, rater) == {"open": UNITS}


def test_a_stopped_run_continues_where_it_was(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 2})
    control = Control()

    def script(request: Request) -> str:
        if len(backend.asked) == 4:
            threading.Thread(target=control.stop).start()
        return yes(request)

    backend = Scripted(script, seconds=0.02)
    run, ending, _ = run_scripted(campaign, rater, control=control, backend=backend)
    assert (ending.how, run.state) == ("stopped", "interrupted")
    assert 4 <= run.done == len(backend.asked) < UNITS
    assert ledger.count_by_status(campaign, rater) == {"done": run.done, "open": UNITS - run.done}
    rest, _, _ = run_scripted(campaign, rater)
    assert rest.done == rest.calls == UNITS - run.done


def test_a_run_whose_time_is_over_is_left_to_the_next_worker(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    control, backend = Control(seconds=0.1), Scripted(yes, seconds=0.04)
    run, ending, _ = run_scripted(campaign, rater, control=control, backend=backend)
    assert ending.how == "time"
    assert (run.state, run.lease) == ("running", None)
    assert run.done == len(backend.asked)


def test_answers_of_a_lost_lease_change_nothing(campaign: Campaign) -> None:
    rater = judge(granularity="unit")

    def script(request: Request) -> str:
        if request.facts.units[0].name == "q1:0":
            stolen.append(uuid.uuid4())
        return yes(request)

    stolen: list[uuid.UUID] = []
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    JudgeRun.objects.filter(pk=run.pk).update(lease=uuid.uuid4())
    ending = work(run, lease, None, Scripted(script), HASTY)
    assert ending.how == "lost"
    assert not Label.objects.exists()
    run.refresh_from_db()
    assert (run.state, run.done) == ("running", 0)


def test_an_answer_stored_without_labels_is_not_paid_again(campaign: Campaign) -> None:
    rater = judge()
    run_scripted(campaign, rater)
    Response.objects.all().delete()
    Assignment.objects.update(status="leased", lease=uuid.uuid4())
    run, _, backend = run_scripted(campaign, rater)
    assert (run.done, run.calls, backend.asked) == (ITEMS, 0, [])
    assert Label.objects.count() == UNITS


def test_a_stored_answer_to_a_different_request_is_not_reused(campaign: Campaign) -> None:
    rater = judge()
    run_scripted(campaign, rater)
    Response.objects.all().delete()
    Assignment.objects.update(status="open")
    JudgeCall.objects.update(request_hash="0" * 64)
    run, _, _ = run_scripted(campaign, rater)
    assert (run.done, run.calls) == (ITEMS, ITEMS)


def test_tokens_are_counted_despite_malformed_usage(campaign: Campaign) -> None:
    usages: list[dict[str, Any]] = [
        {"prompt_tokens": 7, "completion_tokens": 3},
        {"prompt_tokens": "many", "completion_tokens": None},
        {"prompt_tokens": -1, "completion_tokens": 10**30},
        {},
    ]
    lines = iter(usages)
    run, _, _ = run_scripted(
        campaign, judge(), lambda request: Answer(yes(request), usage=next(lines))
    )
    assert (run.prompt_tokens, run.completion_tokens) == (7, 3)


def test_a_bug_ends_the_run_with_its_name(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr("judging.answers.results.submit_many", broken)
    with pytest.raises(ZeroDivisionError):
        run_scripted(campaign, judge())
    run = JudgeRun.objects.get()
    assert (run.state, run.error) == ("stopped", "ZeroDivisionError: seven")
    assert ledger.count_by_status(campaign, judge()) == {"open": ITEMS}


def test_evidence_is_located_in_code_points(campaign: Campaign) -> None:
    run_scripted(campaign, judge(granularity="unit"), limit=1)
    span = Label.objects.get().spans.get()
    report = campaign.items.order_by("position")[0].report
    assert report is not None
    assert report.text[span.start : span.end] == span.quote == report.text[:10]


def test_an_unfound_quote_is_kept_without_a_location(campaign: Campaign) -> None:
    line = json.dumps({"evidence": [{"quote": "Elephants dance", "start": 3}], "answerable": "yes"})
    run, _, _ = run_scripted(campaign, judge(granularity="unit"), lambda request: line, limit=1)
    span = Label.objects.get().spans.get()
    assert (run.done, span.start, span.quote) == (1, None, "Elephants dance")
