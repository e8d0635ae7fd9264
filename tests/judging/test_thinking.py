"""Thinking tokens are counted separately, and paid for and limited like an answer's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Campaign
from judging.backends.base import Answer, Facts, Message, Request
from judging.backends.scripted import Scripted
from judging.costs import Budget, Rates, TokenCounts, count_tokens, tokens_in
from judging.invariants import runs_count_their_calls
from judging.manifest import manifest_of
from judging.models import JudgeCall, JudgeRun, Price
from judging.runs import lifecycle
from judging.runs.comparison import compare_judges
from tests.judging.cast import HASTY, judge, work, yes

REQUEST = Request((Message("user", "y" * 40),), {}, Facts("", (), (), False))
INSIDE = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "completion_tokens_details": {"reasoning_tokens": 30},
    "prompt_tokens_details": {"cached_tokens": 64},
}
"""The form of OpenAI: reasoning is a part of the completion."""
BESIDE = INSIDE | {"completion_tokens": 20}
"""The form of servers that count it beside the completion, as their total shows."""


def test_thinking_tokens_within_the_completion_are_not_added_to_it() -> None:
    assert count_tokens(INSIDE) == TokenCounts(100, 64, 50, 30)
    assert tokens_in(INSIDE) == (100, 64, 50)


def test_thinking_tokens_beside_the_completion_are_added_to_it() -> None:
    assert count_tokens(BESIDE) == TokenCounts(100, 64, 50, 30)
    assert tokens_in(BESIDE) == (100, 64, 50)


def test_thinking_tokens_cost_as_much_as_completion_tokens() -> None:
    rates = Rates(Decimal(1), Decimal(0), Decimal(1000))
    assert rates.cost(INSIDE) == rates.cost(BESIDE) == Decimal("0.050036")


@pytest.mark.every_case
@pytest.mark.parametrize(
    "details", [None, {}, {"reasoning_tokens": None}, {"reasoning_tokens": -1}, 7]
)
def test_an_invalid_count_of_thinking_tokens_is_read_as_zero(details: Any) -> None:
    assert count_tokens(INSIDE | {"completion_tokens_details": details}).thinking_tokens == 0


def test_missing_token_counts_are_read_as_zero() -> None:
    assert count_tokens({}) == TokenCounts(0, 0, 0, 0)
    # Without the prompt's count, a total says nothing about tokens beside the completion.
    of_answer = BESIDE | {"prompt_tokens": None, "total_tokens": 50}
    assert count_tokens(of_answer) == TokenCounts(0, 0, 20, 20)
    only_thought = BESIDE | {"completion_tokens": 0, "total_tokens": 130}
    assert count_tokens(only_thought) == TokenCounts(100, 64, 30, 30)


def test_cached_tokens_are_counted_and_paid_up_to_those_of_the_prompt() -> None:
    usage = INSIDE | {"prompt_tokens_details": {"cached_tokens": 900}}
    assert count_tokens(usage).cached_tokens == 100
    assert tokens_in(usage) == (100, 100, 50)


def test_thinking_tokens_are_counted_up_to_those_of_the_completion() -> None:
    usage = INSIDE | {"completion_tokens_details": {"reasoning_tokens": 900}}
    assert count_tokens(usage).thinking_tokens == 50


@pytest.mark.parametrize("usage", [INSIDE, BESIDE])
def test_a_budget_includes_thinking_tokens_and_ends_the_run_in_order(usage: dict[str, Any]) -> None:
    budget = Budget(most_tokens=400, max_tokens=60)
    for spent in (150, 300):
        estimate = budget.reserve(REQUEST)
        assert estimate is not None
        budget.settle(estimate, usage)
        assert budget.tokens == spent
    learned = budget.reserve(REQUEST)
    assert learned is not None
    assert budget.reserve(REQUEST) is None
    assert budget.describe_limit() == "the budget of 400 tokens is spent: 300 so far"


def test_a_budget_learns_the_length_of_completions_with_thinking() -> None:
    budget = Budget(most_tokens=10_000)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    budget.settle(estimate, BESIDE)
    following = budget.reserve(REQUEST)
    assert following is not None
    assert following.completion == 50


def thinking(request: Request) -> Answer:
    return Answer(yes(request), usage=BESIDE, model="m")


def test_a_run_within_its_budget_counts_thinking_tokens_separately(campaign: Campaign) -> None:
    Price.objects.create(model="m", since="2020-01-01", prompt=1, cached=0, completion=1000)
    params = {"max_tokens": 50, "concurrency": 1}
    server = {"model": "m", "base_url": "http://127.0.0.1:9"}
    thinker = judge("thinker", "openai", granularity="unit", params=params, **server)
    run = lifecycle.start(campaign, thinker, most_cost=Decimal("0.16"))
    lease = lifecycle.lease_run(run)
    assert lease is not None
    ending = work(run, lease, None, Scripted(thinking), HASTY)
    run.refresh_from_db()
    assert ending.how == "budget"
    assert (run.calls, run.cost) == (3, Decimal("0.150108"))
    assert (run.completion_tokens, run.thinking_tokens, run.cached_tokens) == (150, 90, 192)
    assert manifest_of(run)["usage"]["thinking_tokens"] == 90
    assert compare_judges(campaign)[0]["spent"]["thinking_tokens"] == 90
    assert not list(runs_count_their_calls())
    # An earlier run counted cached tokens as its server did, even beyond those of the prompt.
    told = BESIDE | {"prompt_tokens_details": {"cached_tokens": 900}}
    JudgeCall.objects.filter(run=run).update(usage=told)
    assert "I8" in next(runs_count_their_calls())
    JudgeRun.objects.filter(pk=run.pk).update(cached_tokens=2700)
    assert not list(runs_count_their_calls())
