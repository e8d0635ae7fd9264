"""Probes and tries are calls like others: stored, and counted in tokens, cost and budget."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Campaign
from judging.backends.base import Facts, Message, Request
from judging.costs import Budget
from judging.engine import Control
from judging.engine.worker import summary, work
from judging.invariants import runs_count_their_calls
from judging.manifest import manifest_of
from judging.models import Judge, JudgeCall, JudgeRun, Price, UnassignedCall
from judging.runs import lifecycle
from judging.runs.comparison import compare_judges
from judging.trials.one_item import try_judge
from tests.fake_openai.running import Running
from tests.judging.cast import HASTY, judge

ITEMS = 4


@pytest.fixture
def asked(server: Running) -> Judge:
    server.behave(reset=True)
    Price.objects.create(
        model="fake-judge", since="2020-01-01", prompt=1000, cached=1000, completion=1000
    )
    return judge("fake", "openai", model="fake-judge", base_url=server.url)


def run_of(campaign: Campaign, asked: Judge, **terms: Any) -> JudgeRun:
    run = lifecycle.start(campaign, asked, **terms)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    work(run, lease, Control(), patience=HASTY)
    run.refresh_from_db()
    return run


def test_a_run_counts_every_completion_that_its_server_counted(
    campaign: Campaign, asked: Judge, server: Running
) -> None:
    run, stats = run_of(campaign, asked), server.stats()
    probes = run.unassigned_calls.count()
    assert (run.done, JudgeCall.objects.count()) == (ITEMS, ITEMS)
    assert probes >= 5
    assert run.calls == ITEMS + probes == stats["calls"]
    for name in ("prompt_tokens", "completion_tokens"):
        assert getattr(run, name) == stats["usage"][name]
    tokens = run.prompt_tokens + run.completion_tokens
    assert run.cost == Decimal(tokens) / 1000
    assert f"{run.calls} calls ({probes} to probe the server)" in summary(run)
    counts = manifest_of(run)["counts"]
    assert (counts["calls"], counts["probe_calls"]) == (run.calls, probes)
    assert list(runs_count_their_calls()) == []


def test_a_probe_that_fails_is_a_call_with_its_reason(
    campaign: Campaign, asked: Judge, server: Running
) -> None:
    server.behave(reset=True, faults={"500": 1.0})
    run = run_of(campaign, asked)
    failed = run.unassigned_calls.filter(state="status-500")
    assert failed.filter(http_status=500, usage={}, cost=None).exists()
    # The probe abandons its other questions, some of which may not have arrived.
    abandoned = run.unassigned_calls.filter(state="abandoned").count()
    assert run.calls - abandoned <= server.stats()["calls"] <= run.calls
    assert list(runs_count_their_calls()) == []


def test_what_a_probe_uses_is_taken_from_the_budget(campaign: Campaign, asked: Judge) -> None:
    run = run_of(campaign, asked, most_tokens=20)
    assert (run.state, JudgeCall.objects.count()) == ("stopped", 0)
    spent = run.prompt_tokens + run.completion_tokens
    assert spent > 20
    assert run.error == f"the budget of 20 tokens is spent: {spent} so far"


def test_a_try_is_a_call_of_its_judge_over_its_campaign(campaign: Campaign, asked: Judge) -> None:
    run = run_of(campaign, asked)
    (before,) = compare_judges(campaign)
    trial = try_judge(asked, campaign, 1)
    assert trial.answer is not None
    row = UnassignedCall.objects.get(purpose="try")
    assert (row.judge, row.campaign, row.run, row.state) == (asked, campaign, None, "answered")
    assert row.cost == trial.cost is not None
    (after,) = compare_judges(campaign)
    assert after["spent"]["calls"] == run.calls + 1
    assert after["cost"] == before["cost"] + row.cost
    assert after["tokens"] == before["tokens"] + sum(
        row.usage[name] for name in ("prompt_tokens", "completion_tokens")
    )


def test_a_try_that_fails_is_stored_too(campaign: Campaign, asked: Judge, server: Running) -> None:
    server.behave(reset=True, faults={"prose": 1.0})
    try_judge(asked, campaign, 1)
    server.behave(reset=True, faults={"500": 1.0})
    try_judge(asked, campaign, 1)
    states = UnassignedCall.objects.filter(purpose="try").values_list("state", flat=True)
    assert list(states) == ["answered", "status-500"]


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        (0, "the budget of 300 tokens leaves 300, and the next request may need 812 with its "
         "answer: 0 so far"),
        (200, "the budget of 300 tokens is spent: 200 so far"),
    ],
)  # fmt: skip
def test_a_budget_is_not_said_to_be_spent_if_it_is_too_small_for_one_request(
    spent: int, said: str
) -> None:
    request = Request((Message("user", "x" * 48),), {}, Facts("", (), (), unit_by_unit=True))
    budget = Budget(most_tokens=300, spent_tokens=spent, max_tokens=800)
    assert budget.reserve(request) is None
    assert budget.describe_limit() == said


def test_the_terminal_says_that_a_server_is_down(
    campaign: Campaign, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge("fake", "openai", model="fake-judge", base_url=server.url, granularity="unit")
    monkeypatch.setattr("judging.engine.Patience", lambda: HASTY)
    monkeypatch.setattr("judging.engine.loop.RENEW_SECONDS", 0.02)
    server.behave(reset=True, faults={"html": 1.0})
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("run_judge", campaign=campaign.name, judge="fake", stdout=out, stderr=out)
    assert "Note: endpoint down since" in out.getvalue()
    assert "the server sent a page instead of JSON" in out.getvalue()
