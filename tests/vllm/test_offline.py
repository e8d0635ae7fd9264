"""vLLM without a server: the runner over vLLM's own `LLM`, which answers as its server does."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign, Label
from judging.batch_api import runner
from judging.models import Judge, JudgeCall, JudgeRun
from tests.judging.batch_api import offline_llm
from tests.judging.cast import campaign_of, command
from tests.patience import PATIENCE
from tests.vllm.serving import judge

pytestmark = pytest.mark.processes

OPTIONS = ("--engine", "enforce_eager=true")
INTERFACE = """
import inspect, json
from dataclasses import fields
from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams
print(json.dumps([
    [*inspect.signature(LLM.chat).parameters],
    [*inspect.signature(SamplingParams).parameters],
    [each.name for each in fields(StructuredOutputsParams)],
]))
"""


def started(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command by the Python of vLLM's environment."""
    return subprocess.run(
        [str(python()), *command], cwd=folder, env=environment(), capture_output=True, text=True,
        timeout=10 * PATIENCE,
    )  # fmt: skip


def python() -> Path:
    return Path(os.environ["TANDEM_VLLM"]).with_name("python")


def environment() -> dict[str, str]:
    return {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}


def exchange(campaign: Campaign, rater: Judge, folder: Path) -> str:
    names = ("--campaign", campaign.name, "--judge", str(rater))
    return command("run_judge", *names, "--offline", str(folder))


def answered(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    done = started(folder, "runner.py", *OPTIONS, *options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def completions(rater: Judge) -> list[str | None]:
    calls = JudgeCall.objects.filter(run__judge=rater, state="answered")
    return list(calls.order_by("assignment_id").values_list("completion", flat=True))


def test_a_folder_is_answered_by_vllm_itself(db: None, model: str, tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, "rubric-passage")
    rater = judge("offline", model, "logprobs=20")
    folder = tmp_path / "a folder"
    exchange(campaign, rater, folder)
    answered(folder, "--limit", "1000", "--at-once", "3")
    said = exchange(campaign, rater, folder)
    run = JudgeRun.objects.get(judge=rater)
    assert (run.state, run.failures) == ("done", {}), said
    assert all(label.score is not None for label in Label.objects.exclude(value=""))
    facts: dict[str, Any] = run.manifest["batch"]["runners"][0]
    assert (facts["model"], facts["gpus"]) == (model, [])
    assert facts["engine"]["max_model_len"] == 16384


def test_its_answers_are_those_of_the_server_even_if_it_was_killed(
    db: None, model: str, tmp_path: Path
) -> None:
    campaign = campaign_of(tmp_path)
    served, offline = judge("served", model), judge("offline", model)
    command("run_judge", "--campaign", campaign.name, "--judge", str(served))
    folder = tmp_path / "folder"
    exchange(campaign, offline, folder)
    kill_after_one(folder)
    exchange(campaign, offline, folder)
    answered(folder)
    exchange(campaign, offline, folder)
    assert completions(offline) == completions(served)
    assert len(JudgeRun.objects.get(judge=offline).manifest["batch"]["runners"]) == 2


def kill_after_one(folder: Path) -> None:
    """Kill a runner after its first line, and wait for the end of the processes of its engine."""
    results = folder / runner.RESULTS
    with (folder.parent / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(python()), "runner.py", *OPTIONS, "--at-once", "1"],
            cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
        while not (results.exists() and results.stat().st_size):
            assert process.poll() is None, (folder.parent / "log").read_text()[-3000:]
            time.sleep(0.01)
        process.kill()
        # The engine's processes inherited the pipe, which is closed once the last of them is gone.
        process.communicate(timeout=PATIENCE)
    asked = (folder / runner.REQUESTS).read_bytes().count(b"\n")
    assert results.read_bytes().count(b"\n") < asked


def test_a_request_that_is_too_long_is_refused_alone(db: None, model: str, tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path)
    rater = judge("short", model, granularity="unit")
    folder = tmp_path / "folder"
    exchange(campaign, rater, folder)
    lines = [json.loads(line) for line in (folder / runner.REQUESTS).read_text().splitlines()]
    # The folder is ours, so the longest request becomes one that no limit of this test allows.
    body = lines[3]["body"]
    body["messages"][-1]["content"] += " word" * 20_000
    lines[3]["request_sha256"] = runner.body_sha256(body)
    (folder / runner.REQUESTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    manifest = json.loads((folder / runner.MANIFEST).read_text())
    data = (folder / runner.REQUESTS).read_bytes()
    manifest["requests"]["sha256"] = runner.hashlib.sha256(data).hexdigest()
    (folder / runner.MANIFEST).write_text(json.dumps(manifest))
    assert "12 of 12 answered, 1 refused" in answered(folder).stdout
    results = [json.loads(line) for line in (folder / runner.RESULTS).read_text().splitlines()]
    assert [n for n, line in enumerate(results) if line["response"]["status_code"] == 400] == [3]
    assert "maximum context length" in results[3]["response"]["body"]["error"]["message"]


def test_the_stand_in_of_other_tests_has_the_same_interface(model: str, tmp_path: Path) -> None:
    done = started(tmp_path, "-c", INTERFACE)
    chat, sampling, structure = json.loads(done.stdout.splitlines()[-1])
    assert {*inspect.signature(offline_llm.LLM.chat).parameters} <= set(chat)
    assert {each.name for each in fields(offline_llm.SamplingParams)} <= set(sampling)
    assert {each.name for each in fields(offline_llm.StructuredOutputsParams)} <= set(structure)
    assert {*runner.SAMPLING_KEYS} <= set(sampling)
