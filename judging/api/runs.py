"""API endpoints of runs: start and control them, read their calls and manifests, compare judges."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import check_managed_campaign, get_account, readable_campaign
from annotation.api.access import campaign_named, check_blind
from audit.recording import record_export
from datasets.access import check_managed
from datasets.api.base import (
    Computed,
    RefusedBodyError,
    Shape,
    StateConflictError,
    problem,
    results_serializer,
)
from datasets.api.permissions import JUDGE, READ
from datasets.api.routes import JobKey, Reply, Routes, finished_job, given, given_filters, result_of
from judging.access import (
    managed_run,
    note_call_look,
    visible_calls,
    visible_judges,
    visible_run,
    visible_runs,
)
from judging.api.serializers import (
    CallParameters,
    CallSerializer,
    Dollars,
    NewRunSerializer,
    OrderSerializer,
    RunParameters,
    RunSerializer,
    WholeCallSerializer,
    WholeRunSerializer,
)
from judging.backends.base import SetupError
from judging.display import progress_of
from judging.kinds import (
    COMPARISON,
    MANIFEST,
    compared_runs,
    comparison_question,
    manifest_question,
)
from judging.manifest import warnings_of
from judging.models import Judge, JudgeRun
from judging.prompts.template import PromptError
from judging.runs import lifecycle
from judging.runs.lifecycle import BatchOutError, LeasedRunError
from judging.runs.prompts import ChangedPromptError
from judging.tasks import NothingOpenError, begin, resume
from tandem.verbs import verb_of

api = Routes("judges", reads=(READ, JUDGE), writes=(JUDGE,))

SPEEDS = {
    "concurrency": ("requests", lifecycle.set_concurrency),
    "workers": ("worker processes", lifecycle.set_workers),
}
ENDED = "the run has ended; start another one"


class ManifestSerializer(Shape):
    run = serializers.IntegerField(required=False)
    sha256 = serializers.CharField(required=False, help_text="the digest of the other members")


@api.list(
    "runs/",
    "List runs",
    "The runs over campaigns that you may read, the newest first.",
    RunSerializer,
    name="runs",
    takes=RunParameters,
)
def runs_list(request: Request) -> Any:
    filters = given_filters(request, "campaign", "judge", "state")
    return visible_runs(get_account(request)).filter(**filters)


@api.post(
    "runs/",
    "Start a run",
    "Starts a run of a judge over everything in a campaign that it has no result for. A "
    "worker carries it out. A run that is active already is returned unchanged (200). 409 "
    "if nothing is open, or if the prompt has changed since an earlier run.",
    WholeRunSerializer,
    body=NewRunSerializer,
    status=201,
    also=(200,),
    raises={
        **dict.fromkeys((NothingOpenError, ChangedPromptError, BatchOutError, LeasedRunError), 409),
        **dict.fromkeys((SetupError, PromptError), 422),
    },
    once=True,
)
def runs_start(request: Request) -> Any:
    body, user = given(request), get_account(request)
    campaign = campaign_named(user, body.pop("campaign"), "no request was sent")
    judge = _judge_named(request, body.pop("judge"))
    check_managed(user, judge)
    check_managed_campaign(user, campaign)
    before = lifecycle.active_runs(campaign, judge).values_list("pk", flat=True).first()
    begun = begin(judge, campaign, body)
    return Reply(_whole_run(request, begun.pk), 200 if begun.pk == before else 201)


@api.get(
    "runs/<int:pk>/",
    "Read a run",
    "The run with its counts and costs. `progress` has its current status and the time left.",
    WholeRunSerializer,
    name="run",
)
def runs_read(request: Request, pk: int) -> Any:
    return _whole_run(request, pk)


@api.post(
    "runs/<int:pk>/order/",
    "Control a run",
    "Stops or cancels a run, resumes its paused server, or changes the number of requests "
    "or of workers at once. Calls in progress are finished first. 409 if the run has ended.",
    WholeRunSerializer,
    name="run-order",
    body=OrderSerializer,
    refuses=(409, 422),
    once=True,
)
def runs_order(request: Request, pk: int) -> Any:
    run, body = managed_run(request, pk), given(request)
    if not _control(run, body):
        raise StateConflictError(ENDED)
    return _whole_run(request, pk)


@api.get(
    "runs/<int:pk>/manifest/",
    "Read a run's manifest",
    "Everything that defines the run, its results in numbers, and a digest: the same "
    f"object as `{verb_of('judge_manifest')}` prints. 202 with a job if it takes more than 20 "
    "seconds, as for the report.",
    ManifestSerializer,
    name="run-manifest",
    takes=JobKey,
    job=True,
)
def runs_manifest(request: Request, pk: int) -> Any:
    run = visible_run(request, pk)
    check_blind(get_account(request), run.campaign)
    found = result_of(request, MANIFEST, manifest_question(run), given(request).get("job"))
    record_export(request, run.campaign_id, "manifest", "json", run)
    return found


def _judge_named(request: Request, pk: int) -> Judge:
    found = visible_judges(get_account(request)).filter(pk=pk).first()
    if found is None:
        wrong = [problem("is not a judge; see the list of judges", "judge")]
        raise RefusedBodyError("no run was started", wrong)
    return found


def _control(run: JudgeRun, body: dict[str, Any]) -> bool:
    """Pass an order to the run. Return False if it has ended. Raises RefusedBodyError."""
    order = body["order"]
    if order in SPEEDS:
        what, change = SPEEDS[order]
        if order not in body:
            wrong = [problem(f"give the number of {what} at once", order)]
            raise RefusedBodyError("the run was not changed", wrong)
        return change(run, body[order])
    if order == "stop":
        return lifecycle.ask_to_stop(run)
    if order == "cancel":
        return lifecycle.ask_to_cancel(run)
    return resume(run)


def _whole_run(request: Request, pk: int) -> Any:
    run: Any = visible_run(request, pk)
    run.progress = progress_of(run)
    run.warnings = warnings_of(run)
    return run


@api.list(
    "runs/<int:pk>/calls/",
    "List the calls of a run",
    "Every attempt with its outcome, the newest first. 403 while you have an open item in "
    "the campaign.",
    CallSerializer,
    name="calls",
    takes=CallParameters,
)
def calls_list(request: Request, pk: int) -> Any:
    run = visible_run(request, pk)
    check_blind(get_account(request), run.campaign)
    filters = given_filters(request, "state")
    rows = visible_calls(get_account(request)).filter(run=run, **filters).order_by("-pk")
    return rows.defer("completion", "reasoning", "body", "logprobs")


@api.get(
    "calls/<int:pk>/",
    "Read a call",
    "One attempt with the model's complete answer. 403 while you have an open item in the "
    "campaign.",
    WholeCallSerializer,
    name="call",
)
def calls_read(request: Request, pk: int) -> Any:
    found = get_object_or_404(visible_calls(get_account(request)), pk=pk)
    check_blind(get_account(request), found.run.campaign)
    note_call_look(found)
    return found


class ComparedSerializer(serializers.Serializer[Any]):
    judge = serializers.IntegerField(source="judge.pk")
    name = serializers.CharField(source="judge.rater.name")
    base = serializers.IntegerField(
        source="judge.base_id", allow_null=True, help_text="the judge of which this is a trial"
    )
    prompt_sha256 = serializers.CharField(source="prompt", help_text="the first twelve digits")
    done = serializers.IntegerField(help_text="requests that gave labels")
    missing = serializers.IntegerField(help_text="requests that gave none")
    reasons = Computed(
        lambda row: dict(row["reasons"]),
        dict[str, int],
        help_text="numbers of requests without labels, by reason",
    )
    open = serializers.IntegerField(help_text="requests not yet sent")
    calls = serializers.IntegerField(source="spent.calls")
    reused = serializers.IntegerField(source="spent.reused")
    prompt_tokens = serializers.IntegerField(source="spent.prompt_tokens")
    cached_tokens = serializers.IntegerField(source="spent.cached_tokens")
    completion_tokens = serializers.IntegerField(source="spent.completion_tokens")
    thinking_tokens = serializers.IntegerField(
        source="spent.thinking_tokens", help_text="the part of the completions that is reasoning"
    )
    cost = Dollars(itemgetter("cost"))


@api.get(
    "campaigns/<int:pk>/judges/",
    "Compare the judges of a campaign",
    "One entry for each judge and trial with a run over the campaign. Their agreement with "
    "people is in the report. 202 with a job if it takes more than 20 seconds, as for the "
    "report.",
    results_serializer("ComparedList", ComparedSerializer),
    name="judges-compared",
    takes=JobKey,
    job=True,
)
def campaign_judges_compare(request: Request, pk: int) -> Any:
    campaign = readable_campaign(request, pk)
    asked = comparison_question(campaign)
    job = finished_job(request, COMPARISON, asked, given(request).get("job"))
    return {"results": compared_runs(job)}
