"""What a run will ask, cost and take, estimated before it starts."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Assignment, Campaign
from judging import estimate as estimating
from judging.backends.base import Answer, Request
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.estimate import Estimate, duration, estimate, length_of
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
    prompt = length_of(request) // 2
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
    return sum(length_of(preparer.prepare(row).request) for row in rows)


def took(seconds: float) -> None:
    JudgeCall.objects.update(seconds=seconds)


def test_an_estimate_counts_missing_requests_and_writes_nothing(campaign: Campaign) -> None:
    found = estimate(model(), campaign, on=TODAY)
    assert (found.rows, found.missing, found.calls, found.reused) == (4, 4, 4, 0)
    assert not Assignment.objects.exists()
    assert not JudgeRun.objects.exists()


def test_assignments_with_a_result_are_not_counted(campaign: Campaign) -> None:
    run_scripted(campaign, model(), limit=3)
    found = estimate(model(), campaign, on=TODAY)
    assert (found.rows, found.missing, found.calls) == (4, 1, 1)
    assert found.sentence.startswith("1 of 4 will be asked")


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


def test_without_earlier_answers_each_has_the_maximum_length(campaign: Campaign) -> None:
    found = estimate(model(max_tokens=500), campaign, on=TODAY)
    assert found.completion_tokens == 2000
    assert "each answer is assumed to have the maximum length, 500 tokens" in found.notes


def test_without_a_price_the_cost_is_unknown_with_the_reason(campaign: Campaign) -> None:
    found = estimate(model(), campaign, on=TODAY)
    assert found.cost is None
    assert "the cost is unknown, since m has no price (tandem judge price)" in found.sentence


def test_the_price_of_the_day_applies(campaign: Campaign) -> None:
    priced()
    assert estimate(model(), campaign, on=date(2026, 5, 1)).cost
    assert estimate(model(), campaign, on=date(2026, 4, 30)).cost is None


def test_a_sample_is_drawn_from_all_missing_assignments(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = judge("j", "openai", model="m", base_url="http://h", granularity="unit")
    for planned in (False, True):
        if planned:
            lifecycle.plan(campaign, rater)
        total, missing, rows = estimating._missing(campaign, rater, 3)
        assert (total, missing, len(rows)) == (12, 12, 3)
        scopes = [(row.item_id, row.scope) for row in rows]
        assert len(set(scopes)) == 3
        first = campaign.items.order_by("position")[0].pk
        assert {item for item, _ in scopes} != {first}


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


def test_nothing_is_learned_from_calls_of_another_model(campaign: Campaign) -> None:
    run_scripted(campaign, judge("other"), thrifty)
    assert estimate(model(), campaign, on=TODAY).seconds is None


def test_no_duration_is_learned_from_answers_of_a_file(campaign: Campaign) -> None:
    run_scripted(campaign, model("earlier"), thrifty)
    took(0.0)
    assert estimate(model(), campaign, on=TODAY).seconds is None


def test_equal_requests_are_counted_as_reused_if_chosen(campaign: Campaign) -> None:
    earlier = model("earlier")
    run_scripted(campaign, earlier, thrifty, limit=3)
    adopt_hashes(campaign, earlier)
    rater = model()
    assert estimate(rater, campaign, on=TODAY).reused == 0
    found = estimate(rater, campaign, reuse="campaign", on=TODAY)
    assert (found.calls, found.reused) == (1, 3)
    assert found.sentence.startswith("1 of 4 will be asked and 3 reused from equal requests")


def test_a_judge_that_asks_no_server_costs_nothing(campaign: Campaign) -> None:
    found = estimate(judge(), campaign, on=TODAY)
    assert (found.cost, found.notes) == (Decimal(0), ())
    assert found.sentence.startswith("4 of 4 will be asked at no cost")


def test_each_sample_of_a_judge_is_counted(campaign: Campaign) -> None:
    found = estimate(model(samples=3, temperature=1.0), campaign, on=TODAY)
    assert (found.rows, found.calls) == (12, 12)


def test_an_estimate_says_if_nothing_is_missing(campaign: Campaign) -> None:
    run_scripted(campaign, model())
    assert estimate(model(), campaign).sentence == "Nothing will be asked: all 4 have a result."


@pytest.mark.parametrize(
    ("cost", "seconds", "said"),
    [
        ("4.1", 720.0, "3,120 of 9,000 will be asked, about 4.10 US dollars and 12 minutes."),
        ("0.001", 8.2, "3,120 of 9,000 will be asked, about 0.01 US dollars and 8 seconds."),
        ("0", 8.2, "3,120 of 9,000 will be asked at no cost, about 8 seconds."),
    ],
)
def test_an_estimate_is_one_readable_sentence(cost: str, seconds: float, said: str) -> None:
    found = Estimate(
        rows=9000,
        missing=3120,
        reused=0,
        calls=3120,
        prompt_tokens=1,
        cached_tokens=0,
        completion_tokens=1,
        concurrency=16,
        cost=Decimal(cost),
        seconds=seconds,
    )
    assert found.sentence == said


def test_a_duration_is_given_in_a_suitable_unit() -> None:
    assert [duration(s) for s in (0.1, 89, 720, 5400)] == [
        "1 second", "89 seconds", "12 minutes", "1.5 hours",
    ]  # fmt: skip


def test_run_judge_prints_the_estimate_and_sends_nothing(campaign: Campaign) -> None:
    model()
    said = command("run_judge", "--campaign", campaign.name, "--judge", "judge", "--estimate")
    assert said.startswith("4 of 4 will be asked; the cost is unknown")
    assert "Note: a token is assumed to have 4 characters." in said
    assert not JudgeRun.objects.exists()
