"""API endpoints of a judge's trials: what they would cost, starting and following them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import check_managed_campaign, get_account
from annotation.api.access import campaign_named
from annotation.models import Campaign, User
from datasets.access import READERS
from datasets.api.base import Resource, Strict, describe_endpoint, validate
from datasets.api.concurrency import has_stored_answer, mark_idempotent, run_once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import JUDGE, READ
from datasets.api.throttling import PerReport
from judging.access import managed_judge, visible_judge
from judging.api.serializers import LARGEST, RunProgressSerializer
from judging.jobs import PLAN, find_plan, plan_question, trials_in, trials_question
from judging.jobs import TRIALS as ESTIMATE
from judging.judges import MAX_PROMPT_LENGTH
from judging.models import Judge, JudgeRun
from judging.prompts.perturbations import KINDS
from judging.prompts.template import PromptError, read_prompt
from judging.trials.runs import KindEstimate, TrialSelection, TrialStatus, trial_statuses

NOT_STARTED, NOT_READ = "no trial was started", "nothing was read"
ITEMS = "how many of those that the judge has answered; its usual share if left out"


class TrialParameters(JobKey):
    campaign = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text="the campaign of the trials, which is required",
    )


class EstimateParameters(TrialParameters):
    items = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text=ITEMS
    )
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=LARGEST, help_text="the seed of the sample"
    )


class NewTrialsSerializer(Strict):
    campaign = serializers.IntegerField(min_value=1, max_value=LARGEST)
    kinds = serializers.ListField(
        child=serializers.ChoiceField(list(KINDS)),
        required=False,
        help_text="all that are possible if left out",
    )
    items = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text=ITEMS,
    )
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
    family = serializers.SerializerMethodField(help_text="of attacks; empty for other kinds")
    run = serializers.IntegerField(
        source="progress.run.pk", default=None, help_text="its newest run; null before the first"
    )
    state = serializers.ChoiceField(
        JudgeRun.State.values, source="progress.run.state", default=None
    )
    done = serializers.IntegerField(source="progress.run.done", default=0)
    failed = serializers.IntegerField(source="progress.run.failed", default=0)
    progress = RunProgressSerializer()

    def get_family(self, row: TrialStatus) -> str:
        return str(row.trial.variation.get("family", ""))


class TrialsSerializer(serializers.Serializer[Any]):
    results = TrialSerializer(many=True)


class KindSerializer(serializers.Serializer[KindEstimate]):
    kind = serializers.CharField()
    title = serializers.CharField()
    impossible = serializers.CharField(
        source="reason", help_text="why there are no such trials; empty if they are possible"
    )
    calls = serializers.IntegerField(help_text="requests that they would send")
    cost = serializers.SerializerMethodField(help_text="in US dollars; null where unknown")
    seconds = serializers.FloatField(
        allow_null=True, help_text="one trial after the other; null where unknown"
    )

    def get_cost(self, row: KindEstimate) -> str | None:
        return None if row.cost is None else str(row.cost)


class KindsSerializer(serializers.Serializer[Any]):
    results = KindSerializer(many=True)


ESTIMATED: dict[str, Any] = {
    "results": [
        {
            "kind": "again",
            "title": "The same again",
            "impossible": "",
            "calls": 40,
            "cost": "0.031200",
            "seconds": 16.0,
        }
    ]
}
TRIALS: dict[str, Any] = {
    "results": [
        {
            "judge": 2,
            "name": "small-judge~again",
            "kind": "again",
            "family": "",
            "run": 4,
            "state": "running",
            "done": 11,
            "failed": 1,
            "progress": {
                "word": "Running",
                "note": "",
                "open": 28,
                "closed": 12,
                "cancelled": 0,
                "rate": 2.5,
                "seconds_left": 11.2,
                "planning": None,
            },
        }
    ]
}


class Trials(Resource):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, JUDGE), "POST": (JUDGE,)}
    takes = TrialParameters

    @describe_endpoint(
        "List the trials of a judge",
        "Each trial of the judge in a campaign, with its newest run and how far it is. Their "
        "runs are stopped like other runs, and the robustness sheet has their results. With "
        "`job`, the key of the job that plans them: 202 while it does, 422 if it could not.",
        {200: TrialsSerializer, 202: JobSerializer},
        tag="judges",
        example=TRIALS,
        refuses=(422,),
        parameters=[TrialParameters],
        operation_id="judges_trials",
    )
    def get(self, request: Request, pk: int) -> Response:
        judge, user = visible_judge(request, pk), get_account(request)
        campaign = _campaign(user, self.parameters)
        if key := self.parameters.get("job"):
            job = find_plan(user, key, judge, campaign)
            if job is None:
                raise Http404
            if current_job(request, PLAN, job.options, key) is None:
                return accepted_response(request, _address(judge, campaign))
        return _listed(campaign, judge)

    @describe_endpoint(
        "Start the trials of a judge",
        "Repeats items that the judge has answered in a campaign, with the text, the order or the "
        "wording changed: a run for each trial, which workers carry out. Trials that exist "
        "continue with what they have not answered. The requests may cost money. 202 with a job "
        "if planning takes more than 20 seconds: follow it to the list of trials.",
        {201: TrialsSerializer, 202: JobSerializer},
        tag="judges",
        request=NewTrialsSerializer,
        sent={"campaign": 1, "kinds": ["again", "empty"], "items": 40},
        example=TRIALS,
        status=201,
        refuses=(422,),
        operation_id="judges_trials_start",
    )
    @mark_idempotent
    def post(self, request: Request, pk: int) -> Response:
        if has_stored_answer(request):
            return run_once(request, lambda: Response())
        user, judge = get_account(request), managed_judge(request, pk)
        given = validate(NewTrialsSerializer, request.data)
        campaign = campaign_named(user, given["campaign"], NOT_STARTED)
        check_managed_campaign(user, campaign)
        if "kinds" in given and not given["kinds"]:
            raise RefusedBodyError(NOT_STARTED, [problem("name at least one", "kinds")])
        kinds = tuple(dict.fromkeys(given.get("kinds", ())))
        selection = TrialSelection(
            kinds, given.get("items"), given["seed"], given.get("prompt", "")
        )
        question, where = plan_question(user, judge, campaign, selection), _address(judge, campaign)
        # Outside the transaction of `run_once`, in which no worker would see the job.
        if current_job(request, PLAN, question, address=where) is None:
            return accepted_response(request, where)
        return run_once(request, lambda: _listed(campaign, judge, 201))


class TrialsEstimate(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}
    takes = EstimateParameters

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Estimate the trials of a judge",
        "What the trials of each kind would ask and cost in a campaign, or why they are "
        "impossible. No request is sent, and nothing is stored. 202 with a job if estimating takes "
        "more than 20 seconds, as for the report.",
        {200: KindsSerializer, 202: JobSerializer},
        tag="judges",
        example=ESTIMATED,
        refuses=(422,),
        parameters=[EstimateParameters],
        operation_id="judges_trials_estimate",
    )
    def get(self, request: Request, pk: int) -> Response:
        judge, given = visible_judge(request, pk), self.parameters
        campaign = _campaign(get_account(request), given)
        selection = TrialSelection((), given.get("items"), given["seed"])
        question = trials_question(judge, campaign, selection)
        job = current_job(request, ESTIMATE, question, given.get("job"))
        if job is None:
            return accepted_response(request)
        return Response(KindsSerializer({"results": trials_in(job)}).data)


def _campaign(user: User, given: Mapping[str, Any]) -> Campaign:
    """Return the campaign that the parameters name. Raises ValidationError, RefusedBodyError."""
    if "campaign" not in given:
        raise serializers.ValidationError({"campaign": "is missing; name one"})
    return campaign_named(user, given["campaign"], NOT_READ)


def _address(judge: Judge, campaign: Campaign) -> str:
    return f"{reverse('api-judge-trials', args=[judge.pk])}?campaign={campaign.pk}"


def _listed(campaign: Campaign, judge: Judge, status: int = 200) -> Response:
    rows = list(trial_statuses(campaign, judge))
    return Response(TrialsSerializer({"results": rows}).data, status=status)
