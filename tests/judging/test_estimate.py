"""What a run will ask, cost and take, estimated before it starts."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Assignment, Campaign
from judging.backends.base import Answer, Request
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.estimate import estimate
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeCall, JudgeRun, Price
from judging.runs import lifecycle
from tests.judging.cast import command, judge, run_scripted, yes

TODAY = date(2026, 6, 1)


def model(name: str = "judge", **params: Any) -> Judge:
    return judge(name, "openai", model="m", base_url="http://127.0.0.1:9", params=params)


def priced() -> None:
    Price.objects.create(model="m", since="2026-05-01", prompt=1000, cached=500, completion=2000)


def thrifty(request: Request) -> Answer:
    """Two characters per token, half of the prompt cached, and ten completion tokens."""
    prompt = request.length // 2
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": prompt // 2},
    }
    return Answer(yes(request), usage=usage)


def characters(campaign: Campaign, rater: Judge) -> int:
    """The characters of all requests together."""
    preparer = build_preparer(campaign, rater, Scripted(yes))
    rows = Assignment.objects.filter(rater=rater.rater)
    return sum(preparer.prepare(row).request.length for row in rows)


def took(seconds: float) -> None:
    JudgeCall.objects.update(seconds=seconds)


def test_an_estimate_counts_missing_requests_and_writes_nothing(campaign: Campaign) -> None:
    found = estimate(model(), campaign, on=TODAY)
    assert (found.rows, found.missing, found.calls, found.reused) == (4, 4, 4, 0)
    assert not Assignment.objects.exists()
    assert not JudgeRun.objects.exists()


def test_a_limit_bounds_the_estimate(campaign: Campaign) -> None:
    assert estimate(model(), campaign, limit=2, on=TODAY).calls == 2
    assert estimate(model(), campaign, limit=50, on=TODAY).calls == 4


def test_prompts_are_measured_and_assumptions_are_noted(campaign: Campaign) -> None:
    rater = model()
    lifecycle.plan(campaign, rater)
    found = estimate(rater, campaign, on=TODAY)
    assert found.prompt_tokens == round(characters(campaign, rater) / 4)
    assert found.completion_tokens == 4 * 3 * 60
    assert found.notes == (
        "a token is assumed to have 4 characters",
        "answers are assumed to have 60 tokens per unit",
    )


def test_without_a_price_the_cost_is_unknown_with_the_reason(campaign: Campaign) -> None:
    found = estimate(model(), campaign, on=TODAY)
    assert found.cost is None
    assert "the cost is unknown, since m has no price (tandem judge price)" in found.sentence


def test_without_earlier_calls_the_time_is_unknown_with_the_reason(campaign: Campaign) -> None:
    found = estimate(model(), campaign, on=TODAY)
    assert found.seconds is None
    assert "the duration is unknown, since m has answered no such request yet" in found.sentence


def test_lengths_and_durations_are_learned_from_earlier_calls(campaign: Campaign) -> None:
    priced()
    earlier, rater = model("earlier"), model()
    run_scripted(campaign, earlier, thrifty)
    adopt_hashes(campaign, earlier)
    took(2.0)
    found = estimate(rater, campaign, concurrency=2, on=TODAY)
    tokens = characters(campaign, earlier) / 2
    assert found.prompt_tokens == pytest.approx(tokens, rel=0.01)
    assert found.cached_tokens == pytest.approx(tokens / 2, rel=0.01)
    assert (found.completion_tokens, found.notes) == (40, ())
    assert found.seconds == 4.0
    dear = found.prompt_tokens * Decimal("0.00075") + 40 * Decimal("0.002")
    assert found.cost == pytest.approx(dear, abs=Decimal("0.001"))


def test_several_addresses_shorten_the_time(campaign: Campaign) -> None:
    earlier, spread = model("earlier"), model(addresses=["http://127.0.0.1:10/v1"])
    run_scripted(campaign, earlier, thrifty)
    adopt_hashes(campaign, earlier)
    took(2.0)
    assert estimate(spread, campaign, concurrency=1, on=TODAY).seconds == 4.0
    assert estimate(spread, campaign, concurrency=2, on=TODAY).seconds == 2.0


def adopt_hashes(campaign: Campaign, rater: Judge) -> None:
    """Give the calls of a scripted run the hashes of the judge's own backend."""
    preparer = build_preparer(campaign, rater, build_backend(rater))
    for call in JudgeCall.objects.filter(run__judge=rater).select_related("assignment"):
        digest = preparer.prepare(call.assignment).request_hash
        JudgeCall.objects.filter(pk=call.pk).update(request_hash=digest)


def test_no_token_length_is_learned_from_changed_requests(campaign: Campaign) -> None:
    run_scripted(campaign, model("earlier"), thrifty)
    found = estimate(model(), campaign, on=TODAY)
    assert "a token is assumed to have 4 characters" in found.notes
    assert found.completion_tokens == 40


def test_no_duration_is_learned_from_answers_of_a_file(campaign: Campaign) -> None:
    run_scripted(campaign, model("earlier"), thrifty)
    took(0.0)
    assert estimate(model(), campaign, on=TODAY).seconds is None


def test_a_judge_that_asks_no_server_costs_nothing(campaign: Campaign) -> None:
    found = estimate(judge(), campaign, on=TODAY)
    assert (found.cost, found.notes) == (Decimal(0), ())
    assert found.sentence.startswith("4 of 4 will be asked at no cost")


def test_each_sample_of_a_judge_is_counted(campaign: Campaign) -> None:
    found = estimate(model(samples=3, temperature=1.0), campaign, on=TODAY)
    assert (found.rows, found.calls) == (12, 12)


def test_run_judge_prints_the_estimate_and_sends_nothing(campaign: Campaign) -> None:
    model()
    said = command("run_judge", "--campaign", campaign.name, "--judge", "judge", "--estimate")
    assert said.startswith("4 of 4 will be asked; the cost is unknown")
    assert "Note: a token is assumed to have 4 characters." in said
    assert not JudgeRun.objects.exists()
