"""Responses whose result is computed by a job.

A report or an export is returned at once if it is up to date, or as soon as it is ready within 20
seconds. Otherwise the response is 202 with the address of the job, which has its progress and the
address of its result. A client may also repeat the request, which joins the same job.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from datasets.api.base import Strict
from datasets.api.errors import RefusedBodyError, TooManyRequestsError
from datasets.models import Job
from datasets.work import queue, results
from datasets.work.kinds import Options, kind_named
from datasets.work.pages import RETRY_AFTER, address_with_job
from datasets.work.queue import TooManyError
from datasets.work.requests import ask, wait_for_job

State = Job.State


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


class UnfinishedError(Exception):
    """The job has not finished within the time that a response may take; `response` is 202."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def finished_job(
    request: Request,
    kind: str,
    options: Options,
    key: str | None = None,
    address: str | None = None,
) -> Job:
    """Return the finished job of a question, after waiting a moment.

    `key` names a job that the client followed. `address` is where its result can be read, by
    default the request's. Raises UnfinishedError, RefusedBodyError if the job failed, and
    TooManyRequestsError for too many waiting ones.
    """
    where = request.get_full_path() if address is None else address
    job = wait_for_job(
        _followed_job(kind, options, key) if key else _asked_job(request, kind, options, where)
    )
    if job.state in (State.FAILED, State.CANCELLED):
        raise RefusedBodyError(job.error or "it was cancelled; ask again")
    if not results.is_ready(job):
        found = JobSerializer(job_as_json(request, job, where)).data
        headers = {"Location": found["address"], "Retry-After": RETRY_AFTER}
        raise UnfinishedError(Response(found, status=202, headers=headers))
    return job


def result_of(
    request: Request,
    kind: str,
    options: Options,
    key: str | None = None,
    address: str | None = None,
) -> Any:
    """Return the result of a question's job; raises like `finished_job`."""
    return results.value(finished_job(request, kind, options, key, address))


def _followed_job(kind: str, options: Options, key: str) -> Job:
    job = get_object_or_404(Job, key=key, question=queue.question_of(kind, options))
    if results.is_ready(job) and not results.has_result(job):
        raise Http404
    return job


def _asked_job(request: Request, kind: str, options: Options, address: str) -> Job:
    try:
        job = ask(kind, options, request.user, address).job
        if job.state in (State.FAILED, State.CANCELLED):
            job = ask(kind, options, request.user, address, again=True).job
    except TooManyError as error:
        raise TooManyRequestsError(str(error), wait=60) from error
    return job


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
