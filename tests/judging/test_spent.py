"""The cost of runs: unknown without a price, and never 0 instead."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging.costs import cost_of_run, format_dollars, known_cost, with_last_cost
from judging.models import JudgeCall, JudgeRun
from judging.runs import lifecycle
from tests.judging.cast import judge

CENT = Decimal("0.01")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("total", "calls", "lane", "last", "expected"),
    [
        (CENT, 3, 1, None, CENT),
        (Decimal(0), 0, 1, None, Decimal(0)),
        (Decimal(0), 3, None, None, Decimal(0)),
        (Decimal(0), 3, 1, None, None),
        (Decimal(0), 3, 1, Decimal(0), Decimal(0)),
    ],
)
def test_a_cost_is_unknown_only_if_a_server_answered_without_a_price(
    total: Decimal, calls: int, lane: int | None, last: Decimal | None, expected: Decimal | None
) -> None:
    assert known_cost(total, calls, lane, last) == expected


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (None, "unknown"),
        (Decimal(0), "$0"),
        (Decimal("0.000099"), "under $0.0001"),
        (Decimal("0.0001"), "$0.0001"),
        (Decimal("0.9999"), "$0.9999"),
        (Decimal(1), "$1.00"),
        (Decimal("1234.567"), "$1,234.57"),
    ],
)
def test_an_amount_is_shown_with_its_significant_digits(amount: Decimal | None, words: str) -> None:
    assert format_dollars(amount) == words


@pytest.fixture
def asked(campaign: Campaign) -> JudgeRun:
    """A run of a judge that asks a server, after three calls."""
    rater = judge(backend="openai", model="m", base_url="http://h/v1")
    run = lifecycle.start(campaign, rater)
    JudgeRun.objects.filter(pk=run.pk).update(calls=3)
    run.refresh_from_db()
    return run


def call(run: JudgeRun, completion: str | None, cost: str | None, **more: object) -> JudgeCall:
    return JudgeCall.objects.create(
        run=run,
        assignment=Assignment.objects.filter(rater=run.judge.rater)[0],
        attempt=1,
        state="answered",
        completion=completion,
        cost=None if cost is None else Decimal(cost),
        sent_at=timezone.now(),
        seconds=1.0,
        **more,
    )


def both(run: JudgeRun) -> set[Decimal | None]:
    """What the run has cost, by itself and as pages list it."""
    return {cost_of_run(run), cost_of_run(with_last_cost(JudgeRun.objects.all()).get(pk=run.pk))}


def test_the_cost_of_a_run_without_answers_is_unknown(asked: JudgeRun) -> None:
    call(asked, None, "0")
    assert both(asked) == {None}


@pytest.mark.postgresql  # PostgreSQL refuses a subquery of two rows
def test_the_newest_answer_decides_whether_the_cost_is_known(asked: JudgeRun) -> None:
    first = call(asked, "{}", "0")
    assert both(asked) == {Decimal(0)}
    call(asked, "{}", None)
    assert both(asked) == {None}
    call(asked, "{}", "0", reused_from=first)
    assert both(asked) == {None}
    call(asked, None, "0")
    assert both(asked) == {None}


def test_answers_of_another_run_do_not_count(asked: JudgeRun, campaign: Campaign) -> None:
    other = lifecycle.start(
        campaign, judge("other", backend="openai", model="m", base_url="http://h")
    )
    call(other, "{}", "0")
    assert both(asked) == {None}
