"""API endpoints of jobs, and the answers of other endpoints whose result is a job's.

A report or an export is returned at once if it is up to date, or as soon as it is ready within 20
seconds. Otherwise the response is 202 with the address of the job, which has its progress and the
address of its result. A client may also repeat the request, which joins the same job.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from datasets.access import READERS
from datasets.api.base import (
    List,
    Resource,
    Strict,
    describe_endpoint,
    page_example,
    page_serializer,
)
from datasets.api.errors import RefusedBodyError, TooManyRequestsError
from datasets.api.permissions import READ
from datasets.jobs import queue, results
from datasets.jobs.kinds import Options, kind_named
from datasets.jobs.pages import RETRY_AFTER, address_with_job
from datasets.jobs.queue import TooManyError
from datasets.jobs.requests import ask, wait_for_job
from datasets.models import Job, JobAsker

State = Job.State
KEY = OpenApiParameter("key", str, OpenApiParameter.PATH)
A_JOB: dict[str, Any] = {
    "key": "3f2a9b74c9897bac770ffc029102a200",
    "address": "https://tandem.example/api/v1/jobs/3f2a9b74c9897bac770ffc029102a200/",
    "what": "Report",
    "state": "waiting",
    "position": 2,
    "done": 0,
    "total": 0,
    "error": "",
    "asked_at": "2026-11-20T09:40:00Z",
    "ended_at": None,
    "result": None,
}


class JobSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    address = serializers.URLField(help_text="the address of the job's status")
    what = serializers.CharField(help_text="what it computes, in words")
    state = serializers.ChoiceField(State.values)
    position = serializers.IntegerField(
        help_text="the place in the queue, from 1; 0 if the job does not wait"
    )
    done = serializers.IntegerField(help_text="how much is done")
    total = serializers.IntegerField(
        help_text="what `done` will be at the end; 0 if that is unknown"
    )
    error = serializers.CharField(help_text="why it failed; empty otherwise")
    asked_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    result = serializers.URLField(
        allow_null=True, help_text="where the result is once the state is `done`"
    )


class JobKey(Strict):
    """The parameter by which a client fetches the result of a job."""

    job = serializers.RegexField(
        r"^[0-9a-f]{32}\Z",
        required=False,
        help_text="the key of a finished job; its result is returned even if data changed since",
    )


def current_job(
    request: Request,
    kind: str,
    options: Options,
    key: str | None = None,
    address: str | None = None,
) -> Job | None:
    """Return the finished job of a question, after waiting a moment; None while it is unfinished.

    `key` names a job that the client followed. `address` is where its result can be read, by
    default the request's. Then `accepted_response` is the answer. Raises
    RefusedBodyError if the job failed, and TooManyRequestsError for too many waiting ones.
    """
    if key:
        question = queue.question_of(kind, options)
        job = get_object_or_404(Job, key=key, question=question)
        if results.is_ready(job) and not results.has_result(job):
            raise Http404
    else:
        try:
            where = request.get_full_path() if address is None else address
            asked = ask(kind, options, request.user, where)
            if asked.job.state in (State.FAILED, State.CANCELLED):
                asked = ask(kind, options, request.user, where, again=True)
        except TooManyError as error:
            raise TooManyRequestsError(str(error), wait=60) from error
        job = asked.job
    job = wait_for_job(job)
    if job.state in (State.FAILED, State.CANCELLED):
        raise RefusedBodyError(job.error or "it was cancelled; ask again")
    request.job = job  # type: ignore[attr-defined]
    return job if results.is_ready(job) else None


def accepted_response(request: Request, address: str | None = None) -> Response:
    """Answer 202 with the job that `current_job` found unfinished."""
    job = request.job  # type: ignore[attr-defined]
    where = request.get_full_path() if address is None else address
    answer = JobSerializer(job_as_json(request, job, where)).data
    headers = {"Location": answer["address"], "Retry-After": RETRY_AFTER}
    return Response(answer, status=202, headers=headers)


def job_as_json(request: Request, job: Job, address: str) -> dict[str, Any]:
    """Return a job as the API shows it. `address` is where the person asked for it."""
    own = reverse("api-job", args=[job.key])
    is_ready = results.is_ready(job) and address.startswith("/api/")
    result = request.build_absolute_uri(address_with_job(address, job)) if is_ready else None
    return {
        "key": job.key,
        "address": request.build_absolute_uri(own),
        "what": kind_named(job.kind).title,
        "state": job.state,
        "position": queue.position(job) if job.state == State.WAITING else 0,
        "done": job.done,
        "total": job.total,
        "error": job.error,
        "asked_at": job.created_at,
        "ended_at": job.ended_at,
        "result": result,
    }


def visible_askers(user: Any) -> Any:
    """Return the jobs that an account asked for, newest first."""
    return JobAsker.objects.filter(user=user).select_related("job").order_by("-pk")


class Jobs(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "List your jobs",
        "The reports, measures and exports that this account asked for within a week, newest "
        "first.",
        {200: page_serializer(JobSerializer)},
        tag="studies",
        example=page_example(A_JOB),
        operation_id="jobs_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_askers(request.user)
        return self.page(rows, lambda page: [_own(request, each) for each in page])


def _own(request: Request, asker: JobAsker) -> dict[str, Any]:
    return JobSerializer(job_as_json(request, asker.job, asker.address)).data


class OneJob(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "Read the status of a job",
        "Its state, its position in the queue, its progress, and the address of its result once it "
        "is done. Results are kept for a week after they were last read.",
        {200: JobSerializer},
        tag="studies",
        example=A_JOB,
        parameters=[KEY],
        operation_id="jobs_read",
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(_own(request, _own_request(request, key)))


class CancelJob(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (READ,)}

    @describe_endpoint(
        "Cancel a job",
        "Withdraws this account's request. A job that nobody else waits for ends, even while it "
        "runs; one that has ended stays as it is.",
        {200: JobSerializer},
        tag="studies",
        example={**A_JOB, "state": "cancelled", "position": 0},
        parameters=[KEY],
        operation_id="jobs_cancel",
    )
    def post(self, request: Request, key: str) -> Response:
        asker = _own_request(request, key)
        queue.cancel(asker.job, request.user)
        return Response(_own(request, asker))


def _own_request(request: Request, key: str) -> JobAsker:
    """Return the account's own request for a job. Raises Http404 also if access was withdrawn."""
    asker = get_object_or_404(visible_askers(request.user), job__key=key)
    if not kind_named(asker.job.kind).may_see(request.user, asker.job.options):
        raise Http404
    return asker
