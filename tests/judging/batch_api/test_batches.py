"""Batch requests are written to files, answered outside, and matched by their ids."""

from __future__ import annotations

import json
import random
import urllib.error
import urllib.request
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db.models.functions import Now

from annotation.models import Assignment, Campaign, Label, Response
from judging import lanes
from judging.answers.results import Result, record
from judging.batch_api import format, requests
from judging.batch_api.results import load_results
from judging.manifest import is_sealed
from judging.models import Judge, JudgeCall, JudgeRun, Strike
from judging.runs import ledger, lifecycle, planning
from tests.fake_openai.running import Running
from tests.judging.cast import command, judge
from tests.patience import PATIENCE

Line = dict[str, Any]
OPEN, DONE = Assignment.Status.OPEN, Assignment.Status.DONE


@pytest.fixture
def server(only_server: Running) -> Running:
    only_server.behave(reset=True, answer="mixed")
    return only_server


@pytest.fixture
def rater(campaign: Campaign, server: Running) -> Judge:
    return judge_of(server, "offline")


def judge_of(server: Running, name: str, granularity: str = "unit", **params: Any) -> Judge:
    return judge(
        name, "openai", model="m", base_url=server.url, granularity=granularity, params=params
    )


def run(campaign: Campaign, rater: Judge, *arguments: str) -> str:
    return command("run_judge", "--campaign", campaign.name, "--judge", str(rater), *arguments)


def exchange(campaign: Campaign, rater: Judge, path: Path, *arguments: str) -> str:
    return run(campaign, rater, "--batch-file", str(path), *arguments)


def refusal(campaign: Campaign, rater: Judge, *arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(campaign, rater, *arguments)
    return str(caught.value)


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, lines: Iterable[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def posted(server: Running, request: Line) -> tuple[int, Any]:
    url = server.url + request["url"]
    sent = urllib.request.Request(url, json.dumps(request["body"]).encode())
    sent.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(sent, timeout=PATIENCE) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def answered(server: Running, asked: Iterable[Line]) -> list[Line]:
    """Return the answers of a batch service to requests."""
    made = []
    for request in asked:
        status, body = posted(server, request)
        response = {"status_code": status, "request_id": "r", "body": body}
        made.append({"id": "b", "custom_id": request["custom_id"], "response": response})
    return [line | {"error": None} for line in made]


def failed(request: Line, status: int, message: str) -> Line:
    """A provider's line for a request that it refused, with the error in the body."""
    body = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": request["custom_id"], "response": response, "error": None}


def labels(rater: Judge) -> list[tuple[Any, ...]]:
    found = Label.objects.filter(response__assignment__rater=rater.rater, response__current=True)
    return sorted(
        (*label[:4], label[4])
        for label in found.values_list(
            "unit__item", "unit__name", "variable", "value", "spans__quote"
        )
    )


def written(campaign: Campaign, rater: Judge, folder: Path, *arguments: str) -> Path:
    path = folder / "requests.jsonl"
    exchange(campaign, rater, path, *arguments)
    return path


def counts(rater: Judge) -> dict[str, int]:
    rows = Assignment.objects.filter(rater=rater.rater)
    return {status: rows.filter(status=status).count() for status in (OPEN, DONE)}


def test_a_batch_gives_the_labels_of_an_online_run(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    path = written(campaign, rater, tmp_path)
    results = answered(server, lines_of(path))
    random.Random(1).shuffle(results)
    said = exchange(campaign, rater, write(tmp_path / "results.jsonl", results))
    online = judge_of(server, "online")
    run(campaign, online)
    assert "12 done, 0 failed." in said
    assert labels(rater) == labels(online)
    assert len(labels(rater)) >= 12
    assert JudgeRun.objects.get(judge=rater).state == "done"


def test_batch_requests_equal_those_the_backend_would_send(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    lines = lines_of(written(campaign, rater, tmp_path))
    assert len({line["custom_id"] for line in lines}) == len(lines) == 12
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    run(campaign, judge_of(server, "online"), "--limit", "1")
    assert server.stats()["last"] in [line["body"] for line in lines]


def test_request_hashes_equal_those_of_an_online_run(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    exchange(campaign, rater, write(tmp_path / "results.jsonl", results))
    online = judge_of(server, "online")
    run(campaign, online, "--reuse", "campaign")
    assert JudgeRun.objects.get(judge=online).reused == 12


def test_calls_are_stored_with_usage_and_cost(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    price = ("--since", "2026-01-01", "--prompt", "1000", "--completion", "1000")
    command("create_price", "m", *price)
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    exchange(campaign, rater, write(tmp_path / "results.jsonl", results))
    run_ = JudgeRun.objects.get(judge=rater)
    used = sum(line["response"]["body"]["usage"]["total_tokens"] for line in results)
    calls = JudgeCall.objects.filter(run=run_)
    assert run_.prompt_tokens + run_.completion_tokens == used
    assert run_.cost == sum(call.cost or 0 for call in calls) == Decimal(used) / 1000
    assert run_.calls == 12
    assert {(call.state, call.http_status, call.seconds) for call in calls} == {
        ("answered", 200, 0.0)
    }


def test_each_file_belongs_to_the_run_that_wrote_its_requests(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    files = []
    for number, limit in enumerate(("4", "8")):
        path = tmp_path / f"requests{number}.jsonl"
        exchange(campaign, rater, path, "--limit", limit)
        results = answered(server, lines_of(path))
        files.append(write(tmp_path / f"results{number}.jsonl", results))
        exchange(campaign, rater, files[-1])
    found = JudgeRun.objects.filter(judge=rater).order_by("id")
    assert list(found.values_list("done", "calls", "state")) == [(4, 4, "done"), (8, 8, "done")]
    assert "4 were loaded before" in exchange(campaign, rater, files[0])
    assert "8 were loaded before" in exchange(campaign, rater, files[1])


def test_no_other_run_starts_while_requests_are_out(
    campaign: Campaign, rater: Judge, tmp_path: Path
) -> None:
    written(campaign, rater, tmp_path)
    out = "its requests are in requests.jsonl"
    assert out in refusal(campaign, rater)
    assert out in refusal(campaign, rater, "--queue")
    assert out in refusal(campaign, rater, "--batch-file", str(tmp_path / "more.jsonl"))
    assert not (tmp_path / "more.jsonl").exists()
    assert list(lifecycle.runs_without_worker()) == []
    assert counts(rater) == {"open": 12, "done": 0}


def test_another_judge_may_run_meanwhile(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    written(campaign, rater, tmp_path)
    assert "12 done" in run(campaign, judge_of(server, "online"))


def test_requests_that_are_out_can_be_abandoned(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    written(campaign, rater, tmp_path)
    run(campaign, rater, "--stop")
    assert "12 done" in run(campaign, rater)


def test_answers_of_an_abandoned_batch_can_still_be_loaded(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    run(campaign, rater, "--cancel")
    assert "12 done" in exchange(campaign, rater, write(tmp_path / "results.jsonl", results))
    assert counts(rater) == {"open": 0, "done": 12}


def test_a_late_answer_is_counted_as_paid_and_changes_no_label(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    run(campaign, rater, "--stop")
    run(campaign, rater)
    before = labels(rater)
    path = write(tmp_path / "results.jsonl", results)
    assert "12 were answered in another way meanwhile" in exchange(campaign, rater, path)
    assert "12 were loaded before" in exchange(campaign, rater, path)
    assert labels(rater) == before
    assert JudgeRun.objects.filter(judge=rater).order_by("id")[0].calls == 12


def test_loading_results_twice_changes_nothing(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    path = write(tmp_path / "results.jsonl", results)
    exchange(campaign, rater, path)
    before = everything(rater)
    assert "12 were loaded before" in exchange(campaign, rater, path)
    assert everything(rater) == before


def everything(rater: Judge) -> list[Any]:
    """Everything that is stored of a judge's run."""
    tables = (
        JudgeRun.objects.filter(judge=rater),
        JudgeCall.objects.filter(run__judge=rater),
        Assignment.objects.filter(rater=rater.rater),
        Response.objects.filter(assignment__rater=rater.rater),
        Label.objects.filter(response__assignment__rater=rater.rater),
    )
    return [list(table.order_by("pk").values()) for table in tables]


def test_a_run_waits_for_results_that_have_not_come_back(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    first = exchange(campaign, rater, write(tmp_path / "some.jsonl", results[:5]))
    assert "5 done, 0 failed; 7 have not come back" in first
    assert "its requests are in" in refusal(campaign, rater)
    assert counts(rater) == {"open": 7, "done": 5}
    rest = exchange(campaign, rater, write(tmp_path / "rest.jsonl", results[4:]))
    assert "7 done, 0 failed; 1 were loaded before." in rest
    assert JudgeRun.objects.get(judge=rater).state == "done"


def test_lines_with_errors_leave_assignments_open(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    """The lines are those of a provider's error file, an expired batch, and `vllm run-batch`."""
    asked = lines_of(written(campaign, rater, tmp_path))
    errors = [
        failed(asked[0], 500, "the engine died"),
        {
            "custom_id": asked[1]["custom_id"],
            "response": None,
            "error": {"code": "batch_expired", "message": "this batch expired"},
        },
        {
            "custom_id": asked[2]["custom_id"],
            "response": {"status_code": 503, "request_id": "r", "body": None},
            "error": {"error": {"message": "no room", "type": "x", "code": 503}},
        },
        {"custom_id": asked[3]["custom_id"], "response": {}, "error": None},
    ]
    path = write(tmp_path / "results.jsonl", errors + answered(server, asked[4:]))
    said = exchange(campaign, rater, path)
    assert "8 done, 0 failed; 4 came back with errors and stay open (batch-error 2" in said
    assert counts(rater) == {"open": 4, "done": 8}
    assert "4 done" in run(campaign, rater)


def test_a_final_error_closes_its_assignment(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    asked = lines_of(written(campaign, rater, tmp_path))
    own = [
        failed(asked[0], 400, "this model's maximum context length is 8 tokens"),
        failed(asked[1], 400, "stopped by content_filter"),
    ]
    own[1]["response"]["body"]["error"]["code"] = "content_filter"
    path = write(tmp_path / "results.jsonl", own + answered(server, asked[2:]))
    assert "10 done, 2 failed (filtered 1, too-long 1)." in exchange(campaign, rater, path)
    assert JudgeRun.objects.get(judge=rater).failures == {"too-long": 1, "filtered": 1}


def test_an_unreadable_answer_is_missing_with_its_reason(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    results[0]["response"]["body"]["choices"][0]["message"]["content"] = "I cannot say."
    said = exchange(campaign, rater, write(tmp_path / "results.jsonl", results))
    assert "11 done, 1 failed (unreadable 1)." in said
    assert JudgeCall.objects.filter(completion="I cannot say.").count() == 1


def test_a_result_after_an_error_is_taken(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    asked = lines_of(written(campaign, rater, tmp_path))
    errors = write(tmp_path / "errors.jsonl", [failed(r, 500, "away") for r in asked])
    assert "12 came back with errors" in exchange(campaign, rater, errors)
    before = everything(rater)
    assert "12 were loaded before" in exchange(campaign, rater, errors)
    assert everything(rater) == before
    path = write(tmp_path / "again.jsonl", answered(server, asked))
    assert "12 done, 0 failed." in exchange(campaign, rater, path)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda ls: [*ls, ls[0]], "results.jsonl, line 13: repeats the custom_id of line 1"),
        (lambda ls: [*ls, ls[0] | {"custom_id": "x"}], "line 13: the custom_id 'x' is not from"),
        (
            lambda ls: [*ls, {"response": {}}],
            "line 13: the custom_id 'None' is not from tandem judge run",
        ),
        (
            lambda ls: [*ls, ls[0] | {"custom_id": ls[0]["custom_id"][:-2] + "zz"}],
            "line 13: the custom_id",
        ),
        (
            lambda ls: [*ls, ls[0] | {"custom_id": "run-999-" + ls[0]["custom_id"][-36:]}],
            "line 13: belongs to run 999",
        ),
        (
            lambda ls: [
                *ls,
                ls[0] | {"custom_id": ls[0]["custom_id"][:-36] + "0" * 32},
            ],
            "line 13: the custom_id belongs to no assignment of this judge",
        ),
        (lambda ls: [*ls, "{"], "line 13: is not a JSON object"),
    ],
)
def test_an_unmatched_line_refuses_the_whole_file(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path, spoil: Any, said: str
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    path = write(tmp_path / "results.jsonl", spoil(results))
    before = everything(rater)
    assert said in refusal(campaign, rater, "--batch-file", str(path))
    assert everything(rater) == before


def test_a_truncated_file_is_refused(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    path = write(tmp_path / "results.jsonl", results)
    path.write_bytes(path.read_bytes()[:-20])
    said = refusal(campaign, rater, "--batch-file", str(path))
    assert "results.jsonl, line 12: is not JSON; give the original file" in said
    assert counts(rater) == {"open": 12, "done": 0}


def test_results_for_another_judge_are_refused(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    path = write(tmp_path / "results.jsonl", results)
    said = refusal(campaign, judge_of(server, "online"), "--batch-file", str(path))
    assert "its requests were not written for judge online" in said


def test_giving_the_requests_file_again_explains_the_next_step(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    path = written(campaign, rater, tmp_path)
    assert "which wait for results. Send them" in exchange(campaign, rater, path)
    run(campaign, rater, "--stop")
    assert "which is interrupted; choose a new file" in exchange(campaign, rater, path)
    other = judge_of(server, "online")
    assert "not of judge online's batch" in exchange(campaign, other, path)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is empty"), ("{}", "line 1: contains neither"), ("hello", "line 1: is not JSON")],
)
def test_a_file_of_something_else_is_refused(
    campaign: Campaign, rater: Judge, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text, "utf-8")
    assert f"notes.txt{'' if not text else ', '}" in refusal(
        campaign, rater, "--batch-file", str(path)
    )
    assert said in refusal(campaign, rater, "--batch-file", str(path))
    assert path.read_text("utf-8") == text


def test_requests_beyond_the_limit_of_a_file_go_into_further_files(
    campaign: Campaign,
    rater: Judge,
    server: Running,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(format, "MAX_REQUESTS", 5)
    path = written(campaign, rater, tmp_path)
    files = [path, tmp_path / "requests.2.jsonl", tmp_path / "requests.3.jsonl"]
    assert [len(lines_of(each)) for each in files] == [5, 5, 2]
    for each in reversed(files):
        results = write(tmp_path / "results.jsonl", answered(server, lines_of(each)))
        said = exchange(campaign, rater, results)
    assert "5 done, 0 failed." in said
    assert counts(rater) == {"open": 0, "done": 12}


def test_a_requests_file_is_limited_in_size_too(
    campaign: Campaign, rater: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(format, "MAX_BYTES", 10_000)
    path = written(campaign, rater, tmp_path)
    sizes = [each.stat().st_size for each in tmp_path.glob("requests*.jsonl")]
    assert len(sizes) > 1
    assert max(sizes) <= 10_000
    assert path.exists()


def test_a_limit_bounds_the_written_requests(
    campaign: Campaign, rater: Judge, tmp_path: Path
) -> None:
    assert len(lines_of(written(campaign, rater, tmp_path, "--limit", "3"))) == 3


def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    campaign: Campaign, rater: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refusal(campaign, rater, "--batch-file", str(tmp_path / "none" / "requests.jsonl"))
    assert "cannot be written (no such file or directory)" in said
    monkeypatch.setattr(format, "MAX_REQUESTS", 5)
    taken = tmp_path / "requests.2.jsonl"
    taken.write_text("mine", "utf-8")
    said = refusal(campaign, rater, "--batch-file", str(tmp_path / "requests.jsonl"))
    assert "already exists; move it away" in said
    here = {path.name for path in tmp_path.iterdir()} - {"batch.jsonl"}
    assert (here, taken.read_text("utf-8")) == ({"requests.2.jsonl"}, "mine")
    assert set(JudgeRun.objects.values_list("state", flat=True)) == {"stopped"}
    assert counts(rater) == {"open": 12, "done": 0}


def test_a_request_with_a_reusable_answer_is_not_written(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    run(campaign, judge_of(server, "online"), "--limit", "5")
    path = written(campaign, rater, tmp_path, "--reuse", "campaign")
    assert len(lines_of(path)) == 7
    assert counts(rater) == {"open": 7, "done": 5}
    results = write(tmp_path / "results.jsonl", answered(server, lines_of(path)))
    assert "7 done, 0 failed." in exchange(campaign, rater, results)
    found = JudgeRun.objects.get(judge=rater)
    assert (found.state, found.done, found.reused, found.calls) == ("done", 12, 5, 7)


def test_no_file_is_written_if_every_answer_is_reused(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    run(campaign, judge_of(server, "online"))
    path = tmp_path / "requests.jsonl"
    said = exchange(campaign, rater, path, "--reuse", "campaign")
    assert "nothing is left to ask; 12 had an answer already" in said
    assert not path.exists()
    assert "Nothing to do" in exchange(campaign, rater, path)


def test_a_process_that_dies_before_storing_labels_loses_no_answer(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    """Calls that were stored without labels get labels, and are not counted again."""
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    path = write(tmp_path / "results.jsonl", results)
    only_calls(campaign, rater, path)
    assert counts(rater) == {"open": 12, "done": 0}
    assert "12 done" in exchange(campaign, rater, path)
    assert JudgeCall.objects.count() == JudgeRun.objects.get(judge=rater).calls == 12


def only_calls(campaign: Campaign, rater: Judge, path: Path) -> None:
    """Load results as if the process died each time between a call and its label."""

    def calls_alone(run: Any, lease: Any, schema: Any, results: Any) -> int:
        kept = [Result(result.prepared, result.calls) for result in results]
        return record(run, lease, schema, kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("judging.batch_api.results.record", calls_alone)
        patch.setattr("judging.batch_api.results._count_missing", lambda run: 1)
        load_results(campaign, rater, path)


def killed_while_taking_in(campaign: Campaign, rater: Judge, path: Path) -> None:
    """Let the process die after it leased its first assignments, and the lease expire."""
    with pytest.MonkeyPatch.context() as patch:

        def killed(*args: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr("judging.batch_api.results._Group.store", killed)
        patch.setattr("judging.batch_api.results._wait_for_rest", lambda run, lease: None)
        with pytest.raises(KeyboardInterrupt):
            load_results(campaign, rater, path)
    assert Assignment.objects.filter(rater=rater.rater, status="leased").exists()
    JudgeRun.objects.update(lease_until=Now() - timedelta(seconds=1))


def test_a_kill_while_loading_results_gives_no_strikes(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    results = answered(server, lines_of(written(campaign, rater, tmp_path)))
    path = write(tmp_path / "results.jsonl", results)
    for _ in range(3):
        killed_while_taking_in(campaign, rater, path)
    assert "12 done, 0 failed" in exchange(campaign, rater, path)
    assert not Strike.objects.exists()


def test_assignments_with_strikes_are_left_out_and_reported(
    campaign: Campaign, rater: Judge, tmp_path: Path
) -> None:
    planning.plan(campaign, rater)
    for row in Assignment.objects.filter(rater=rater.rater)[:2]:
        Strike.objects.create(assignment=row, count=2)
    said = exchange(campaign, rater, tmp_path / "requests.jsonl")
    assert "Wrote 10 requests" in said
    assert "2 requests during which workers died are not included" in said


def test_a_paused_server_stays_paused_while_requests_are_written(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    (lane,) = lanes.lanes_of(rater)
    lanes.pause(lane, "the quota is used up")
    written(campaign, rater, tmp_path)
    lane.refresh_from_db()
    assert lane.paused == "the quota is used up"


def test_an_online_run_says_how_to_continue_a_dead_writers_batch(
    campaign: Campaign, rater: Judge
) -> None:
    dead = lifecycle.start(campaign, rater)
    lifecycle.lease_run(dead)
    file = {"name": "requests.jsonl", "path": "/srv/ada/requests.jsonl"}
    JudgeRun.objects.update(
        manifest={lifecycle.INTENT: {"files": [file]}}, lease_until=Now() - timedelta(seconds=1)
    )
    said = refusal(campaign, rater)
    assert f"{dead} was writing requests.jsonl when its process ended" in said
    assert "give --batch-file /srv/ada/requests.jsonl to continue" in said
    run(campaign, rater, "--stop")
    assert "12 done" in run(campaign, rater)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "order", [lifecycle.ask_to_stop, lifecycle.ask_to_cancel], ids=["stop", "cancel"]
)
@pytest.mark.parametrize("when", ["_lines", "Files.close", "Files.move_into_place"])
def test_ending_a_run_while_writing_removes_its_files(
    campaign: Campaign,
    rater: Judge,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    order: Any,
) -> None:
    monkeypatch.setattr(requests, "CLAIM_SIZE", 5)
    owner = requests.Files if "." in when else requests
    name = when.split(".")[-1]
    method = getattr(owner, name)

    def ended_meanwhile(*args: Any) -> Any:
        order(JudgeRun.objects.get())
        return method(*args)

    monkeypatch.setattr(owner, name, ended_meanwhile)
    said = refusal(campaign, rater, "--batch-file", str(tmp_path / "requests.jsonl"))
    assert "was stopped while its requests were written, so no file was created" in said
    assert list(tmp_path.iterdir()) == []
    found = JudgeRun.objects.get()
    cancelled = order is lifecycle.ask_to_cancel
    assert found.state == ("cancelled" if cancelled else "interrupted")
    assert "batch" not in found.manifest
    left = {"cancelled": 12} if cancelled else {"open": 12}
    assert ledger.count_by_status(campaign, rater) == left


def test_workers_are_not_given_a_run_whose_requests_are_being_written(
    campaign: Campaign, rater: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    lines = requests._lines

    def queued_meanwhile(*args: Any) -> Any:
        said.append(refusal(campaign, rater, "--queue"))
        return lines(*args)

    monkeypatch.setattr(requests, "_lines", queued_meanwhile)
    written(campaign, rater, tmp_path)
    assert "is writing its requests to a file; try again" in said[0]
    assert not JudgeRun.objects.get().queued


def test_the_manifest_names_the_files(
    campaign: Campaign, rater: Judge, server: Running, tmp_path: Path
) -> None:
    path = written(campaign, rater, tmp_path)
    results = write(tmp_path / "results.jsonl", answered(server, lines_of(path)))
    exchange(campaign, rater, results)
    manifest = JudgeRun.objects.get(judge=rater).manifest
    (named,) = manifest["batch"]["files"]
    assert (named["name"], named["requests"]) == ("requests.jsonl", 12)
    assert str(tmp_path) not in json.dumps(manifest)
    assert is_sealed(manifest)


def test_batch_files_contain_no_key(
    campaign: Campaign, server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATCH_KEY", "sk-canary-of-the-batch")
    keyed = judge("keyed", "openai", model="m", base_url=server.url, api_key_env="BATCH_KEY")
    text = written(campaign, keyed, tmp_path).read_text("utf-8")
    assert "canary" not in text
    assert "BATCH_KEY" not in text


def test_a_judge_that_asks_no_server_has_no_batch(campaign: Campaign, tmp_path: Path) -> None:
    floor = judge("floor")
    said = refusal(campaign, floor, "--batch-file", str(tmp_path / "requests.jsonl"))
    assert "it asks no server" in said
    assert list(tmp_path.glob("requests*")) == []


def test_a_batch_for_the_responses_api_is_read_as_such(
    campaign: Campaign, server: Running, tmp_path: Path
) -> None:
    rater = judge_of(server, "responses", api="responses")
    path = written(campaign, rater, tmp_path)
    requests = lines_of(path)
    assert {line["url"] for line in requests} == {"/v1/responses"}
    results = write(tmp_path / "results.jsonl", answered(server, requests))
    assert "12 done, 0 failed." in exchange(campaign, rater, results)
    assert "12 were loaded before" in exchange(campaign, rater, results)


def test_a_provider_with_files_of_another_format_has_no_batch(
    campaign: Campaign, tmp_path: Path
) -> None:
    rater = judge("claude", "anthropic", model="m")
    said = refusal(campaign, rater, "--batch-file", str(tmp_path / "f.jsonl"))
    assert "does not read files in OpenAI's batch format; run it without files" in said
    assert not JudgeRun.objects.exists()


def test_options_of_an_online_run_are_refused(
    campaign: Campaign, rater: Judge, tmp_path: Path
) -> None:
    path = str(tmp_path / "requests.jsonl")
    said = refusal(campaign, rater, "--batch-file", path, "--concurrency", "4")
    assert "--concurrency cannot be used with --batch-file" in said


def test_batches_work_item_by_item(campaign: Campaign, server: Running, tmp_path: Path) -> None:
    whole = judge_of(server, "whole", "item")
    results = answered(server, lines_of(written(campaign, whole, tmp_path)))
    assert "4 done" in exchange(campaign, whole, write(tmp_path / "results.jsonl", results))
