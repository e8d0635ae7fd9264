"""A run's budget: reserved before a call, settled after it, exceeded at most by open calls."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from judging.backends.base import Facts, Message, Request
from judging.costs import NOTHING, Budget, Rates

REQUEST = Request((Message("system", "x" * 30), Message("user", "y" * 11)), {},
                  Facts("", (), (), False))  # fmt: skip
RATES = Rates(Decimal(1_000_000), Decimal(500_000), Decimal(2_000_000))
PROMPT = 11


def usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def test_a_budget_without_limits_reserves_nothing() -> None:
    budget = Budget()
    assert budget.reserve(REQUEST) == NOTHING
    assert (NOTHING.tokens, NOTHING.cost) == (0, 0)
    assert budget.problem() == ""


def test_a_call_reserves_its_prompt_and_the_maximum_completion() -> None:
    budget = Budget(most_tokens=100, max_tokens=20)
    assert budget.reserve(REQUEST) is not None
    assert budget.reserve(REQUEST) is not None
    assert budget.reserve(REQUEST) is not None
    assert budget.reserve(REQUEST) is None


def test_the_unused_part_of_a_reservation_is_released() -> None:
    budget = Budget(most_tokens=40, max_tokens=20)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert budget.reserve(REQUEST) is None
    budget.settle(estimate, usage(5, 1))
    assert budget.tokens == 6
    assert budget.reserve(REQUEST) is not None


def test_a_call_without_an_answer_costs_nothing() -> None:
    budget = Budget(most_tokens=40, max_tokens=20)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert budget.settle(estimate, None) is None
    assert budget.tokens == 0
    assert budget.reserve(REQUEST) is not None


@pytest.mark.every_case
@pytest.mark.parametrize("counts", [{}, {"prompt_tokens": 5}, usage(-1, 2), {"prompt_tokens": "x"}])
def test_an_answer_without_token_counts_is_charged_its_estimate(counts: dict[str, Any]) -> None:
    budget = Budget(most_tokens=1000, max_tokens=20)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert budget.settle(estimate, counts) is None
    assert budget.tokens == PROMPT + 20


def test_tokens_spent_by_earlier_workers_count() -> None:
    budget = Budget(most_tokens=100, spent_tokens=90, max_tokens=20)
    assert budget.reserve(REQUEST) is None
    assert budget.describe_limit() == "the budget of 100 tokens is spent: 90 so far"


def test_without_a_maximum_the_mean_of_earlier_completions_is_reserved() -> None:
    budget = Budget(most_tokens=10_000)
    first = budget.reserve(REQUEST)
    assert first is not None
    assert first.completion == 256
    budget.settle(first, usage(PROMPT, 40))
    second = budget.reserve(REQUEST)
    assert second is not None
    assert second.completion == 40


def test_money_is_reserved_and_settled_by_the_rates() -> None:
    budget = Budget(most_cost=Decimal(100), max_tokens=20, rates=lambda: RATES)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert estimate.cost == Decimal(PROMPT + 40)
    assert budget.reserve(REQUEST) is None
    used = usage(10, 5) | {"prompt_tokens_details": {"cached_tokens": 4}}
    assert budget.settle(estimate, used) == Decimal(6 + 2 + 10)
    assert budget.cost == Decimal(18)


@pytest.mark.every_case
@pytest.mark.parametrize(("bound", "fits"), [(31, True), (30, False)])
def test_a_call_that_reaches_the_token_limit_exactly_is_made(bound: int, fits: bool) -> None:
    budget = Budget(most_tokens=bound, max_tokens=20)
    assert (budget.reserve(REQUEST) is not None) == fits


@pytest.mark.every_case
@pytest.mark.parametrize(("bound", "fits"), [("51", True), ("50.999999", False)])
def test_a_call_that_reaches_the_cost_limit_exactly_is_made(bound: str, fits: bool) -> None:
    budget = Budget(most_cost=Decimal(bound), max_tokens=20, rates=lambda: RATES)
    assert (budget.reserve(REQUEST) is not None) == fits


@pytest.mark.every_case
@pytest.mark.parametrize(("bound", "fits"), [("151", True), ("150", False)])
def test_costs_of_earlier_workers_count(bound: str, fits: bool) -> None:
    budget = Budget(
        most_cost=Decimal(bound), spent_cost=Decimal(100), max_tokens=20, rates=lambda: RATES
    )
    assert (budget.reserve(REQUEST) is not None) == fits
    assert budget.describe_limit() == f"the budget of {bound} USD is spent: 100 so far"


@pytest.mark.every_case
@pytest.mark.parametrize("counts", [{}, {"prompt_tokens": 5}, {"completion_tokens": 5}])
def test_a_call_of_unknown_cost_is_charged_its_estimate(counts: dict[str, int]) -> None:
    budget = Budget(most_cost=Decimal(60), max_tokens=20, rates=lambda: RATES)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert budget.settle(estimate, counts) is None
    assert budget.cost == Decimal(51)
    assert budget.reserve(REQUEST) is None


def test_a_call_whose_price_was_removed_meanwhile_is_charged_its_estimate() -> None:
    rates = iter([RATES, None])
    budget = Budget(most_cost=Decimal(60), max_tokens=20, rates=lambda: next(rates))
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert budget.settle(estimate, usage(10, 5)) is None
    assert (budget.cost, budget.tokens) == (Decimal(51), 15)


def test_a_call_without_an_answer_releases_its_reserved_cost() -> None:
    budget = Budget(most_cost=Decimal(60), max_tokens=20, rates=lambda: RATES)
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert budget.reserve(REQUEST) is None
    budget.settle(estimate, None)
    assert budget.cost == 0
    assert budget.reserve(REQUEST) == estimate


def test_the_message_names_the_limit_that_was_reached() -> None:
    budget = Budget(
        most_tokens=40, most_cost=Decimal(60), spent_tokens=20, max_tokens=20, rates=lambda: RATES
    )
    assert budget.reserve(REQUEST) is None
    assert budget.describe_limit() == "the budget of 40 tokens is spent: 20 so far"
    budget.tokens, budget.cost = 0, Decimal(20)
    assert budget.reserve(REQUEST) is None
    assert budget.describe_limit() == (
        "the budget of 60 USD leaves 40, and the next request may cost 51.000000 with its answer: "
        "20 so far"
    )


def test_each_new_completion_counts_for_a_twentieth_of_the_mean() -> None:
    budget = Budget(most_tokens=10_000)
    for completion in (100, 200):
        estimate = budget.reserve(REQUEST)
        assert estimate is not None
        budget.settle(estimate, usage(PROMPT, completion))
    estimate = budget.reserve(REQUEST)
    assert estimate is not None
    assert (estimate.prompt, estimate.completion) == (PROMPT, 105)


def test_a_cost_limit_without_a_price_is_reported_before_the_first_call() -> None:
    assert "its model has no price" in Budget(most_cost=Decimal(1)).problem()
    assert Budget(most_cost=Decimal(1), rates=lambda: RATES).problem() == ""


def test_a_limit_is_exceeded_at_most_by_the_estimation_errors_of_open_calls() -> None:
    budget = Budget(most_tokens=1000, max_tokens=20)
    under_way = []
    while (estimate := budget.reserve(REQUEST)) is not None:
        under_way.append(estimate)
    for estimate in under_way:
        budget.settle(estimate, usage(PROMPT, 60))
    assert budget.tokens <= 1000 + len(under_way) * 40
    assert budget.reserve(REQUEST) is None
