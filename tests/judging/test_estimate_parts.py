"""What an estimate counts, learns and says, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign
from judging import estimate as estimating
from judging.estimate import CallAverages, Estimate, duration, estimate
from judging.models import Judge, JudgeCall, JudgeRun, Price
from judging.prompts.request import Prepared, Preparer
from judging.runs import ledger, lifecycle
from tests.judging.cast import command, judge, run_scripted
from tests.judging.test_estimate import TODAY, adopt_hashes, model, priced, thrifty, took

CONCURRENCY = 16

FIGURES = Estimate(
    rows=4, missing=3, reused=0, calls=3, prompt_tokens=1, cached_tokens=0, completion_tokens=1,
    concurrency=2,
)  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "3 of 4 will be asked."),
        ({"missing": 0}, "Nothing will be asked: all 4 have a result."),
        ({"reused": 1}, "3 of 4 will be asked and 1 reused from equal requests."),
        ({"cost": Decimal(0)}, "3 of 4 will be asked at no cost."),
        ({"cost": Decimal(2)}, "3 of 4 will be asked, about 2.00 US dollars."),
        ({"seconds": 0.0}, "3 of 4 will be asked, about 1 second."),
        ({"cost_unknown": "A"}, "3 of 4 will be asked; A."),
        ({"time_unknown": "B"}, "3 of 4 will be asked; B."),
        ({"cost_unknown": "A", "time_unknown": "B"}, "3 of 4 will be asked; A; B."),
        ({"cost": Decimal(1), "seconds": 60.0, "time_unknown": ""},
         "3 of 4 will be asked, about 1.00 US dollars and 60 seconds."),
    ],
)  # fmt: skip
def test_the_sentence_words_each_figure(changes: dict[str, Any], said: str) -> None:
    assert replace(FIGURES, **changes).sentence == said


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "1 second"), (1.4, "1 second"), (1.6, "2 seconds"), (89.9, "90 seconds"),
        (90, "2 minutes"), (5399, "90 minutes"), (5400, "1.5 hours"), (36_000, "10.0 hours"),
    ],
)  # fmt: skip
def test_seconds_become_minutes_and_hours(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.fixture
def earlier(campaign: Campaign) -> Judge:
    """A judge of the same model with four answers."""
    rater = model("earlier")
    run_scripted(campaign, rater, thrifty)
    took(2.0)
    return rater


def test_the_estimate_learns_from_calls_of_the_same_model_and_kind(
    campaign: Campaign, earlier: Judge
) -> None:
    found = estimate(model(), campaign, on=TODAY)
    assert (found.completion_tokens, found.concurrency) == (40, CONCURRENCY)
    assert found.seconds == 2.0


def test_the_estimate_learns_nothing_from_differing_calls(
    campaign: Campaign, earlier: Judge
) -> None:
    command("create_campaign", "other", "--protocol", "answer-rating", "--batch", "bridges")
    first = JudgeCall.objects.order_by("id").first()
    calls, judges = JudgeCall.objects.all(), Judge.objects.filter(pk=earlier.pk)
    changes: list[tuple[QuerySet[Any], dict[str, Any]]] = [
        (calls, {"state": "unreadable"}),
        (calls, {"repair": True}),
        (calls, {"reused_from": first}),
        (judges, {"backend": "vllm"}),
        (judges, {"model": "n"}),
        (judges, {"granularity": "unit"}),
        (JudgeRun.objects.all(), {"campaign": Campaign.objects.get(name="other")}),
        (calls, {"usage": {"prompt_tokens": 0, "completion_tokens": 10}}),
        (calls, {"usage": {"completion_tokens": 10}}),
        (calls, {"usage": {}}),
    ]
    rater = model()
    for rows, changed in changes:
        with transaction.atomic():
            rows.update(**changed)
            found = estimate(rater, campaign, on=TODAY)
            assert "answers are assumed to have 60 tokens per unit" in found.notes, changed
            assert (found.completion_tokens, found.cached_tokens) == (4 * 3 * 60, 0), changed
            assert found.seconds == (2.0 if "usage" in changed else None), changed
            transaction.set_rollback(True)


def test_the_estimate_learns_only_from_the_newest_calls(
    campaign: Campaign, earlier: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimating, "LEARNED", 2)
    for number, call in enumerate(JudgeCall.objects.order_by("id")):
        usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 10**number}
        usage |= {"prompt_tokens_details": {"cached_tokens": number}}
        JudgeCall.objects.filter(pk=call.pk).update(usage=usage, seconds=float(number - 2))
    found = estimate(model(), campaign, on=TODAY)
    assert found.completion_tokens == 4 * (100 + 1000) / 2
    assert found.cached_tokens == pytest.approx(found.prompt_tokens * 5 / 20, abs=1)
    assert found.seconds == 1.0


def test_without_earlier_calls_defaults_are_assumed(campaign: Campaign) -> None:
    assert (estimating.SAMPLE, estimating.COMPARED, estimating.LEARNED) == (40, 1000, 200)
    assert estimating.MEASURED == 20
    found = estimate(model(max_tokens=1500), campaign, on=TODAY)
    assert found.notes[1] == "each answer is assumed to have the maximum length, 1,500 tokens"
    assert (found.cached_tokens, found.completion_tokens) == (0, 6000)


def test_an_estimate_says_what_its_tokens_are_based_on(campaign: Campaign) -> None:
    def basis(rater: Judge) -> str:
        return estimate(rater, campaign, on=TODAY).basis

    prompts = "the characters of the prompts, and"
    assert basis(judge("words")) == "", "it asks no server"
    assert basis(model("plain")) == f"{prompts} a default length of answers"
    for number, name in enumerate(("max_tokens", "max_completion_tokens")):
        rater = model(f"short {number}", **{name: 100})
        assert basis(rater) == f"{prompts} the maximum length of answers"
    earlier = model("earlier")
    run_scripted(campaign, earlier, thrifty, limit=1)
    assert basis(rater) == f"{prompts} answers in 1 earlier call of this model"
    run_scripted(campaign, earlier, thrifty)
    assert basis(rater) == f"{prompts} answers in 4 earlier calls of this model"
    adopt_hashes(campaign, earlier)
    assert basis(rater) == "4 earlier calls of this model under this protocol"
    JudgeCall.objects.exclude(pk=JudgeCall.objects.latest("id").pk).update(state="unreadable")
    assert basis(rater) == "1 earlier call of this model under this protocol"


def test_the_duration_is_divided_by_the_concurrency(campaign: Campaign, earlier: Judge) -> None:
    table = [(None, None, CONCURRENCY, 2.0), (2, None, 2, 4.0), (2, 1, 1, 8.0), (3, None, 3, 8 / 3)]
    for number, (own, chosen, used, seconds) in enumerate(table):
        params = {} if own is None else {"concurrency": own}
        rater = model(f"other {number}", **params)
        found = estimate(rater, campaign, concurrency=chosen, on=TODAY)
        assert found.concurrency == used
        assert found.seconds == pytest.approx(seconds)


def test_reused_answers_cost_neither_money_nor_time(campaign: Campaign) -> None:
    first = model("earlier")
    run_scripted(campaign, first, thrifty, limit=3)
    adopt_hashes(campaign, first)
    took(2.0)
    priced()
    whole = estimate(model(), campaign, concurrency=1, on=TODAY)
    found = estimate(model(), campaign, reuse="campaign", concurrency=1, on=TODAY)
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name) / 4, abs=1)
    assert (whole.seconds, found.seconds) == (8.0, 2.0)
    few = estimate(model(), campaign, reuse="campaign", limit=2, on=TODAY)
    assert (few.missing, few.reused, few.calls) == (4, 2, 0)
    assert (few.prompt_tokens, few.seconds, few.cost) == (0, 0.0, 0)


def test_a_finished_campaign_costs_no_time_and_no_tokens(
    campaign: Campaign, earlier: Judge
) -> None:
    found = estimate(earlier, campaign, on=TODAY)
    assert (found.missing, found.calls, found.reused) == (0, 0, 0)
    assert (found.prompt_tokens, found.completion_tokens, found.seconds) == (0, 0, 0.0)


def test_a_price_applies_from_its_day_on_and_the_default_day_is_today(campaign: Campaign) -> None:
    tomorrow = timezone.now().date() + timedelta(days=1)
    Price.objects.create(model="m", since=tomorrow, prompt=1, cached=1, completion=1)
    assert estimate(model(), campaign).cost is None
    assert estimate(model(), campaign, on=tomorrow).cost is not None
    assert estimate(model(), campaign, on=date(2020, 1, 1)).cost is None


def test_assignments_without_a_result_are_missing(campaign: Campaign) -> None:
    rater = model()
    lifecycle.plan(campaign, rater)
    row = ledger.assignments_of(campaign, rater).order_by("id")[0]
    known = [("open", 4), ("leased", 4), ("cancelled", 4), ("done", 3), ("failed", 3)]
    for status, missing in known:
        Assignment.objects.filter(pk=row.pk).update(status=status)
        found = estimate(rater, campaign, on=TODAY)
        assert (found.rows, found.missing, found.calls) == (4, missing, missing), status


@pytest.mark.parametrize(
    ("planned", "sample", "reuse", "looked_at"),
    [(True, 5, "never", 5), (False, 5, "never", 5), (True, 5, "all", 12)],
)
def test_requests_are_measured_on_a_sample(
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
    planned: bool,
    sample: int,
    reuse: str,
    looked_at: int,
) -> None:
    """The campaign is larger than the sample, and assignments of an item are adjacent."""
    seen: list[Assignment] = []
    prepare_all = Preparer.prepare_all

    def watched(self: Preparer, rows: Sequence[Assignment]) -> Any:
        seen.extend(rows)
        return prepare_all(self, rows)

    measured: list[int] = []
    tokens = estimating._tokens_a_call

    def measures(judge: Judge, learned: CallAverages, prepared: Sequence[Prepared]) -> Any:
        measured.append(len(prepared))
        return tokens(judge, learned, prepared)

    monkeypatch.setattr(Preparer, "prepare_all", watched)
    monkeypatch.setattr(estimating, "_tokens_a_call", measures)
    monkeypatch.setattr(estimating, "SAMPLE", sample)
    monkeypatch.setattr(estimating, "CHUNK", 2)
    rater = judge("units", "openai", model="m", base_url="http://127.0.0.1:9", granularity="unit")
    if planned:
        lifecycle.plan(campaign, rater)
    found = estimate(rater, campaign, reuse=reuse, on=TODAY)
    assert (found.rows, found.missing) == (12, 12)
    assert len(seen) == len({(row.item_id, row.scope) for row in seen}) == looked_at
    assert measured == [5]
    items = [row.item_id for row in seen]
    assert items == sorted(items)


def test_characters_per_token_are_measured_on_the_newest_calls(
    campaign: Campaign, earlier: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt_hashes(campaign, earlier)
    whole = estimate(model(), campaign, on=TODAY)
    assert whole.notes == ()
    monkeypatch.setattr(estimating, "MEASURED", 1)
    newest = JudgeCall.objects.latest("id")
    JudgeCall.objects.exclude(pk=newest.pk).update(
        usage={"prompt_tokens": 1, "completion_tokens": 10}
    )
    assert estimate(model(), campaign, on=TODAY).prompt_tokens == pytest.approx(
        whole.prompt_tokens, rel=0.01
    )
