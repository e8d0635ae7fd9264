"""A judge's trials page shows costs, starts and stops trials, and links to the sheet."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Campaign, Rater, User
from datasets.models import Job, Team
from datasets.work import queue
from datasets.work.execution import carry_out
from judging.kinds import PLAN
from judging.models import Judge, JudgeRun
from judging.trials.perturbed_judges import ensure_trials, kind_problems
from judging.trials.runs import TrialSelection, estimates, start_trials, trial_statuses
from tests.judging.cast import judge, run_scripted
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("judging.tasks.ring", lambda run: None)
    return client_of(User.objects.create(username="rita", role="researcher"))


@pytest.fixture
def base(campaign: Campaign) -> Judge:
    made = judge("base")
    run_scripted(campaign, made)
    return made


def send(client: Client, campaign: Campaign, base: Judge, order: str, **form: Any) -> Any:
    address = reverse("campaign-trials", args=[campaign.pk])
    return client.post(address, {"judge": base.pk, "order": order, "chosen": "1", **form})


def test_the_page_says_what_each_trial_would_ask_or_why_it_is_impossible(
    rita: Client, campaign: Campaign, base: Judge
) -> None:
    page = rita.get(reverse("campaign-trials", args=[campaign.pk])).content.decode()
    assert "Not possible: report-coverage has no pairs" in page
    found = {each.kind: each.calls for each in estimates(campaign, base, TrialSelection(items=3))}
    assert (found["again"], found["inject"], found["swapped"]) == (3, 24, 0)
    assert not Rater.objects.filter(kind=Rater.Kind.TRIAL).exists()


def test_chosen_trials_are_queued_once_each_and_their_progress_is_shown(
    rita: Client, campaign: Campaign, base: Judge
) -> None:
    response = send(rita, campaign, base, "start", kinds=["again", "empty"], items=2)
    assert response.status_code == 302
    runs = JudgeRun.objects.filter(judge__base=base)
    assert {run.judge.variation["kind"] for run in runs} == {"again", "empty"}
    assert all(run.queued for run in runs)
    assert Assignment.objects.filter(rater__kind=Rater.Kind.TRIAL, status="open").count() == 4
    page = rita.get(response.headers["Location"]).content.decode()
    assert "0 of 4 requests" in page
    assert reverse("judge-robustness", args=[base.runs.get().pk]) in page
    assert send(rita, campaign, base, "start", kinds=["again"], items=2).status_code == 302
    assert runs.count() == 2


def test_planning_is_a_job_that_the_page_waits_for(
    rita: Client, campaign: Campaign, base: Judge, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS_EAGER = False
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
    response = send(rita, campaign, base, "start", kinds=["again"], items=2)
    assert (response.status_code, "waiting, next in the queue" in response.content.decode()) == (
        202,
        True,
    )
    assert not JudgeRun.objects.filter(judge__base=base).exists()
    job = queue.lease_now(Job.objects.get(kind=PLAN))
    carry_out(job, lambda done, total: None, strict=True)
    run = JudgeRun.objects.get(judge__base=base)
    page = rita.get(job.askers.get().address, {"job": job.key}).content.decode()
    assert reverse("judge-run", args=[run.pk]) in page


def test_a_stop_ends_only_the_trials_and_a_start_continues_them(
    rita: Client, campaign: Campaign, base: Judge
) -> None:
    other = judge("other")
    run_scripted(campaign, other, limit=1)
    JudgeRun.objects.create(campaign=campaign, judge=other, prompt_sha256="", queued=True)
    start_trials(campaign, base, TrialSelection(("again",), 2))
    send(rita, campaign, base, "stop")
    assert not any(each.is_active for each in trial_statuses(campaign, base))
    assert JudgeRun.objects.filter(judge=other, state="queued").exists()
    send(rita, campaign, base, "start", kinds=["again"], items=3)
    (again,) = trial_statuses(campaign, base)
    assert again.is_active
    assert again.progress
    assert again.progress.total == 3


def test_a_start_without_a_trial_or_with_an_impossible_one_is_refused(
    rita: Client, campaign: Campaign, base: Judge
) -> None:
    response = send(rita, campaign, base, "start")
    assert (response.status_code, "Choose at least one trial" in response.content.decode()) == (
        422,
        True,
    )
    response = send(rita, campaign, base, "start", kinds=["swapped"])
    assert (response.status_code, "has no pairs" in response.content.decode()) == (409, True)
    assert not JudgeRun.objects.filter(judge__base=base).exists()


def test_only_managers_of_both_campaign_and_judge_start_and_stop_trials(
    campaign: Campaign, base: Judge, rita: Client
) -> None:
    other = Team.objects.create(name="others")
    Judge.objects.filter(pk=base.pk).update(team=other)
    assert send(rita, campaign, base, "start", kinds=["again"], items=1).status_code == 403
    page = rita.get(reverse("campaign-trials", args=[campaign.pk])).content.decode()
    assert "Start the trials" not in page


def test_a_trial_belongs_to_the_team_of_its_judge(campaign: Campaign, base: Judge) -> None:
    Team.objects.create(name="a second team")
    assert ensure_trials(campaign, base, "again")[0].team == base.team


def test_a_judge_file_cannot_be_paraphrased_automatically(campaign: Campaign, base: Judge) -> None:
    Judge.objects.filter(pk=base.pk).update(file="a file")
    base.refresh_from_db()
    assert "create a second judge from a file" in kind_problems(campaign, base)["paraphrase"]


def test_the_page_links_to_a_run_if_no_judge_has_answered(rita: Client, campaign: Campaign) -> None:
    page = rita.get(reverse("campaign-trials", args=[campaign.pk])).content.decode()
    assert reverse("campaign-judge-start", args=[campaign.pk]) in page
