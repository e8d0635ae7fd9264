"""Through every door, an answer that did not end well and one to a cut prompt give no label."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Campaign, Label, User
from judging.answers.results import Failure, find_stored_results
from judging.backends.base import Answer
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer, write
from judging.batch_api.results import load_results
from judging.engine.worker import work
from judging.judge_backends import build_backend
from judging.manifest import warnings_of
from judging.models import Judge, JudgeCall, JudgeRun
from judging.runs import ledger, lifecycle
from judging.servers import GUARDED
from judging.trials.perturbed_judges import ensure_trials
from tests.fake_openai.running import Running
from tests.judging.batch_api.test_results import NO, NOTHING, Out, counts
from tests.judging.batch_api.test_results import asking as asking_unit_by_unit
from tests.judging.cast import HASTY, command, judge, run_scripted, yes
from tests.judging.views.test_judges import define, problems
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create(username="rita", role="researcher"))


@pytest.fixture
def out(campaign: Campaign, tmp_path: Any) -> Out:
    rater, path = asking_unit_by_unit("offline"), tmp_path / "requests.jsonl"
    write(campaign, rater, path)
    asked = [json.loads(line)["custom_id"] for line in path.read_text("utf-8").splitlines()]
    return Out(campaign, rater, tmp_path, asked)


def of_the_fake(server: Running, name: str = "fake", **params: Any) -> Judge:
    return judge(name, "openai", model="fake-judge", base_url=server.url, params=params)


def run(campaign: Campaign, rater: Judge) -> JudgeRun:
    """A run over the judge's own backend."""
    made = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(made)
    assert lease is not None
    work(made, lease, None, build_backend(rater), HASTY)
    made.refresh_from_db()
    return made


@pytest.mark.parametrize(
    ("fault", "failures"),
    [
        ("no-reason", {"error": 4}),
        ("abort", {"error": 4}),
        ("length", {"truncated": 4}),
        ("filtered", {"filtered": 4}),
        ("cut-prompt", {"too-long": 4}),
    ],
)
def test_a_run_over_a_server_gives_no_label_but_the_reason(
    campaign: Campaign, server: Running, fault: str, failures: dict[str, int]
) -> None:
    server.behave(reset=True, faults={fault: 1.0})
    made = run(campaign, of_the_fake(server))
    assert (made.done, made.failures) == (0, failures)
    assert not Label.objects.exists()
    assert not JudgeCall.objects.filter(completion=None).exists(), "what it wrote is kept"
    assert not JudgeCall.objects.filter(detail="").exists()


def test_a_server_that_breaks_off_every_answer_is_down_and_fails_no_item(
    campaign: Campaign, server: Running
) -> None:
    server.behave(reset=True, faults={"broken-off": 1.0})
    made = run(campaign, of_the_fake(server))
    assert (made.state, made.done, made.failures) == ("stopped", 0, {})
    assert made.error.startswith("endpoint down since ")
    assert made.error.count("Upstream idle timeout") == 1
    assert made.manifest["counts"]["left_open"] == 4
    assert not Label.objects.exists()


def test_a_server_without_reasons_is_named_before_the_first_call_and_can_be_accepted(
    campaign: Campaign, server: Running
) -> None:
    server.behave(reset=True, faults={"no-reason": 1.0})
    of_the_fake(server)
    said = command("run_judge", "--campaign", campaign.name, "--judge", "fake")
    assert said.startswith("Note: the server does not say why an answer ended")
    assert "accept_no_reason=1 (Accept answers without a reason)" in said
    assert "0 done, 4 failed (error 4)" in said
    made = run(campaign, of_the_fake(server, "trusting", accept_no_reason=1))
    assert (made.done, made.failures) == (4, {})
    assert made.manifest["engine"]["accept_no_reason"] is True
    assert JudgeRun.objects.earliest("id").manifest["engine"]["accept_no_reason"] is False


def test_a_cut_prompt_is_reported_with_its_remedy_at_the_end(
    campaign: Campaign, server: Running, rita: Client
) -> None:
    server.behave(reset=True, faults={"cut-prompt": 1.0})
    of_the_fake(server)
    said = command("run_judge", "--campaign", campaign.name, "--judge", "fake")
    assert "Note: the server silently cut 4 prompts to its context window" in said
    assert "num_ctx on Ollama" in said
    made = JudgeRun.objects.get()
    assert made.manifest["counts"]["prompts_cut"] == 4
    page = rita.get(reverse("judge-run", args=[made.pk])).content.decode()
    assert "cut 4 prompts to its context window" in page
    assert "num_ctx" in page


def test_a_run_whose_prompts_were_too_long_for_another_reason_has_no_such_warning(
    campaign: Campaign, server: Running
) -> None:
    server.behave(reset=True, faults={"too-long": 1.0})
    made = run(campaign, of_the_fake(server))
    assert (made.failures, made.manifest["counts"]["prompts_cut"]) == ({"too-long": 4}, 0)
    assert "context window" not in " ".join(warnings_of(made))


class TestBatchFiles:
    def choice(self, word: object, **more: Any) -> dict[str, Any]:
        return {"choices": [{"message": {"content": NO}, "finish_reason": word, **more}]}

    def test_lines_that_did_not_end_well_give_no_label(self, out: Out) -> None:
        words = ("repetition", "max_tokens", "SAFETY", None, "stop", "eos_token")
        lines = [out.answer(n, **self.choice(word)) for n, word in enumerate(words)]
        lines.append(out.answer(6, **self.choice("stop", error={"message": "lost the worker"})))
        loaded = out.take(*lines)
        failures = {"error": 3, "truncated": 1, "filtered": 1}
        assert counts(loaded) == NOTHING | {"done": 2, "failures": failures, "missing": 5}
        assert Label.objects.count() == 2
        details = " ".join(JudgeCall.objects.values_list("detail", flat=True))
        assert "'repetition'" in details
        assert "lost the worker" in details
        again = out.take(*lines)
        assert counts(again) == NOTHING | {"before": 7, "missing": 5}, "loaded once"
        assert JudgeCall.objects.count() == 7

    def test_an_answer_to_a_cut_prompt_gives_no_label(self, out: Out) -> None:
        cut, whole = ({**self.choice("stop"), "usage": {"prompt_tokens": n}} for n in (5, 5000))
        loaded = out.take(out.answer(0, **cut), out.answer(1, **whole))
        assert (loaded.done, loaded.failures) == (1, {"too-long": 1})
        assert "num_ctx" in JudgeCall.objects.get(state="too-long").detail

    def test_a_judge_that_accepts_no_reason_takes_lines_without_one(
        self, campaign: Campaign, tmp_path: Any
    ) -> None:
        where = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "granularity": "unit"}
        rater = judge("trusting", "openai", params={"accept_no_reason": 1}, **where)
        path = tmp_path / "requests.jsonl"
        write(campaign, rater, path)
        asked = [json.loads(line)["custom_id"] for line in path.read_text("utf-8").splitlines()]
        out = Out(campaign, rater, tmp_path, asked)
        lines = [out.answer(n, **self.choice(word)) for n, word in enumerate((None, "", "abort"))]
        loaded = load_results(campaign, rater, out.file(lines))
        assert (loaded.done, loaded.failures) == (2, {"error": 1})


class TestReuse:
    @pytest.fixture
    def first(self, campaign: Campaign) -> JudgeRun:
        return run_scripted(campaign, judge("first"))[0]

    def again(self, campaign: Campaign, **params: Any) -> JudgeRun:
        made = lifecycle.start(campaign, judge("second"), reuse="campaign")
        made.judge.params = params
        lease = lifecycle.lease_run(made)
        assert lease is not None
        work(made, lease, None, Scripted(yes), HASTY)
        made.refresh_from_db()
        return made

    @pytest.mark.parametrize("word", ["length", "abort", "repetition", "", "SAFETY"])
    def test_an_answer_that_did_not_end_well_is_asked_for_again(
        self, campaign: Campaign, first: JudgeRun, word: str
    ) -> None:
        """An older version made a label of it, which stays."""
        kept = Label.objects.count()
        JudgeCall.objects.filter(pk=JudgeCall.objects.earliest("id").pk).update(finish_reason=word)
        made = self.again(campaign)
        assert (made.done, made.reused, made.calls) == (4, 3, 1)
        assert Label.objects.filter(response__assignment__rater=first.judge.rater).count() == kept

    @pytest.mark.parametrize("word", ["STOP", "end_turn", "eos", "completed"])
    def test_an_answer_that_ended_well_is_reused(
        self, campaign: Campaign, first: JudgeRun, word: str
    ) -> None:
        JudgeCall.objects.update(finish_reason=word)
        assert self.again(campaign).reused == 4

    def test_an_answer_to_a_cut_prompt_is_asked_for_again(
        self, campaign: Campaign, first: JudgeRun
    ) -> None:
        JudgeCall.objects.filter(pk=JudgeCall.objects.earliest("id").pk).update(
            usage={"prompt_tokens": 3, "completion_tokens": 1}
        )
        made = self.again(campaign)
        assert (made.reused, made.calls) == (3, 1)


class TestStoredBefore:
    """Answers of a dead process, of which no label was made yet."""

    def outcome(self, campaign: Campaign, **changes: Any) -> Any:
        rater = judge()
        run_scripted(campaign, rater, limit=1)
        JudgeCall.objects.update(**changes)
        row = Assignment.objects.filter(rater=rater.rater, attempts=1).get()
        prepared = build_preparer(campaign, rater, build_backend(rater)).prepare(row)
        JudgeCall.objects.update(request_hash=prepared.request_hash)
        (found,) = find_stored_results([prepared])
        return found.outcome

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"finish_reason": "repetition"}, "error"),
            ({"finish_reason": ""}, "error"),
            ({"finish_reason": "model_length"}, "truncated"),
            ({"usage": {"prompt_tokens": 2}}, "too-long"),
            ({"state": "error"}, "error"),
        ],
    )
    def test_an_incomplete_answer_gives_no_label(
        self, campaign: Campaign, changes: dict[str, Any], reason: str
    ) -> None:
        assert self.outcome(campaign, **changes) == Failure(reason)  # type: ignore[arg-type]

    def test_a_complete_answer_is_kept(self, campaign: Campaign) -> None:
        assert isinstance(self.outcome(campaign), Answer)


@pytest.mark.parametrize(
    ("fault", "said"),
    [("abort", "&#x27;abort&#x27;"), ("no-reason", "no finish reason"), ("cut-prompt", "num_ctx")],
)
def test_a_try_shows_why_an_answer_is_none(
    rita: Client, campaign: Campaign, server: Running, fault: str, said: str
) -> None:
    server.behave(reset=True, faults={fault: 1.0})
    rater = of_the_fake(server)
    data = {"campaign": campaign.pk, "item": 1}
    page = rita.post(reverse("judge-try", args=[rater.pk]), data, follow=True).content.decode()
    assert said in page
    assert "answerable <b>" not in page


def test_a_repair_that_did_not_end_well_leaves_the_first_answer(campaign: Campaign) -> None:
    script = [Answer("Perhaps."), Answer("{}", "abort")]
    rater = judge("mended", "openai", model="m", base_url="http://127.0.0.1:9")
    Judge.objects.filter(pk=rater.pk).update(params={"repair": 1})
    rater.refresh_from_db()
    made, _, _ = run_scripted(campaign, rater, script, limit=1)
    assert (made.done, made.failures) == (0, {"unreadable": 1})
    assert ledger.count_missing_reasons(campaign, rater) == {"unreadable": 1}


class TestParameter:
    def test_the_form_offers_it_and_it_is_off(self, rita: Client) -> None:
        define(rita)
        define(rita, name="trusting", accept_no_reason="1")
        plain, trusting = Judge.objects.order_by("pk")
        assert plain.params == {GUARDED: 1}
        assert trusting.params == {"accept_no_reason": 1, GUARDED: 1}
        page = rita.get(reverse("judge-new")).content.decode()
        assert "Accept answers without a reason" in page

    def test_the_command_takes_it(self, db: None) -> None:
        given = ("--backend", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9")
        command("create_judge", "trusting", *given, "--param", "accept_no_reason=1")
        assert Judge.objects.get().params == {"accept_no_reason": 1}
        with pytest.raises(CommandError, match="give 0 or 1"):
            command("create_judge", "other", *given, "--param", "accept_no_reason=2")
        with pytest.raises(CommandError, match="choose a new name"):
            command("create_judge", "trusting", *given)

    def test_judges_without_finish_reasons_do_not_use_it(self, rita: Client) -> None:
        with pytest.raises(CommandError, match="does not use"):
            command(
                "create_judge", "floor", "--backend", "lexical", "--param", "accept_no_reason=1"
            )
        refused = problems(define(rita, backend="decisions", accept_no_reason="1"))
        assert "accept_no_reason" in refused

    def test_trials_of_a_judge_keep_it(self, campaign: Campaign) -> None:
        rater = judge("mended", "openai", model="m", base_url="http://127.0.0.1:9")
        Judge.objects.filter(pk=rater.pk).update(params={"accept_no_reason": 1})
        rater.refresh_from_db()
        run_scripted(campaign, rater)
        (trial, *_) = ensure_trials(campaign, rater, "empty")
        assert trial.params == {"accept_no_reason": 1}
