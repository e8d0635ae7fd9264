"""API endpoints of runs: start and control them, read their calls and manifests, compare judges."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import check_managed_campaign, get_account, readable_campaign
from annotation.api.access import campaign_named, check_blind
from audit.recording import record_export
from datasets.access import READERS
from datasets.api.base import (
    List,
    Resource,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.concurrency import idempotent
from datasets.api.errors import RefusedBodyError, StateConflictError, problem
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import JUDGE, READ
from datasets.jobs import results
from datasets.teams import check_managed
from judging.access import (
    managed_run,
    note_call_look,
    visible_calls,
    visible_judges,
    visible_run,
    visible_runs,
)
from judging.api import serializers as examples
from judging.api.serializers import (
    CallParameters,
    CallSerializer,
    NewRunSerializer,
    OrderSerializer,
    RunParameters,
    RunSerializer,
    WholeCallSerializer,
    WholeRunSerializer,
)
from judging.backends.base import SetupError
from judging.display import progress_of
from judging.jobs import (
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
from judging.tasks import NothingOpenError, begin, resume
from tandem.verbs import verb_of

ENDED = "the run has ended; start another one"


class ManifestSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(required=False)
    sha256 = serializers.CharField(required=False, help_text="the digest of the other members")


class Runs(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, JUDGE), "POST": (JUDGE,)}
    takes = RunParameters

    @describe_endpoint(
        "List runs",
        "The runs over campaigns that you may read, the newest first.",
        {200: page_serializer(RunSerializer)},
        tag="judges",
        example=page_example(examples.A_RUN),
        parameters=[RunParameters],
        operation_id="runs_list",
    )
    def get(self, request: Request) -> Response:
        names = ("campaign", "judge", "state")
        exact = {name: self.parameters[name] for name in names if name in self.parameters}
        rows = visible_runs(get_account(request)).filter(**exact)
        return self.page(rows, partial(serialize, RunSerializer))

    @describe_endpoint(
        "Start a run",
        "Starts a run of a judge over everything in a campaign that it has no result for. A "
        "worker carries it out. A run that is active already is returned unchanged (200). 409 "
        "if nothing is open, or if the prompt has changed since an earlier run.",
        {201: WholeRunSerializer, 200: WholeRunSerializer},
        tag="judges",
        request=NewRunSerializer,
        sent=examples.NEW_RUN,
        example=examples.WHOLE_RUN,
        status=201,
        refuses=(409, 422),
        operation_id="runs_start",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        body = validate(NewRunSerializer, request.data)
        campaign = campaign_named(get_account(request), body.pop("campaign"), "no request was sent")
        judge = _judge_named(request, body.pop("judge"))
        check_managed(get_account(request), judge)
        check_managed_campaign(get_account(request), campaign)
        before = lifecycle.active_runs(campaign, judge).values_list("pk", flat=True).first()
        try:
            begun = begin(judge, campaign, body)
        except (
            NothingOpenError,
            lifecycle.ChangedPromptError,
            lifecycle.BatchOutError,
            lifecycle.LeasedRunError,
        ) as error:
            raise StateConflictError(str(error)) from error
        except (SetupError, PromptError) as error:
            raise RefusedBodyError(str(error)) from error
        return _run_response(request, begun.pk, 200 if begun.pk == before else 201)


class OneRun(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}

    @describe_endpoint(
        "Read a run",
        "The run with its counts and costs. `progress` has its current status and the time left.",
        {200: WholeRunSerializer},
        tag="judges",
        example=examples.WHOLE_RUN,
        operation_id="runs_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return _run_response(request, pk)


class RunControl(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (JUDGE,)}

    @describe_endpoint(
        "Control a run",
        "Stops or cancels a run, resumes its paused server, or changes the number of requests "
        "at once. Calls in progress are finished first. 409 if the run has ended.",
        {200: WholeRunSerializer},
        tag="judges",
        request=OrderSerializer,
        sent={"order": "concurrency", "concurrency": 4},
        example=examples.WHOLE_RUN,
        refuses=(409, 422),
        operation_id="runs_order",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        run, body = managed_run(request, pk), validate(OrderSerializer, request.data)
        if not _control(run, body):
            raise StateConflictError(ENDED)
        return _run_response(request, pk)


class Manifest(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}
    takes = JobKey

    @describe_endpoint(
        "Read a run's manifest",
        "Everything that defines the run, its results in numbers, and a digest: the same "
        f"object as `{verb_of('judge_manifest')}` prints. 202 with a job if it takes more than 20 "
        "seconds, as for the report.",
        {200: ManifestSerializer, 202: JobSerializer},
        tag="judges",
        example={"form": 2, "run": 1, "judge": {"name": "small-judge"}, "sha256": "9f2c…"},
        parameters=[JobKey],
        operation_id="runs_manifest",
    )
    def get(self, request: Request, pk: int) -> Response:
        run = visible_run(request, pk)
        check_blind(get_account(request), run.campaign)
        job = current_job(request, MANIFEST, manifest_question(run), self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        record_export(request, run.campaign_id, "manifest", "json", run)
        return Response(results.value(job))


def _judge_named(request: Request, pk: int) -> Judge:
    found = visible_judges(get_account(request)).filter(pk=pk).first()
    if found is None:
        wrong = [problem("is not a judge; see the list of judges", "judge")]
        raise RefusedBodyError("no run was started", wrong)
    return found


def _control(run: JudgeRun, body: dict[str, Any]) -> bool:
    """Pass an order to the run. Return False if it has ended. Raises RefusedBodyError."""
    order = body["order"]
    if order == "concurrency":
        if "concurrency" not in body:
            wrong = [problem("give the number of requests at once", "concurrency")]
            raise RefusedBodyError("the run was not changed", wrong)
        return lifecycle.set_concurrency(run, body["concurrency"])
    if order == "stop":
        return lifecycle.ask_to_stop(run)
    if order == "cancel":
        return lifecycle.ask_to_cancel(run)
    return resume(run)


def _run_response(request: Request, pk: int, status: int = 200) -> Response:
    run: Any = visible_run(request, pk)
    run.progress = progress_of(run)
    run.warnings = warnings_of(run)
    return Response(WholeRunSerializer(run).data, status=status)


class Calls(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}
    takes = CallParameters

    @describe_endpoint(
        "List the calls of a run",
        "Every attempt with its outcome, the newest first. 403 while you have an open item in "
        "the campaign.",
        {200: page_serializer(CallSerializer)},
        tag="judges",
        example=page_example(examples.A_CALL),
        parameters=[CallParameters],
        operation_id="calls_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        run = visible_run(request, pk)
        check_blind(get_account(request), run.campaign)
        rows = visible_calls(get_account(request)).filter(run=run).order_by("-pk")
        if "state" in self.parameters:
            rows = rows.filter(state=self.parameters["state"])
        large = ("completion", "reasoning", "body", "logprobs")
        return self.page(rows.defer(*large), partial(serialize, CallSerializer))


class OneCall(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}

    @describe_endpoint(
        "Read a call",
        "One attempt with the model's complete answer. 403 while you have an open item in the "
        "campaign.",
        {200: WholeCallSerializer},
        tag="judges",
        example=examples.WHOLE_CALL,
        operation_id="calls_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(visible_calls(get_account(request)), pk=pk)
        check_blind(get_account(request), found.run.campaign)
        note_call_look(found)
        return Response(WholeCallSerializer(found).data)


A_ROW: dict[str, Any] = {
    "judge": 1,
    "name": "small-judge",
    "base": None,
    "prompt_sha256": "0f3a61c2b7d4",
    "done": 57,
    "missing": 3,
    "reasons": {"unreadable": 2, "timeout": 1},
    "open": 0,
    "calls": 60,
    "reused": 0,
    "prompt_tokens": 70_410,
    "cached_tokens": 0,
    "completion_tokens": 12_300,
    "thinking_tokens": 0,
    "cost": "0.047840",
}


class ComparedSerializer(serializers.Serializer[Any]):
    judge = serializers.IntegerField(source="judge.pk")
    name = serializers.CharField(source="judge.rater.name")
    base = serializers.IntegerField(
        source="judge.base_id", allow_null=True, help_text="the judge of which this is a trial"
    )
    prompt_sha256 = serializers.CharField(source="prompt", help_text="the first twelve digits")
    done = serializers.IntegerField(help_text="requests that gave labels")
    missing = serializers.IntegerField(help_text="requests that gave none")
    reasons = serializers.SerializerMethodField(
        help_text="numbers of requests without labels, by reason"
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
    cost = serializers.SerializerMethodField(help_text="in US dollars; null where unknown")

    def get_reasons(self, row: dict[str, Any]) -> dict[str, int]:
        return dict(row["reasons"])

    def get_cost(self, row: dict[str, Any]) -> str | None:
        return None if row["cost"] is None else str(row["cost"])


class ComparedListSerializer(serializers.Serializer[Any]):
    results = ComparedSerializer(many=True)


class Comparison(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}
    takes = JobKey

    @describe_endpoint(
        "Compare the judges of a campaign",
        "One entry for each judge and trial with a run over the campaign. Their agreement with "
        "people is in the report. 202 with a job if it takes more than 20 seconds, as for the "
        "report.",
        {200: ComparedListSerializer, 202: JobSerializer},
        tag="judges",
        example={"results": [A_ROW]},
        parameters=[JobKey],
        operation_id="campaign_judges_compare",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        asked = comparison_question(campaign)
        job = current_job(request, COMPARISON, asked, self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        return Response(ComparedListSerializer({"results": compared_runs(job)}).data)
