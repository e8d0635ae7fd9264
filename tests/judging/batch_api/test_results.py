"""Loading a file of results: the run of its lines, new results, and how the run continues."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign, Label
from judging.batch_api import requests, results
from judging.batch_api.results import LoadedResults, load_results
from judging.manifest import is_sealed
from judging.models import Judge, JudgeCall, JudgeRun
from judging.runs import lifecycle, planning
from tandem.files.rows import InputError
from tests.judging.cast import judge

Line = dict[str, Any]
NO = '{"evidence": [], "answerable": "no"}'
LONG = "this model's maximum context length is 8 tokens"


def asking(name: str) -> Judge:
    return judge(name, "openai", model="m", base_url="http://127.0.0.1:9/v1", granularity="unit")


@dataclass
class Out:
    """A run whose twelve requests are out."""

    campaign: Campaign
    judge: Judge
    folder: Path
    asked: list[str]

    @property
    def run(self) -> JudgeRun:
        return JudgeRun.objects.filter(judge=self.judge).earliest("id")

    def answer(self, number: int, text: str = NO, status: int = 200, **body: Any) -> Line:
        held = body or {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        response = {"status_code": status, "body": held}
        return {"custom_id": self.asked[number], "response": response, "error": None}

    def error(self, number: int) -> Line:
        details = {"code": "batch_expired", "message": "this batch expired"}
        return {"custom_id": self.asked[number], "response": None, "error": details}

    def file(self, lines: Sequence[Line]) -> Path:
        path = self.folder / "results.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return path

    def take(self, *lines: Line, tick: Any = lambda done: None) -> LoadedResults:
        return load_results(self.campaign, self.judge, self.file(lines), tick)

    def rows(self) -> list[Assignment]:
        found = {str(row.uid): row for row in Assignment.objects.filter(rater=self.judge.rater)}
        return [found[name[-36:]] for name in self.asked]


@pytest.fixture
def out(campaign: Campaign, tmp_path: Path) -> Out:
    rater = asking("offline")
    path = tmp_path / "requests.jsonl"
    assert requests.write(campaign, rater, path).requests == 12
    asked = [json.loads(line)["custom_id"] for line in path.read_text("utf-8").splitlines()]
    return Out(campaign, rater, tmp_path, asked)


def counts(taken: LoadedResults) -> dict[str, Any]:
    return {name: value for name, value in vars(taken).items() if name != "run"}


NOTHING = {"done": 0, "failures": {}, "errors": {}, "before": 0, "late": 0, "missing": 0}


def test_a_run_waits_for_missing_results_and_ends_with_the_last(out: Out) -> None:
    first = out.take(*map(out.answer, range(5)))
    assert counts(first) == NOTHING | {"done": 5, "missing": 7}
    assert first.run == out.run
    waiting = out.run
    assert (waiting.state, waiting.queued, waiting.lease, waiting.ended_at) == (
        "queued", False, None, None,
    )  # fmt: skip
    assert [row.status for row in out.rows()] == ["done"] * 5 + ["open"] * 7
    rest = out.take(*map(out.answer, range(4, 12)))
    assert counts(rest) == NOTHING | {"done": 7, "before": 1}
    ended = out.run
    assert (ended.state, ended.lease, ended.done, ended.calls) == ("done", None, 12, 12)
    assert ended.ended_at is not None
    assert is_sealed(ended.manifest)
    assert Label.objects.filter(value="no").count() == 12
    assert counts(out.take(*map(out.answer, range(3)))) == NOTHING | {"before": 3}
    assert JudgeCall.objects.count() == 12


def test_each_line_is_stored_as_a_call_with_its_facts(out: Out) -> None:
    taken = out.take(
        out.answer(0), out.answer(1, "Perhaps."), out.error(2),
        out.answer(3, status=400, error={"message": LONG}),
    )  # fmt: skip
    assert counts(taken) == NOTHING | {
        "done": 1, "failures": {"unreadable": 1, "too-long": 1}, "errors": {"batch-error": 1},
        "missing": 8,
    }  # fmt: skip
    calls = JudgeCall.objects.order_by("assignment_id").values_list(
        "state", "http_status", "completion", "detail", "seconds", "attempt"
    )
    assert list(calls) == [
        ("answered", 200, NO, "", 0.0, 1),
        ("answered", 200, "Perhaps.", "", 0.0, 1),
        ("batch-error", None, None, "this batch expired", 0.0, 1),
        ("too-long", 400, None, f"the server answered 400: {LONG}", 0.0, 1),
    ]
    assert json.loads(JudgeCall.objects.get(state="batch-error").body) == out.error(2)
    assert [(row.status, row.reason, row.lease) for row in out.rows()[:5]] == [
        ("done", "", None), ("failed", "unreadable", None), ("open", "", None),
        ("failed", "too-long", None), ("open", "", None),
    ]  # fmt: skip


def test_an_error_without_a_message_is_named_by_its_code(out: Out) -> None:
    out.take(out.error(0) | {"error": {"code": "batch_expired"}})
    assert JudgeCall.objects.get().detail == "batch_expired"


def test_an_error_counts_as_returned_until_an_answer_replaces_it(out: Out) -> None:
    first = out.take(*map(out.answer, range(11)), out.error(11))
    assert counts(first) == NOTHING | {"done": 11, "errors": {"batch-error": 1}}
    assert out.run.state == "done"
    again = out.take(out.error(11))
    assert counts(again) == NOTHING | {"before": 1}
    assert (out.run.state, JudgeCall.objects.count()) == ("done", 12)
    assert counts(out.take(out.answer(11))) == NOTHING | {"done": 1}
    assert (out.run.state, out.run.done, JudgeCall.objects.count()) == ("done", 12, 13)
    assert out.run.ended_at is not None


def next_batch(out: Out) -> Out:
    """Write the open requests to a new file."""
    path = out.folder / "next.jsonl"
    path.unlink(missing_ok=True)
    requests.write(out.campaign, out.judge, path)
    asked = [json.loads(line)["custom_id"] for line in path.read_text("utf-8").splitlines()]
    return replace(out, asked=asked)


def failing(out: Out, number: int, status: int = 500) -> Line:
    return out.answer(number, status=status, error={"message": f"no {number}"})


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_refused_line_is_its_assignments_failure_if_others_are_answered(
    out: Out, status: int
) -> None:
    taken = out.take(*map(out.answer, range(11)), failing(out, 11, status))
    assert counts(taken) == NOTHING | {"done": 11, "failures": {"error": 1}}
    assert (out.rows()[11].status, out.rows()[11].reason) == ("failed", "error")
    assert JudgeCall.objects.get(state=f"status-{status}").detail.endswith("no 11")


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500, 503])
def test_a_service_that_answers_none_fails_no_assignment(out: Out, status: int) -> None:
    for _ in range(4):
        out.take(*(failing(out, n, status) for n in range(12)))
        assert {row.status for row in out.rows()} == {"open"}
        out = next_batch(out)


@pytest.mark.parametrize("status", [401, 402, 429])
def test_a_line_without_credit_or_room_stays_open(out: Out, status: int) -> None:
    for _ in range(4):
        rest = [out.error(n) for n in range(2, len(out.asked))]
        out.take(failing(out, 0, status), out.answer(1), *rest)
        assert out.rows()[0].status == "open"
        out = next_batch(out)


def test_lines_of_expired_batches_stay_open(out: Out) -> None:
    for _ in range(4):
        out.take(out.error(0), out.answer(1), *map(out.error, range(2, len(out.asked))))
        assert out.rows()[0].status == "open"
        out = next_batch(out)


def test_a_line_that_fails_in_three_files_while_others_are_answered_is_a_failure(out: Out) -> None:
    for last in (False, False, True):
        rest = [out.error(n) for n in range(2, len(out.asked))]
        out.take(failing(out, 0), out.answer(1), *rest)
        assert (out.rows()[0].status, out.rows()[0].reason) == (
            ("failed", "error") if last else ("open", "")
        )
        out = out if last else next_batch(out)


def test_a_line_that_fails_alone_is_a_failure_once_no_outage_can_explain_it(out: Out) -> None:
    out.take(*map(out.answer, range(11)), failing(out, 11))
    for last in (False, False, True):
        out = next_batch(out)
        if last:
            earlier = JudgeCall.objects.filter(state="status-500")
            earlier.update(sent_at=timezone.now() - timedelta(minutes=16))
        taken = out.take(failing(out, 0))
        assert dict(taken.failures) == ({"error": 1} if last else {})


def test_a_repeated_error_line_changes_nothing_while_the_run_is_out(out: Out) -> None:
    out.take(out.error(0))
    assert counts(out.take(out.error(0), out.answer(1))) == NOTHING | {
        "before": 1, "done": 1, "missing": 10,
    }  # fmt: skip
    assert JudgeCall.objects.count() == 2
    assert out.rows()[0].attempts == 1


def test_answers_to_assignments_answered_meanwhile_count_as_late_and_errors_do_not(
    out: Out,
) -> None:
    for row in out.rows()[:2]:
        Assignment.objects.filter(pk=row.pk).update(status="done")
    taken = out.take(out.answer(0), out.error(1), out.answer(2))
    assert counts(taken) == NOTHING | {
        "done": 1, "late": 1, "errors": {"batch-error": 1}, "missing": 9,
    }  # fmt: skip
    assert JudgeCall.objects.count() == 3
    assert Label.objects.count() == 1


def test_results_are_stored_in_groups_in_ledger_order(
    out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "GROUP", 2)
    monkeypatch.setattr(results, "CHUNK", 3)
    ticks: list[int] = []
    out.take(*(out.answer(n) for n in (6, 0, 4, 2, 1)), tick=ticks.append)
    assert ticks == [2, 4, 5]
    stored = JudgeCall.objects.order_by("id").values_list("assignment_id", flat=True)
    rows = out.rows()
    assert list(stored) == [rows[n].pk for n in (0, 1, 2, 4, 6)]
    strange = out.answer(7) | {"custom_id": out.asked[7][:-36] + "0" * 32}
    with pytest.raises(
        InputError, match=r"line 4: the custom_id belongs to no assignment of this judge"
    ):
        out.take(*map(out.answer, range(8, 11)), strange)
    assert JudgeCall.objects.count() == 5


def test_a_file_for_another_judge_campaign_or_batch_is_refused(
    out: Out,
) -> None:
    other = asking("other")
    wrong = "its requests were not written for judge"
    with pytest.raises(InputError, match=wrong):
        load_results(out.campaign, other, out.file([out.answer(0)]))
    elsewhere = Campaign.objects.get(pk=out.campaign.pk)
    elsewhere.pk, elsewhere.name = None, "elsewhere"
    elsewhere.save()
    with pytest.raises(InputError, match=wrong):
        load_results(elsewhere, out.judge, out.file([out.answer(0)]))
    JudgeRun.objects.filter(pk=out.run.pk).update(manifest={})
    with pytest.raises(InputError, match=wrong):
        out.take(out.answer(0))
    assert not JudgeCall.objects.exists()


def test_a_line_for_another_judges_assignment_refuses_the_file(out: Out) -> None:
    other = asking("other")
    path = out.folder / "others.jsonl"
    requests.write(out.campaign, other, path)
    theirs = json.loads(path.read_text("utf-8").splitlines()[0])["custom_id"][-36:]
    line = out.answer(1) | {"custom_id": out.asked[1][:-36] + theirs}
    with pytest.raises(
        InputError, match="line 2: the custom_id belongs to no assignment of this judge"
    ):
        out.take(out.answer(0), line)
    assert not JudgeCall.objects.exists()


def test_an_abandoned_run_is_continued_unless_another_run_is_at_work(out: Out) -> None:
    lifecycle.ask_to_stop(out.run)
    JudgeRun.objects.filter(pk=out.run.pk).update(error="away", wish="stop")
    assert out.run.state == "interrupted"
    second = lifecycle.start(out.campaign, out.judge)
    with pytest.raises(lifecycle.LeasedRunError, match="another run of judge offline is at work"):
        out.take(out.answer(0))
    assert not JudgeCall.objects.exists()
    assert out.run.state == "interrupted"
    JudgeRun.objects.filter(pk=second.pk).update(state="done")
    assert counts(out.take(out.answer(0))) == NOTHING | {"done": 1, "missing": 11}
    assert (out.run.state, out.run.wish, out.run.error, out.run.ended_at) == (
        "queued", "", "", None,
    )  # fmt: skip
    second.refresh_from_db()
    assert second.state == "done"


def test_a_run_leased_by_another_process_is_left_alone(out: Out) -> None:
    assert lifecycle.lease_run(out.run) is not None
    with pytest.raises(lifecycle.LeasedRunError, match="is at work"):
        out.take(out.answer(0))
    assert not JudgeCall.objects.exists()
    assert out.run.state == "running"


def test_an_ended_run_is_changed_only_by_new_results(out: Out) -> None:
    def ended() -> dict[str, Any]:
        return dict(JudgeRun.objects.filter(pk=out.run.pk).values()[0])

    lifecycle.ask_to_stop(out.run)
    assert counts(out.take(out.error(0))) == NOTHING | {"errors": {"batch-error": 1}, "missing": 11}
    lifecycle.ask_to_stop(out.run)
    before = ended()
    lifecycle.start(out.campaign, out.judge)
    assert counts(out.take(out.error(0))) == NOTHING | {"before": 1, "missing": 11}
    assert ended() == before
    for lines in ([out.answer(0)], [out.error(0), out.error(1)]):
        with pytest.raises(lifecycle.LeasedRunError):
            out.take(*lines)
    JudgeRun.objects.exclude(pk=out.run.pk).update(state="done")
    assert counts(out.take(*map(out.answer, range(12)))) == NOTHING | {"done": 12}
    before = ended()
    assert counts(out.take(*map(out.answer, range(12)))) == NOTHING | {"before": 12}
    assert counts(out.take(out.answer(0), out.error(1))) == NOTHING | {"before": 2}
    assert ended() == before


@pytest.mark.first_case
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_failure_while_loading_keeps_stored_results_and_leaves_the_run_out(
    out: Out, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    monkeypatch.setattr(results, "GROUP", 2)
    stored: list[int] = []

    def broken(done: int) -> None:
        stored.append(done)
        JudgeRun.objects.filter(pk=out.run.pk).update(queued=True)
        if done == 4:
            raise error

    with pytest.raises(error):
        out.take(*map(out.answer, range(12)), tick=broken)
    assert stored == [2, 4]
    assert (out.run.state, out.run.queued, out.run.lease, out.run.done) == (
        "queued", False, None, 4,
    )  # fmt: skip
    assert counts(out.take(*map(out.answer, range(12)))) == NOTHING | {"done": 8, "before": 4}


def test_a_process_that_loses_the_lease_stops_before_the_next_group(
    out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "GROUP", 2)

    def taken_over(done: int) -> None:
        JudgeRun.objects.filter(pk=out.run.pk).update(lease="0" * 32)

    with pytest.raises(LostLeaseError):
        out.take(*map(out.answer, range(12)), tick=taken_over)
    assert JudgeCall.objects.count() == 2
    assert (out.run.lease is not None, out.run.state) == (True, "running")


def test_loading_changes_no_other_run(out: Out) -> None:
    other = lifecycle.start(out.campaign, asking("other"))
    JudgeRun.objects.filter(pk=other.pk).update(state="running", queued=True)
    out.take(out.answer(0))
    other.refresh_from_db()
    assert (other.state, other.queued, out.run.state) == ("running", True, "queued")


def test_calls_of_other_runs_and_reused_answers_do_not_count_as_results(out: Out) -> None:
    out.take(out.answer(0))
    other = JudgeRun.objects.create(
        campaign=out.campaign, judge=out.judge, state="done", manifest={}
    )
    own = JudgeCall.objects.get()
    first, second, third, *_ = out.rows()
    for run, row, source in ((other, second, None), (out.run, third, own), (out.run, first, None)):
        JudgeCall.objects.create(
            run=run, assignment=row, attempt=7, request_hash="h", state="answered",
            sent_at=own.sent_at, seconds=0.0, reused_from=source,
        )  # fmt: skip
    assert counts(out.take(out.answer(5))) == NOTHING | {"done": 1, "missing": 10}


def test_assignments_with_error_lines_are_open_again_after_their_group(
    out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "GROUP", 2)
    other = asking("other")
    planning.plan(out.campaign, other)
    theirs = Assignment.objects.filter(rater=other.rater)
    theirs.update(status="leased", lease="1" * 32)
    seen: list[list[tuple[str, bool]]] = []

    def look(done: int) -> None:
        seen.append([(row.status, row.lease is None) for row in out.rows()[:3]])

    out.take(out.error(0), out.answer(1), out.answer(2), tick=look)
    assert seen == [
        [("open", True), ("done", True), ("open", True)],
        [("open", True), ("done", True), ("done", True)],
    ]
    assert theirs.filter(status="leased").exclude(lease=None).count() == 12
