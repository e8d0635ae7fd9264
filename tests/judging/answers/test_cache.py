"""Reusing answers to equal requests if the run may, and what makes two requests equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from annotation.models import Assignment, Campaign, Label
from judging.answers.cache import EqualRequests, reused_results
from judging.backends.base import Answer, FinalError, Message, Request, Setup, TransientError
from judging.backends.openai import OpenAICompatible
from judging.backends.scripted import Script, Scripted
from judging.batch_api.requests import build_preparer
from judging.engine.worker import work
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.request import request_hash
from judging.runs import ledger, lifecycle
from tests.judging.backends.test_openai import REQUEST, SCHEMA
from tests.judging.cast import HASTY, command, judge, run_scripted, yes
from tests.judging.processes import query as numbered

USAGE = {"prompt_tokens": 1000, "completion_tokens": 10}


def paid(request: Request) -> Answer:
    return Answer(yes(request), usage=USAGE, model="scripted")


def run_again(
    campaign: Campaign, rater: Judge, reuse: str, script: Script = paid
) -> tuple[JudgeRun, Scripted]:
    backend = Scripted(script)
    run = lifecycle.start(campaign, rater, reuse=reuse)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    work(run, lease, None, backend, HASTY)
    run.refresh_from_db()
    return run, backend


def values(rater: Judge) -> list[tuple[str, str, str]]:
    labels = Label.objects.filter(response__assignment__rater=rater.rater)
    return sorted(
        labels.values_list("unit__name", "variable", "value").order_by("unit", "variable")
    )


@pytest.fixture
def first(campaign: Campaign) -> JudgeRun:
    """A run of the judge `first` whose four answers were paid for."""
    return run_scripted(campaign, judge("first"), paid)[0]


def test_answers_are_reused_only_on_request(campaign: Campaign, first: JudgeRun) -> None:
    run, backend = run_again(campaign, judge("second"), "never")
    assert (run.calls, run.reused, len(backend.asked)) == (4, 0, 4)


def test_an_equal_request_of_the_campaign_is_not_paid_for_again(
    campaign: Campaign, first: JudgeRun
) -> None:
    second = judge("second")
    run, backend = run_again(campaign, second, "campaign")
    assert (run.state, run.done, run.reused, run.calls) == ("done", 4, 4, 0)
    assert (run.prompt_tokens, run.cost, backend.asked) == (0, Decimal(0), [])
    assert values(second) == values(first.judge)


def test_a_reused_answer_names_its_original_call(campaign: Campaign, first: JudgeRun) -> None:
    run, _ = run_again(campaign, judge("second"), "campaign")
    calls = list(JudgeCall.objects.filter(run=run).select_related("reused_from"))
    sources = {call.reused_from for call in calls if call.reused_from}
    assert {source.run_id for source in sources} == {first.pk}
    assert len(sources) == len(calls) == 4
    assert {(call.state, call.cost, str(call.usage)) for call in calls} == {("answered", 0, "{}")}
    assert all(call.completion == call.reused_from.completion for call in calls if call.reused_from)


def test_only_original_calls_are_reused(campaign: Campaign, first: JudgeRun) -> None:
    run_again(campaign, judge("second"), "campaign")
    run, _ = run_again(campaign, judge("third"), "campaign")
    froms = JudgeCall.objects.filter(run=run).values_list("reused_from__run", flat=True)
    assert set(froms) == {first.pk}


def test_answers_of_other_campaigns_are_reused_only_on_request(
    campaign: Campaign, first: JudgeRun
) -> None:
    command("create_campaign", "other", "--protocol", "report-coverage", "--batch", "bridges")
    other = Campaign.objects.get(name="other")
    run, _ = run_again(other, judge("second"), "campaign")
    assert run.reused == 0
    run, _ = run_again(other, judge("third"), "all")
    assert (run.reused, run.calls) == (4, 0)


def test_a_different_request_is_sent(campaign: Campaign, first: JudgeRun) -> None:
    run, _ = run_again(campaign, judge("second", granularity="unit"), "all")
    assert (run.reused, run.calls) == (0, 12)


def test_transport_failures_are_never_reused(campaign: Campaign) -> None:
    def broken(request: Request) -> Exception:
        return TransientError("reset", "the connection broke off")

    run_scripted(campaign, judge("first"), mixed(broken))
    run, _ = run_again(campaign, judge("second"), "campaign")
    assert (run.reused, run.done) == (3, 4)


def mixed(other: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """An answer to all but one item."""
    return lambda r: other(r) if "Nobody knows 2" in r.facts.texts[0] else paid(r)


def final(reason: Any) -> Callable[[Request], Exception]:
    return lambda request: FinalError(reason, "no answer", answer=Answer("?"))


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("script", "temperature", "reused"),
    [
        (lambda request: "no JSON", 0.0, 4),
        (lambda request: "no JSON", 0.7, 3),
        (final("unreadable"), 0.0, 4),
        (final("unreadable"), 0.7, 3),
        (final("refused"), 0.0, 3),
        (final("filtered"), 0.0, 3),
    ],
)
def test_an_unreadable_answer_is_reused_only_at_temperature_0(
    campaign: Campaign, script: Callable[[Request], Any], temperature: float, reused: int
) -> None:
    def made(name: str) -> Judge:
        given = {"model": "m", "base_url": "http://127.0.0.1:9"}
        return judge(name, "openai", params={"temperature": temperature}, **given)

    run_scripted(campaign, made("first"), mixed(script))
    run, backend = run_again(campaign, made("second"), "campaign")
    assert (run.reused, len(backend.asked)) == (reused, 4 - reused)
    assert run.failures == ({"unreadable": 1} if reused == 4 else {})


def test_an_answer_that_needed_a_repair_is_asked_for_again(
    campaign: Campaign, first: JudgeRun
) -> None:
    call = JudgeCall.objects.filter(run=first).earliest("id")
    call.pk, call._state.adding, call.repair = None, True, True
    call.save()
    run, _ = run_again(campaign, judge("second"), "campaign")
    assert (run.reused, run.calls) == (3, 1)


def test_a_trial_reuses_no_answers(campaign: Campaign, first: JudgeRun) -> None:
    """A trial that reused answers would always find that they agree."""
    trial = Judge(rater=first.judge.rater, base=first.judge, backend="lexical")
    rows = Assignment.objects.filter(rater=first.judge.rater)
    run = JudgeRun(campaign=campaign, judge=trial, reuse="all")
    prepared = prepared_rows(campaign, first.judge, list(rows))
    assert reused_results(run, prepared) == []


def prepared_rows(campaign: Campaign, rater: Judge, rows: list[Assignment]) -> list[Any]:
    preparer = build_preparer(campaign, rater, Scripted(yes))
    return [preparer.prepare(row) for row in rows]


def test_a_run_killed_before_storing_reuses_the_same_answers_again(
    campaign: Campaign, first: JudgeRun
) -> None:
    """A look-up stores nothing, so a second look-up finds the same answers."""
    second = judge("second")
    run = lifecycle.start(campaign, second, reuse="campaign")
    rows = list(Assignment.objects.filter(rater=second.rater))
    once = reused_results(run, prepared_rows(campaign, second, rows))
    again = reused_results(run, prepared_rows(campaign, second, rows))
    assert [r.outcome for r in once] == [r.outcome for r in again]
    assert len(again) == 4
    assert not JudgeCall.objects.filter(run=run).exists()
    assert run_again(campaign, second, "campaign")[0].reused == 4


def test_a_resumed_run_counts_nothing_twice(campaign: Campaign, first: JudgeRun) -> None:
    second = judge("second")
    run = lifecycle.start(campaign, second, limit=2, reuse="campaign")
    lease = lifecycle.lease_run(run)
    assert lease is not None
    work(run, lease, None, Scripted(paid), HASTY)
    rest, backend = run_again(campaign, second, "campaign")
    run.refresh_from_db()
    assert (run.reused, rest.reused, backend.asked) == (2, 2, [])
    assert JudgeCall.objects.filter(reused_from__isnull=False).count() == 4


def test_of_equal_requests_in_one_run_the_second_waits_for_the_first(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All items of this campaign lead to the same request."""
    monkeypatch.setattr(Scripted, "identity", lambda self, request: {"schema": "the same"})
    run, backend = run_again(campaign, judge(), "campaign", lambda request: "no JSON")
    assert (len(backend.asked), run.calls, run.reused) == (1, 1, 3)
    assert run.failures == {"unreadable": 4}
    run, backend = run_again(campaign, judge("never"), "never", lambda request: "no JSON")
    assert len(backend.asked) == 4


def test_the_second_equal_request_is_asked_if_the_first_has_no_answer(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scripted, "identity", lambda self, request: {"schema": "the same"})
    run, backend = run_again(campaign, judge(), "campaign", final("refused"))
    assert (len(backend.asked), run.reused, run.failures) == (4, 0, {"refused": 4})


@pytest.fixture
def twins(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """200 units, of which each pair in neighbouring reports has equal requests."""
    lines = (json.dumps(numbered(n)) + "\n" for n in range(20))
    (tmp_path / "twins.jsonl").write_text("".join(lines), "utf-8")
    command("load_batch", str(tmp_path / "twins.jsonl"), "--name", "twins")
    command("create_campaign", "twins", "--protocol", "report-coverage", "--batch", "twins")

    def identity(self: Scripted, request: Request) -> dict[str, str]:
        pair = int(request.facts.texts[0].split()[1].rstrip(":")) // 2
        return {"asked": f"{pair} {request.facts.units[0].text}"}

    monkeypatch.setattr(Scripted, "identity", identity)
    return Campaign.objects.get(name="twins")


def test_an_assignment_waiting_for_an_equal_request_is_claimed_once(
    twins: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: list[int] = []
    claim = ledger.claim

    def counted(*args: Any) -> list[Assignment]:
        rows = claim(*args)
        claims.append(len(rows))
        return rows

    monkeypatch.setattr("judging.runs.ledger.claim", counted)
    backend = Scripted(yes, seconds=0.05)
    rater = judge(granularity="unit", params={"concurrency": 8})
    run = lifecycle.start(twins, rater, reuse="campaign")
    work(run, lifecycle.lease_run(run) or uuid4(), None, backend, HASTY)
    run.refresh_from_db()
    assert (run.done, run.calls, run.reused, len(backend.asked)) == (200, 100, 100, 100)
    assert sum(claims) == 200
    assert backend.most == 8


def test_claims_are_limited_by_waiting_requests(
    twins: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.answers.cache.MAX_WAITING", 3)
    monkeypatch.setattr("judging.engine.loop.MIN_CLAIM", 2)
    waiting: list[int] = []
    claim_firsts = EqualRequests.claim_firsts

    def watched(self: EqualRequests, prepared: Any) -> Any:
        firsts = claim_firsts(self, prepared)
        waiting.append(self.waiting)
        return firsts

    monkeypatch.setattr(EqualRequests, "claim_firsts", watched)
    rater = judge(granularity="unit", params={"concurrency": 2})
    run = lifecycle.start(twins, rater, reuse="campaign")
    work(run, lifecycle.lease_run(run) or uuid4(), None, Scripted(yes, seconds=0.005), HASTY)
    run.refresh_from_db()
    assert (run.done, run.calls, run.reused) == (200, 100, 100)
    assert max(waiting) <= 3 + 2


def test_an_assignment_is_asked_itself_if_its_equal_request_failed(twins: Campaign) -> None:
    """The server fails on one of the two; the other must not wait forever."""
    refused: set[str] = set()

    def script(request: Request) -> Any:
        asked = f"{request.facts.texts[0][:8]} {request.facts.units[0].name}"
        if request.facts.units[0].name.endswith(":3") and len(refused) < 5:
            refused.add(asked)
            return FinalError("refused", "no")
        return yes(request)

    rater = judge(granularity="unit", params={"concurrency": 4})
    run = lifecycle.start(twins, rater, reuse="campaign")
    work(run, lifecycle.lease_run(run) or uuid4(), None, Scripted(script), HASTY)
    run.refresh_from_db()
    assert run.failures == {"refused": 5}
    assert (run.state, run.done) == ("done", 195)
    assert run.calls + run.reused == 200


def test_the_reuse_option_is_accepted(campaign: Campaign) -> None:
    judge("first")
    judge("second")
    run = ("run_judge", "--campaign", campaign.name, "--judge")
    command(*run, "first")
    assert "4 reused" in command(*run, "second", "--reuse", "campaign")
    assert [run.reused for run in JudgeRun.objects.order_by("id")] == [0, 4]
    assert [run.reuse for run in JudgeRun.objects.order_by("id")] == ["never", "campaign"]


def digest(request: Request = REQUEST, url: str = "http://a/v1", **params: Any) -> str:
    model = params.pop("model", "m")
    key = params.pop("api_key_env", "KEY")
    return request_hash(OpenAICompatible(Setup(model, url, key, params)), request)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "changed",
    [
        {"url": "http://b/v1"},
        {"model": "n"},
        {"temperature": 0.5},
        {"top_p": 0.9},
        {"seed": 1},
        {"max_tokens": 9},
        {"logprobs": 5},
        {"request": replace(REQUEST, messages=(Message("user", "Is it?"),))},
        {"request": replace(REQUEST, messages=REQUEST.messages[::-1])},
        {"request": replace(REQUEST, schema=SCHEMA | {"additionalProperties": True})},
        {"request": replace(REQUEST, sample=1)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_sent_part_of_a_request_changes_its_hash(changed: dict[str, Any]) -> None:
    assert digest(**changed) != digest()


@pytest.mark.parametrize(
    "changed", [{"concurrency": 3}, {"timeout": 9.0}, {"api_key_env": "OTHER"}, {"url": "http://a"}]
)
def test_key_timeout_and_concurrency_do_not_change_the_hash(changed: dict[str, Any]) -> None:
    assert digest(**changed) == digest()


def test_the_same_item_of_another_run_has_the_same_hash(campaign: Campaign) -> None:
    run_scripted(campaign, judge("first"), paid)
    run_scripted(campaign, judge("second"), paid)
    hashes = JudgeCall.objects.values_list("request_hash", flat=True)
    assert len(hashes) == 8
    assert len(set(hashes)) == 4


def test_campaigns_of_different_protocols_share_no_answers(
    campaign: Campaign, first: JudgeRun
) -> None:
    command("create_campaign", "rated", "--protocol", "answer-rating", "--batch", "bridges")
    rated = Campaign.objects.get(name="rated")
    run, _ = run_again(rated, judge("other"), "all", lambda request: "no JSON")
    assert (run.reused, run.failed) == (0, run.calls)
