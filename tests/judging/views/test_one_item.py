"""Trying a judge on one item: a worker asks, only the user sees the result, no label is stored."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, Label, Rater, Response, User, rater_of
from datasets.models import Job
from datasets.work import queue
from datasets.work.execution import carry_out
from judging.backends.base import Request
from judging.backends.scripted import Scripted
from judging.models import Judge, JudgeCall, JudgeRun
from judging.servers import GUARDED
from judging.trials import one_item, one_item_jobs
from judging.trials.one_item import try_judge
from judging.trials.perturbed_judges import ensure_trials
from tests.fake_openai.running import Running
from tests.judging.cast import PLANTED, campaign_of, judge, run_scripted
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create(username="rita", role="researcher"))


def of_the_fake(server: Running, name: str = "fake", **fields: Any) -> Judge:
    return judge(name, "openai", model="fake-judge", base_url=server.url, **fields)


def try_it(client: Client, judge: Judge, campaign: Campaign, item: object = 1) -> str:
    data = {"campaign": campaign.pk, "item": item}
    answer = client.post(reverse("judge-try", args=[judge.pk]), data, follow=True)
    return str(answer.content.decode())


def test_a_try_shows_prompt_answer_and_labels_and_stores_none(
    rita: Client, campaign: Campaign
) -> None:
    page = try_it(rita, judge(), campaign)
    assert "The answer, word for word" in page
    assert '<th scope="col">Labels</th>' in page
    assert "answerable <b>" in page
    assert "User message" in page
    for model in (Assignment, Response, Label, JudgeRun, JudgeCall):
        assert not model.objects.exists()


def test_a_try_sends_one_request_and_shows_its_usage(
    rita: Client, campaign: Campaign, server: Running
) -> None:
    page = try_it(rita, of_the_fake(server), campaign)
    assert "tokens of prompt" in page
    assert "cost unknown" in page


@pytest.mark.first_case
@pytest.mark.parametrize("fault", [{}, {"length": 1.0}])
def test_the_reasoning_of_a_model_is_shown_even_if_its_answer_is_cut(
    rita: Client, campaign: Campaign, server: Running, fault: dict[str, float]
) -> None:
    server.behave(reset=True, reasoning="So <b> it is.", faults=fault)
    page = try_it(rita, of_the_fake(server), campaign)
    assert "The model’s reasoning" in page
    assert "So &lt;b&gt; it is." in page


def test_the_result_says_why_an_answer_cannot_be_read(
    rita: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "<script>alert(1)</script>\x1b[31mred\u202e"
    monkeypatch.setattr(one_item, "build_backend", lambda judge: Scripted([hostile]))
    page = try_it(rita, judge(), campaign)
    assert "unreadable" in page
    assert "the completion contains no JSON that fits" in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "‹U+202E›" in page


def test_a_try_shows_no_human_label_and_no_system_name(rita: Client, campaign: Campaign) -> None:
    person = Rater.objects.create(name="ada-the-person")
    for item in campaign.items.all():
        names = list(item.units.values_list("name", flat=True))
        row = Assignment.objects.create(item=item, rater=person, asked=names)
        given = {name: {"answerable": "no", "evidence": []} for name in names}
        submit(row, {"units": given, "comment": "planted-comment"}, "judge")
    page = try_it(rita, judge(), campaign)
    assert "planted-comment" not in page
    assert "ada-the-person" not in page
    assert PLANTED not in page


def test_a_judge_asked_unit_by_unit_is_tried_on_the_first_unit(
    rita: Client, campaign: Campaign
) -> None:
    assert "the first of 3 questions" in try_it(rita, judge(granularity="unit"), campaign)


def test_a_try_takes_a_random_item_by_default_and_refuses_a_missing_one(
    rita: Client, campaign: Campaign
) -> None:
    assert "word for word" in try_it(rita, judge(), campaign, "")
    assert "The item does not exist" in try_it(rita, judge("j"), campaign, 999)
    assert "Its number in the campaign" in try_it(rita, judge("k"), campaign, 0)


def test_a_campaign_with_a_development_split_is_tried_only_on_it(
    rita: Client, db: None, tmp_path: Path
) -> None:
    campaign, made = campaign_of(tmp_path, development=0.5), judge()
    tuned = campaign.query_samplings.get(role="development").query_id
    for item in campaign.items.all():
        content = try_it(rita, made, campaign, item.position + 1)
        assert ("word for word" in content) == (item.query_id == tuned)
        assert ("prompts must not be tuned on" in content) == (item.query_id != tuned)
    by_chance = {try_judge(made, campaign).item.query_id for _ in range(10)}
    assert by_chance == {tuned}


def test_htmx_gets_only_the_fragment_even_for_an_error(rita: Client, campaign: Campaign) -> None:
    address = reverse("judge-try", args=[judge().pk])
    answer = rita.post(address, {"campaign": campaign.pk, "item": "x"}, HTTP_HX_REQUEST="true")
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert 'id="trial"' in answer.content.decode()


def test_tries_are_limited_per_minute_and_account(
    rita: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_item_jobs, "TRIES", 2)
    made = judge()
    for _ in range(2):
        assert "word for word" in try_it(rita, made, campaign)
    assert "wait a moment" in try_it(rita, made, campaign)
    other = client_of(User.objects.create(username="root", role="admin"))
    assert "word for word" in try_it(other, made, campaign)
    Job.objects.update(created_at=timezone.now() - one_item_jobs.WINDOW)
    assert "word for word" in try_it(rita, made, campaign)


def test_a_try_is_queued_and_its_result_shown_only_to_its_user(
    rita: Client, campaign: Campaign, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS_EAGER = False
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
    made, other = judge(), client_of(User.objects.create(username="root", role="admin"))
    address, sent = reverse("judge-try", args=[made.pk]), {"campaign": campaign.pk, "item": 1}
    page = rita.post(address, sent).headers["Location"].partition("#")[0]
    assert "waiting, next in the queue" in rita.get(page).content.decode()
    assert rita.post(address, sent).headers["Location"].startswith(page)
    refused = rita.post(address, {**sent, "item": 2})
    assert (refused.status_code, "or cancel it" in refused.content.decode()) == (429, True)
    job = Job.objects.get()
    carry_out(queue.lease_now(job), lambda done, total: None, strict=True)
    assert "word for word" in rita.get(page).content.decode()
    assert "word for word" not in other.get(page).content.decode()
    assert rita.post(address, sent).headers["Location"].partition("#")[0] != page


def test_without_javascript_the_form_of_a_draft_is_filled_in_again_beside_its_result(
    rita: Client, campaign: Campaign, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS_EAGER = False
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
    sent = {"name": "mine", "backend": "lexical", "granularity": "unit", "campaign": campaign.pk}
    page = rita.post(reverse("judge-new-try"), sent).headers["Location"]
    waiting = rita.get(page).content.decode()
    assert "waiting, next in the queue" in waiting
    assert 'value="mine"' in waiting
    carry_out(queue.lease_now(Job.objects.get()), lambda done, total: None, strict=True)
    assert "word for word" in rita.get(page).content.decode()


def test_a_cancelled_try_can_be_repeated_on_its_page(
    rita: Client, campaign: Campaign, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS_EAGER = False
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
    sent = {"campaign": campaign.pk, "item": 1}
    page = rita.post(reverse("judge-try", args=[judge().pk]), sent).headers["Location"]
    order = reverse("job-order", args=[Job.objects.get().key])
    rita.post(order, {"order": "cancel", "next": page})
    assert "cancelled" in rita.get(page).content.decode()
    again = rita.post(order, {"order": "again", "next": page}).headers["Location"]
    assert "waiting, next in the queue" in rita.get(again).content.decode()
    assert again != page


def test_a_guarded_judge_without_connection_reveals_nothing_of_the_network(
    rita: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(one_item.asyncio, "sleep", wait)
    place = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    made = judge(
        "guarded", "openai", model="m", base_url="http://rebinding.example", params={GUARDED: 1}
    )
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [place])
    page = try_it(rita, made, campaign)
    assert "no connection to the server;" in page
    assert "127.0.0.1" not in page
    assert waited
    assert waited[0] > 5


def test_a_failure_of_a_guarded_judge_shows_only_the_class_of_the_status(
    rita: Client, campaign: Campaign, server: Running, settings: Any
) -> None:
    host = server.url.removeprefix("http://")
    settings.TANDEM_JUDGE_HOSTS = [host]
    made = of_the_fake(server, params={GUARDED: 1})
    assert "word for word" in try_it(rita, made, campaign)
    settings.TANDEM_JUDGE_HOSTS = []
    page = try_it(rita, made, campaign)
    assert "operator may list" in page


def test_a_user_with_an_open_item_cannot_try_a_judge(rita: Client, campaign: Campaign) -> None:
    assert next_assignment(campaign, rater_of(User.objects.get(username="rita")))
    page = try_it(rita, judge(), campaign)
    assert "You have an open item in this campaign" in page
    assert "word for word" not in page


def test_a_judge_that_starts_its_own_server_is_not_tried(rita: Client, campaign: Campaign) -> None:
    made = judge()
    Judge.objects.filter(pk=made.pk).update(backend="vllm", model="m")
    assert "tandem judge run --limit 1" in try_it(rita, made, campaign)


def test_a_try_of_a_swapping_trial_swaps_the_pair(
    rita: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge says *first* of the order shown, which is the second in the stored order."""
    campaign = campaign_of(tmp_path, "answer-preference")
    base = judge("base")

    def first(request: Request) -> str:
        return json.dumps({unit.name: {"preferred": "first"} for unit in request.facts.units})

    run_scripted(campaign, base, first)
    (turned,) = ensure_trials(campaign, base, "swapped")
    shown = {}
    for each in (base, turned):
        backend = Scripted(first)
        monkeypatch.setattr(one_item, "build_backend", lambda judge, backend=backend: backend)
        trial = one_item.try_judge(each, campaign, 1)
        shown[each.pk] = backend.asked[0].facts.texts, trial.entries[0].values["preferred"]
    texts, said = shown[base.pk]
    assert said == "first"
    assert shown[turned.pk] == (texts[::-1], "second")
