"""Judges on vLLM itself: what they are asked is obeyed, cached, and survives the server's death."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign
from annotation.protocols import PROTOCOLS
from judging.backends.base import Findings
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from judging.runs import prompts
from tests.judging.cast import campaign_of, command, query
from tests.patience import PATIENCE
from tests.vllm import serving
from tests.vllm.serving import counter, judge

pytestmark = pytest.mark.processes

# Its second variable must hold where the first says no: more than random weights can know.
OPTIONS = {"key-point-recall": {"variables": "entailed"}}
LONG, QUESTIONS = 40, 15
# More than a probe asks, and far fewer than the run: a kill takes a moment.
MIDWAY = 20
SHARE = 0.95


def run(campaign: Campaign, rater: Judge) -> JudgeRun:
    command("run_judge", "--campaign", campaign.name, "--judge", str(rater))
    return JudgeRun.objects.filter(campaign=campaign, judge=rater).latest("pk")


def assert_answered_once(campaign: Campaign, rater: Judge) -> None:
    rows = Assignment.objects.filter(item__campaign=campaign, rater=rater.rater)
    answered = JudgeCall.objects.filter(assignment__in=rows, state="answered")
    assert {row.status for row in rows} == {"done"}
    assert sorted(answered.values_list("assignment", flat=True)) == sorted(row.pk for row in rows)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_of_each_protocol_gives_valid_labels(
    db: None, model: str, tmp_path: Path, protocol: str
) -> None:
    campaign = campaign_of(tmp_path, protocol, **OPTIONS.get(protocol, {}))
    rater = judge("tiny", model)
    done = run(campaign, rater)
    assert (done.state, done.failures) == ("done", {})
    assert_answered_once(campaign, rater)


def test_the_probe_finds_that_it_keeps_to_a_schema(db: None, model: str) -> None:
    backend = build_backend(judge("probed", model, "logprobs=20"))

    async def inside() -> Findings:
        async with backend:
            return await backend.probe()

    found = asyncio.run(inside())
    assert found.refusal == ""
    assert not [words for words in found.warnings if "structured" in words or "schema" in words]
    assert found.facts["served_by"] == "vllm"


def test_probabilities_become_scores(db: None, model: str, tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, "rubric-passage")
    rater = judge("scoring", model, "logprobs=20")
    run(campaign, rater)
    calls = JudgeCall.objects.filter(run__judge=rater)
    command("export", "--campaign", campaign.name, "--what", "labels", "--output",
            str(tmp_path / "labels.jsonl"))  # fmt: skip
    rows = [
        json.loads(line) for line in (tmp_path / "labels.jsonl").read_text("utf-8").splitlines()
    ]
    assert all(call.logprobs for call in calls)
    assert rows
    assert all(0 <= row["score"] <= 5 for row in rows)


def test_responses_say_what_chat_completions_say(db: None, model: str, tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, "rubric-passage")
    given = ("logprobs=20", "concurrency=1")
    raters = judge("chat", model, *given), judge("other", model, *given, "api=responses")
    for rater in raters:
        assert run(campaign, rater).failures == {}
    chat, other = (
        list(
            JudgeCall.objects.filter(run__judge=rater, state="answered")
            .order_by("assignment__item", "assignment__scope")
            .values_list("completion", "usage__prompt_tokens", "usage__completion_tokens")
        )
        for rater in raters
    )
    assert chat == other
    assert all(call.logprobs for call in JudgeCall.objects.all())


def long_batch(folder: Path, name: str, questions: int) -> None:
    """Two reports of many sentences, with many short questions on each."""
    queries = [query(n) for n in (1, 2)]
    for each in queries:
        sentences = [f"Span {n} of {each['id']} was raised in {1900 + n}." for n in range(LONG)]
        each["reports"] = [{"id": f"r-{each['id']}", "text": " ".join(sentences), "system": "s"}]
        each["questions"] = [
            {"id": f"{each['id']}:{n}", "text": f"When was span {n} raised?"}
            for n in range(questions)
        ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in queries), "utf-8")
    command("load_batch", str(path), "--name", name)


def campaign_over(batch: str, folder: Path, questions: int = QUESTIONS) -> Campaign:
    long_batch(folder, batch, questions)
    command("create_campaign", batch, "--protocol", "report-coverage", "--batch", batch)
    return Campaign.objects.get(name=batch)


def messages_of(campaign: Campaign, rater: Judge) -> Iterator[list[list[dict[str, Any]]]]:
    """What was asked of each item, request by request."""
    prompt = read_prompt(prompts.prompt_for(rater, campaign))
    preparer = Preparer(campaign, rater, prompt, build_backend(rater))
    rows = Assignment.objects.filter(item__campaign=campaign, rater=rater.rater)
    for _, group in itertools.groupby(rows.order_by("item", "id"), lambda row: row.item_id):
        requests = [preparer.prepare(row).request for row in group]
        yield [[{"role": m.role, "content": m.content} for m in r.messages] for r in requests]


def ideal_share(campaign: Campaign, rater: Judge, model: str) -> float:
    """The share of tokens in whole blocks with which another request of the item began as well."""
    block, hits, asked = serving.block_size(), 0, 0
    for group in messages_of(campaign, rater):
        prompts = [serving.tokens(messages, model) for messages in group]
        places = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*prompts, strict=False))
        shared = len(list(places))
        hits += (len(prompts) - 1) * (shared // block) * block
        asked += sum(map(len, prompts))
    return hits / asked


@pytest.mark.parametrize("concurrency", [1, 8])
def test_units_of_one_text_find_it_in_the_prefix_cache(
    db: None, model: str, tmp_path: Path, concurrency: int
) -> None:
    campaign = campaign_over(f"long-{concurrency}", tmp_path)
    rater = judge("cached", model, f"concurrency={concurrency}", granularity="unit")
    serving.start(rater)
    names = ("prefix_cache_hits_total", "prefix_cache_queries_total")
    before = [counter(name) for name in names]
    run(campaign, rater)
    hits, queries = (counter(name) - was for name, was in zip(names, before, strict=True))
    ideal = ideal_share(campaign, rater, model)
    assert hits / queries >= SHARE * ideal, f"{hits / queries:.3f}, and {ideal:.3f} is ideal"


def test_a_server_killed_under_a_run_is_started_again_and_the_run_ends_whole(
    db: None, model: str, tmp_path: Path
) -> None:
    campaign = campaign_over("killed", tmp_path, questions=4 * QUESTIONS)
    rater = judge("survivor", model, granularity="unit")
    serving.start(rater)
    first, asked = serving.started(), counter("request_success_total")
    with ThreadPoolExecutor() as beside:
        killer = beside.submit(kill_after, asked + MIDWAY)
        done = run(campaign, rater)
    killer.result()
    assert serving.started().port != first.port
    assert counter("request_success_total") > 0, "the run was over before the kill"
    assert (done.state, done.failures) == ("done", {})
    assert_answered_once(campaign, rater)


def kill_after(calls: float) -> None:
    until = time.monotonic() + PATIENCE
    while counter("request_success_total") < calls:
        assert time.monotonic() < until, "the run asked too little"
        time.sleep(0.01)
    serving.kill()
