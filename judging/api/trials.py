"""API endpoints of a judge's trials: what they would cost, starting and following them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import check_managed_campaign, get_account
from annotation.api.access import campaign_named
from annotation.models import Campaign, User
from datasets.access import found_or_404
from datasets.api.base import (
    Computed,
    Positive,
    RefusedBodyError,
    Strict,
    problem,
    results_serializer,
)
from datasets.api.concurrency import PerReport
from datasets.api.permissions import JUDGE, READ
from datasets.api.routes import JobKey, Routes, finished_job, given
from judging.access import managed_judge, visible_judge
from judging.api.serializers import LARGEST, Dollars, RunProgressSerializer
from judging.judges import MAX_PROMPT_LENGTH
from judging.kinds import PLAN, find_plan, plan_question, trials_in, trials_question
from judging.kinds import TRIALS as ESTIMATE
from judging.models import Judge, JudgeRun
from judging.prompts.perturbations import KINDS
from judging.prompts.template import PromptError, read_prompt
from judging.trials.runs import KindEstimate, TrialSelection, TrialStatus, trial_statuses

api = Routes("judges", reads=(READ, JUDGE), writes=(JUDGE,))

NOT_STARTED, NOT_READ = "no trial was started", "nothing was read"
ITEMS = "how many of those that the judge has answered; its usual share if left out"


class TrialParameters(JobKey):
    campaign = Positive(required=False, help_text="the campaign of the trials, which is required")


class EstimateParameters(TrialParameters):
    items = Positive(required=False, help_text=ITEMS)
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=LARGEST, help_text="the seed of the sample"
    )


class NewTrialsSerializer(Strict):
    campaign = Positive()
    kinds = serializers.ListField(
        child=serializers.ChoiceField(list(KINDS)),
        required=False,
        help_text="all that are possible if left out",
    )
    items = Positive(required=False, help_text=ITEMS)
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=LARGEST, help_text="the seed of the sample"
    )
    prompt = serializers.CharField(
        max_length=MAX_PROMPT_LENGTH,
        required=False,
        trim_whitespace=False,
        help_text="a whole prompt in other words, for the trial `paraphrase`",
    )

    def validate_prompt(self, text: str) -> str:
        try:
            read_prompt(text)
        except PromptError as error:
            raise serializers.ValidationError(str(error)) from error
        return text


class TrialSerializer(serializers.Serializer[TrialStatus]):
    judge = serializers.IntegerField(source="trial.pk", help_text="the trial, a judge of its own")
    name = serializers.CharField(source="trial.rater.name")
    kind = serializers.CharField(source="trial.variation.kind")
    family = Computed(
        lambda row: row.trial.variation.get("family", ""),
        str,
        help_text="of attacks; empty for other kinds",
    )
    run = serializers.IntegerField(
        source="progress.run.pk", default=None, help_text="its newest run; null before the first"
    )
    state = serializers.ChoiceField(
        JudgeRun.State.values, source="progress.run.state", default=None
    )
    done = serializers.IntegerField(source="progress.run.done", default=0)
    failed = serializers.IntegerField(source="progress.run.failed", default=0)
    progress = RunProgressSerializer()


TrialsSerializer = results_serializer("Trials", TrialSerializer)


class KindSerializer(serializers.Serializer[KindEstimate]):
    kind = serializers.CharField()
    title = serializers.CharField()
    impossible = serializers.CharField(
        source="reason", help_text="why there are no such trials; empty if they are possible"
    )
    calls = serializers.IntegerField(help_text="requests that they would send")
    cost = Dollars()
    seconds = serializers.FloatField(
        allow_null=True, help_text="one trial after the other; null where unknown"
    )


@api.get(
    "judges/<int:pk>/trials/",
    "List the trials of a judge",
    "Each trial of the judge in a campaign, with its newest run and how far it is. Their "
    "runs are stopped like other runs, and the robustness sheet has their results. With "
    "`job`, the key of the job that plans them: 202 while it does, 422 if it could not.",
    TrialsSerializer,
    name="judge-trials",
    takes=TrialParameters,
    job=True,
    refuses=(422,),
)
def judges_trials(request: Request, pk: int) -> Any:
    judge, user = visible_judge(request, pk), get_account(request)
    campaign = _campaign(user, given(request))
    if key := given(request).get("job"):
        job = found_or_404(find_plan(user, key, judge, campaign))
        finished_job(request, PLAN, job.options, key, _address(judge, campaign))
    return _listed(campaign, judge)


@api.post(
    "judges/<int:pk>/trials/",
    "Start the trials of a judge",
    "Repeats items that the judge has answered in a campaign, with the text, the order or the "
    "wording changed: a run for each trial, which workers carry out. Trials that exist "
    "continue with what they have not answered. The requests may cost money. 202 with a job "
    "if planning takes more than 20 seconds: follow it to the list of trials.",
    TrialsSerializer,
    body=NewTrialsSerializer,
    status=201,
    job=True,
    refuses=(422,),
    once_last=True,
)
def judges_trials_start(request: Request, pk: int) -> Any:
    user, judge = get_account(request), managed_judge(request, pk)
    body = given(request)
    campaign = campaign_named(user, body["campaign"], NOT_STARTED)
    check_managed_campaign(user, campaign)
    if "kinds" in body and not body["kinds"]:
        raise RefusedBodyError(NOT_STARTED, [problem("name at least one", "kinds")])
    kinds = tuple(dict.fromkeys(body.get("kinds", ())))
    selection = TrialSelection(kinds, body.get("items"), body["seed"], body.get("prompt", ""))
    question = plan_question(user, judge, campaign, selection)
    finished_job(request, PLAN, question, address=_address(judge, campaign))
    return lambda: _listed(campaign, judge)


@api.get(
    "judges/<int:pk>/trials/estimate/",
    "Estimate the trials of a judge",
    "What the trials of each kind would ask and cost in a campaign, or why they are "
    "impossible. No request is sent, and nothing is stored. 202 with a job if estimating takes "
    "more than 20 seconds, as for the report.",
    results_serializer("Kinds", KindSerializer),
    name="judge-trials-estimate",
    takes=EstimateParameters,
    job=True,
    refuses=(422,),
    throttles=(PerReport,),
)
def judges_trials_estimate(request: Request, pk: int) -> Any:
    judge, sent = visible_judge(request, pk), given(request)
    campaign = _campaign(get_account(request), sent)
    selection = TrialSelection((), sent.get("items"), sent["seed"])
    question = trials_question(judge, campaign, selection)
    return {"results": trials_in(finished_job(request, ESTIMATE, question, sent.get("job")))}


def _campaign(user: User, sent: Mapping[str, Any]) -> Campaign:
    """Return the campaign that the parameters name. Raises ValidationError, RefusedBodyError."""
    if "campaign" not in sent:
        raise serializers.ValidationError({"campaign": "is missing; name one"})
    return campaign_named(user, sent["campaign"], NOT_READ)


def _address(judge: Judge, campaign: Campaign) -> str:
    return f"{reverse('api-judge-trials', args=[judge.pk])}?campaign={campaign.pk}"


def _listed(campaign: Campaign, judge: Judge) -> dict[str, Any]:
    return {"results": list(trial_statuses(campaign, judge))}
