"""Asking the same request several times: replicates, seeds, and which one counts."""

from __future__ import annotations

import json

import pytest

from annotation.models import Assignment, Campaign, Label
from judging.backends.base import Request, Setup
from judging.backends.openai import OpenAICompatible
from judging.backends.scripted import Scripted
from judging.models import Judge, JudgeCall
from judging.params import ParamError, read_params
from judging.runs import planning
from tests.judging.cast import command, judge, run_scripted, yes


def sampler(samples: int = 3, granularity: str = "item") -> Judge:
    return judge("sampler", "openai", model="m", base_url="http://127.0.0.1:9/v1",
                 granularity=granularity,
                 params={"samples": samples, "temperature": 0.7, "seed": 40})  # fmt: skip


def test_each_item_gets_one_assignment_per_sample(campaign: Campaign) -> None:
    rater = sampler()
    planning.plan(campaign, rater)
    planning.plan(campaign, rater)
    replicates = list(Assignment.objects.order_by("pk").values_list("replicate", flat=True))
    assert replicates == [0, 1, 2] * 4


def test_each_unit_gets_one_assignment_per_sample(campaign: Campaign) -> None:
    planning.plan(campaign, sampler(granularity="unit"))
    assert Assignment.objects.count() == 3 * 12


def test_samples_are_different_requests(campaign: Campaign) -> None:
    _, _, backend = run_scripted(campaign, sampler())
    assert sorted({request.sample for request in backend.asked}) == [0, 1, 2]
    assert JudgeCall.objects.values("request_hash").distinct().count() == 12


def test_each_sample_has_its_own_seed(campaign: Campaign) -> None:
    backend = OpenAICompatible(Setup("m", "http://127.0.0.1:9/v1", params={"seed": 40}))
    _, _, asked = run_scripted(campaign, sampler())
    seeds = {backend.body(request)["seed"] for request in asked.asked}
    assert seeds == {40, 41, 42}


def test_the_first_sample_stands_for_the_judge_in_the_report(campaign: Campaign) -> None:
    def first_yes(request: Request) -> str:
        answer = json.loads(yes(request))
        if request.sample:
            answer = {name: {"evidence": [], "answerable": "no"} for name in answer}
        return json.dumps(answer)

    run_scripted(campaign, sampler(), first_yes)
    assert Label.objects.count() == 36
    report = json.loads(command("report", "--campaign", campaign.name))
    assert report["scores"]["coverage"]["systems"]["bm25"]["sampler"]["value"] == 1.0


def test_every_sample_is_exported_under_its_replicate(campaign: Campaign) -> None:
    run_scripted(campaign, sampler())
    out = command("export", "--campaign", campaign.name, "--what", "labels")
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert sorted(row["replicate"] for row in rows) == [0] * 12 + [1] * 12 + [2] * 12


@pytest.mark.parametrize("given", ["samples=0", "samples=21", "samples=two"])
def test_an_impossible_number_of_samples_is_refused(given: str) -> None:
    with pytest.raises(ParamError, match="give a whole number from 1 to 20"):
        read_params([given])


def test_an_interrupted_judge_continues_with_its_missing_samples(campaign: Campaign) -> None:
    rater = sampler()
    run_scripted(campaign, rater, limit=5)
    backend = Scripted(yes)
    run, _, _ = run_scripted(campaign, rater, backend=backend)
    assert (run.done, len(backend.asked)) == (7, 7)
