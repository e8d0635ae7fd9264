"""Runs on vLLM without a server: a folder is written, its runner answers, results are loaded."""

from __future__ import annotations

import ast
import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Assignment, Campaign, Label
from judging.backends.vllm_server import SERVERS
from judging.batch_api import offline, requests, runner
from judging.manifest import is_sealed, manifest_of
from judging.models import Judge, JudgeCall, JudgeRun
from judging.runs import lifecycle
from tandem.files.rows import InputError
from tests.cast import ROOT
from tests.judging.cast import command, judge
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

Line = dict[str, Any]
NAME = "it's out; $(touch pwned)"
STAND_IN = "tests.judging.batch_api.offline_llm"
FILE = """
[judge]
title = "a score"
protocol = "report-coverage"
[[messages]]
role = "user"
text = "Rate {{ question.text }} by: {{ report.text }}"
[answer]
parser = "regex"
variable = "answerable"
pattern = 'score: ([01])'
[answer.map.answerable]
"0" = "no"
"1" = "yes"
"""


@dataclass
class Out:
    """A campaign of twelve units, a judge, and the folder for its requests."""

    campaign: Campaign
    judge: Judge
    folder: Path
    vllm: Path

    def command(self, *more: str) -> str:
        names = ("--campaign", self.campaign.name, "--judge", str(self.judge))
        return command("run_judge", *names, "--offline", str(self.folder), *more)

    def refusal(self, *more: str) -> str:
        with pytest.raises((CommandError, InputError)) as caught:
            self.command(*more)
        return str(caught.value)

    def start(self, *options: str, **behaviour: Any) -> subprocess.CompletedProcess[str]:
        """Start the runner as on a machine without Tandem."""
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.vllm)}
        env |= {"OFFLINE_LLM": json.dumps({"notes": str(self.notes), **behaviour})}
        program = [sys.executable, runner.__name__.rpartition(".")[2] + ".py", *options]
        return subprocess.run(
            program, cwd=self.folder, env=env, capture_output=True, text=True, timeout=PATIENCE
        )

    def answer(self, *options: str, status: int = 0, **behaviour: Any) -> str:
        done = self.start(*options, **behaviour)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def notes(self) -> Path:
        return self.vllm / "notes.jsonl"

    @property
    def run(self) -> JudgeRun:
        return JudgeRun.objects.filter(judge=self.judge).latest("pk")

    def lines(self, name: str = runner.RESULTS) -> list[Line]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def change(self, number: int, name: str = runner.RESULTS, **values: Any) -> None:
        lines = self.lines(name)
        lines[number] |= values
        (self.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def open_folder(campaign: Campaign, tmp_path: Path) -> Callable[..., Out]:
    vllm = tmp_path / "environment" / "vllm"
    vllm.mkdir(parents=True)
    here = f"import sys; sys.path.append({str(ROOT)!r}); from {STAND_IN} import "
    (vllm / "__init__.py").write_text(here + "LLM, SamplingParams, __version__\n")
    (vllm / "sampling_params.py").write_text(here + "StructuredOutputsParams\n")

    def out(backend: str = "openai", **fields: Any) -> Out:
        if backend == "openai":
            fields["base_url"] = "http://127.0.0.1:9/v1"
        rater = judge("offline", backend, model="m", granularity="unit", **fields)
        return Out(campaign, rater, tmp_path / NAME, vllm.parent)

    return out


@pytest.fixture
def out(open_folder: Callable[..., Out]) -> Out:
    """The set-up after its requests were written."""
    made = open_folder()
    made.command()
    return made


@pytest.mark.first_case
@pytest.mark.parametrize("backend", ["openai", "vllm"])
def test_a_run_is_answered_offline_and_its_results_loaded(
    open_folder: Callable[..., Out], backend: str
) -> None:
    out = open_folder(backend)
    said = out.command()
    assert f"Wrote 12 requests of {out.run} to {out.folder / 'requests.jsonl'}. Its README" in said
    assert sorted(each.name for each in out.folder.iterdir()) == [
        "README.md", "manifest.json", "requests.jsonl", "runner.py",
    ]  # fmt: skip
    assert (out.run.state, out.run.queued, out.run.calls) == ("queued", False, 0)
    assert "which wait for results" in out.command()
    assert "12 of 12 answered, 0 refused" in out.answer()
    assert "12 done, 0 failed." in out.command()
    assert (out.run.state, out.run.done, out.run.calls) == ("done", 12, 12)
    rows = Assignment.objects.filter(rater=out.judge.rater)
    assert set(rows.values_list("status", flat=True)) == {"done"}
    answered = JudgeCall.objects.filter(state="answered", model_returned="m", http_status=200)
    assert sorted(answered.values_list("assignment", flat=True)) == sorted(r.pk for r in rows)
    assert out.run.cached_tokens == 12 * 16
    assert not SERVERS._servers
    assert not (out.folder / "pwned").exists()


def test_the_runs_sealed_manifest_names_the_runners_that_answered(out: Out) -> None:
    out.answer("--limit", "5", "--dtype", "float32", status=3)
    out.command()
    out.answer()
    out.command()
    batch = out.run.manifest["batch"]
    first, second = batch["runners"]
    assert (batch["folder"], batch["requests"]) == (NAME, 12)
    assert (first["vllm"], first["model"]) == ("0.32.0+standin", "m")
    assert (first["engine"]["dtype"], "dtype" in second["engine"]) == ("float32", False)
    assert first["requests_sha256"] == batch["files"][0]["sha256"]
    assert {"python", "machine", "cpus", "gpus", "torch", "commit"} <= first.keys()
    assert is_sealed(manifest_of(out.run))


def test_loading_results_twice_stores_them_once(out: Out) -> None:
    out.answer()
    out.command()
    assert "0 done, 0 failed; 12 were loaded before." in out.command()
    assert (JudgeCall.objects.count(), Label.objects.count()) == (12, 12)
    assert len(out.run.manifest["batch"]["runners"]) == 1


def test_a_restarted_runner_asks_only_for_missing_answers(out: Out) -> None:
    assert out.start("--at-once", "2", dies_after=2).returncode == -9
    assert len(out.lines()) == 4
    said = out.command()
    assert "4 done, 0 failed; 8 have not come back: start the runner again" in said
    assert out.run.state == "queued"
    assert "8 of 8 answered" in out.answer("--at-once", "100")
    asked = [note["requests"] for note in map(json.loads, out.notes.read_text().splitlines())
             if "requests" in note]  # fmt: skip
    assert asked == [2, 2, 8]
    assert "8 done, 0 failed; 4 were loaded before." in out.command()
    assert JudgeCall.objects.count() == 12


def test_an_incomplete_last_line_is_neither_loaded_nor_kept(out: Out) -> None:
    out.answer("--limit", "3", status=3)
    path = out.folder / runner.RESULTS
    path.write_bytes(path.read_bytes()[:-40])
    for name in (runner.FACTS,):
        (out.folder / name).write_bytes((out.folder / name).read_bytes() + b'{"vllm": "0')
    assert "2 done, 0 failed; 10 have not come back" in out.command()
    assert "10 of 10 answered" in out.answer()
    assert len(out.lines()) == 12
    assert len(out.lines(runner.FACTS)) == 2
    assert "10 done" in out.command()


def test_a_broken_engine_writes_no_error_lines_for_unanswered_requests(
    out: Out,
) -> None:
    assert "the engine is dead" in out.answer("--at-once", "5", status=1, breaks_after=1)
    assert [line["response"]["status_code"] for line in out.lines()] == [200] * 5


def test_a_second_runner_in_the_same_folder_is_refused(out: Out) -> None:
    with (out.folder / runner.MANIFEST).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "another runner is at work in this folder" in out.answer(status=1)
    assert not (out.folder / runner.RESULTS).exists()


def test_the_runner_refuses_a_changed_request(out: Out) -> None:
    body = out.lines(runner.REQUESTS)[3]["body"] | {"temperature": 1.0}
    out.change(3, runner.REQUESTS, body=body)
    said = out.answer(status=1)
    assert "requests.jsonl, line 4: the request does not match its digest" in said
    out.change(3, runner.REQUESTS, request_sha256=runner.body_sha256(body))
    assert "requests.jsonl was changed after Tandem wrote it" in out.answer(status=1)
    assert not out.notes.exists()


def test_loading_refuses_an_answer_to_a_changed_request(out: Out) -> None:
    body = out.lines(runner.REQUESTS)[3]["body"] | {"temperature": 1.0}
    out.change(3, runner.REQUESTS, body=body, request_sha256=runner.body_sha256(body))
    manifest = json.loads((out.folder / runner.MANIFEST).read_text())
    manifest["requests"]["sha256"] = runner.hashlib.sha256(
        (out.folder / runner.REQUESTS).read_bytes()
    ).hexdigest()
    (out.folder / runner.MANIFEST).write_text(json.dumps(manifest))
    out.answer()
    assert out.refusal() == (
        "results.jsonl, line 4: answers a request other than the one that Tandem would send; "
        "remove the line, and start the runner in the folder that tandem judge run wrote"
    )
    assert not JudgeCall.objects.exists()
    assert (out.run.state, "runners" in out.run.manifest["batch"]) == ("queued", False)


def test_a_line_without_a_digest_or_of_another_run_is_refused(out: Out) -> None:
    out.answer()
    line = out.lines()[5]
    del line["request_sha256"]
    lines = [*out.lines()[:5], line, *out.lines()[6:]]
    (out.folder / runner.RESULTS).write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert "results.jsonl, line 6: has no request_sha256; give the file" in out.refusal()
    assert "results.jsonl, line 6: is not a result; move" in out.answer(status=1)
    foreign = re.sub(r"run-\d+", "run-4711", line["custom_id"])
    out.change(5, custom_id=foreign, request_sha256="0" * 64)
    assert "results.jsonl, line 6: belongs to run 4711" in out.refusal()
    assert "results.jsonl, line 6: answers no request of this folder" in out.answer(status=1)
    assert not JudgeCall.objects.exists()


def test_the_digest_is_checked_in_a_batch_file_too(out: Out) -> None:
    out.answer()
    out.change(0, request_sha256="0" * 64)
    with pytest.raises((CommandError, InputError), match="line 1: answers a request other"):
        command("run_judge", "--campaign", out.campaign.name, "--judge", str(out.judge),
                "--batch-file", str(out.folder / runner.RESULTS))  # fmt: skip


def test_a_request_that_vllm_refuses_fails_alone_with_its_reason(out: Out) -> None:
    chats = [line["body"]["messages"] for line in out.lines(runner.REQUESTS)]
    lengths = [len("\n".join(message["content"] for message in chat)) // 4 for chat in chats]
    room = max(lengths) - 1
    too_long = [length > room for length in lengths]
    assert 0 < sum(too_long) < 12
    said = out.answer("--max-model-len", str(room))
    assert f"12 of 12 answered, {sum(too_long)} refused" in said
    assert [line["response"]["status_code"] == 400 for line in out.lines()] == too_long
    assert f"{sum(too_long)} failed (too-long {sum(too_long)})" in out.command()
    call = JudgeCall.objects.filter(state="too-long").first()
    assert call is not None
    assert "maximum context length is" in call.detail
    assert out.run.state == "done"


def test_failed_requests_are_asked_again_only_on_request(out: Out) -> None:
    out.answer("--limit", "2", status=3, ends="abort")
    assert [line["response"]["status_code"] for line in out.lines()] == [500, 500]
    assert "2 came back with errors and stay open (status-500 2)" in out.command()
    assert "10 of 10 answered" in out.answer()
    assert "2 of 2 answered" in out.answer("--retry-errors")
    assert [line["response"]["status_code"] for line in out.lines()] == [200] * 12
    assert "12 done" in out.command()
    assert out.run.state == "done"


def test_a_truncated_answer_is_missing_as_truncated(open_folder: Callable[..., Out]) -> None:
    out = open_folder(params={"max_tokens": 2})
    out.command()
    out.answer()
    assert {line["response"]["body"]["choices"][0]["finish_reason"] for line in out.lines()} == {
        "length"
    }
    assert "0 done, 12 failed (truncated 12)" in out.command()
    assert not Label.objects.exists()


def test_vllm_gets_the_judges_settings_and_the_models_defaults(
    open_folder: Callable[..., Out],
) -> None:
    engine = {"max_model_len": 4096, "tensor_parallel": 2, "dtype": "float16", "revision": "abc"}
    sampling = {"seed": 7, "top_p": 0.9, "max_tokens": 300, "logprobs": 5}
    template = {"enable_thinking": False}
    out = open_folder("vllm", params={**engine, **sampling, "chat_template_kwargs": template})
    out.command()
    out.answer("--model", "/a place/for models", "--max-model-len", "8192")
    started, asked = map(json.loads, out.notes.read_text().splitlines())
    assert started == {
        "model": "/a place/for models", "tensor_parallel_size": 2, "dtype": "float16",
        "revision": "abc", "max_model_len": 8192,
        "structure": {"backend": "xgrammar", "disable_any_whitespace": True},
    }  # fmt: skip
    assert (asked["requests"], asked["template"]) == (12, template)
    params = asked["params"][0]
    form = out.lines(runner.REQUESTS)[0]["body"]["response_format"]["json_schema"]["schema"]
    assert params["structured_outputs"]["json"] == form
    given = {"temperature": 0.0, "top_k": 20, "seed": 7, "top_p": 0.9, "max_tokens": 300}
    assert given.items() <= (params | {"logprobs": 5}).items()
    out.command()
    calls = JudgeCall.objects.filter(model_returned="/a place/for models")
    assert calls.count() == 12
    assert all(call.logprobs and call.logprobs["label_tokens"] for call in calls)
    assert all(label.score is not None for label in Label.objects.filter(unit__isnull=False))


def test_a_judge_files_requests_have_no_schema(
    open_folder: Callable[..., Out], tmp_path: Path
) -> None:
    out = open_folder()
    path = tmp_path / "judge.toml"
    path.write_text(FILE)
    asked = ("--backend", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    command("create_judge", "by-file", "--file", str(path), *asked, "--granularity", "unit")
    out.judge = Judge.objects.get(rater__name="by-file")
    out.command()
    assert "response_format" not in out.lines(runner.REQUESTS)[0]["body"]
    out.answer(says="I think so. score: 1")
    assert "12 done" in out.command()
    assert set(Label.objects.values_list("value", flat=True)) == {"yes"}


def test_an_unsupported_judge_is_refused_before_anything_is_written(
    open_folder: Callable[..., Out],
) -> None:
    out = open_folder(params={"extra_body": {"service_tier": "flex"}})
    assert "does not take 'service_tier'" in out.refusal()
    out.judge = judge("r", "openai", model="m", params={"api": "responses"})
    assert "answers chat completions only" in out.refusal()
    out.judge = judge("floor", "lexical")
    assert "it asks no server, so it has no requests" in out.refusal()
    assert "--concurrency cannot be used with --offline" in out.refusal("--concurrency", "2")
    assert not out.folder.exists()
    assert not JudgeRun.objects.exists()


def test_a_folder_with_content_is_left_alone(open_folder: Callable[..., Out]) -> None:
    out = open_folder()
    out.folder.mkdir()
    (out.folder / "notes.txt").write_text("mine")
    assert "already exists; move it away" in out.refusal()
    assert [each.name for each in out.folder.iterdir()] == ["notes.txt"]
    assert not JudgeRun.objects.exists()


def test_requests_that_are_out_can_be_loaded_by_folder_or_abandoned(out: Out) -> None:
    with pytest.raises(CommandError) as caught:
        command("run_judge", "--campaign", out.campaign.name, "--judge", str(out.judge))
    assert f"its requests are in {NAME}/requests.jsonl since run" in str(caught.value)
    assert "load the results with --offline, or abandon them with --stop" in str(caught.value)
    assert lifecycle.ask_to_stop(out.run)
    assert "which is interrupted; choose a new folder" in out.refusal()
    out.answer()
    assert "12 done, 0 failed." in out.command()


def test_missing_files_beside_the_requests_are_written_again(out: Out) -> None:
    before = {each.name: each.read_bytes() for each in out.folder.iterdir()}
    for name in (runner.MANIFEST, offline.README, offline.RUNNER.name):
        (out.folder / name).unlink()
    out.command()
    assert {each.name: each.read_bytes() for each in out.folder.iterdir()} == before


def test_a_folder_whose_writer_died_is_completed(
    open_folder: Callable[..., Out], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = open_folder()

    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(requests, "_record_files", die)
        patch.setattr(requests, "_give_up", lambda *args: None)
        with pytest.raises(KeyboardInterrupt):
            out.command()
    JudgeRun.objects.update(lease=None, lease_until=None)
    with pytest.raises(CommandError, match=r"give --offline .* to continue"):
        command("run_judge", "--campaign", out.campaign.name, "--judge", str(out.judge))
    assert "which wait for results" in out.command()
    out.answer()
    assert "12 done" in out.command()


def test_the_readme_names_commands_that_can_be_pasted(out: Out) -> None:
    text = (out.folder / offline.README).read_text()
    line = next(each for each in text.splitlines() if "tandem judge run" in each)
    assert shlex.split(line) == [
        "tandem", "judge", "run", "--campaign", out.campaign.name, "--judge", "offline",
        "--offline", str(out.folder),
    ]  # fmt: skip


def test_the_runner_imports_nothing_of_tandem_and_starts_no_other_program() -> None:
    tree = ast.parse(offline.RUNNER.read_text(), feature_version=(3, 10))
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    } | {n.module.partition(".")[0] for n in ast.walk(tree)
         if isinstance(n, ast.ImportFrom) and n.module}  # fmt: skip
    assert imported <= set(sys.stdlib_module_names)
    assert not imported & {"subprocess", "shlex", "socket", "urllib", "http"}


def test_without_vllm_the_runner_says_how_to_start_it(out: Out, tmp_path: Path) -> None:
    out.vllm = tmp_path
    assert "vLLM cannot be used (No module named 'vllm')" in out.answer(status=1)
