"""API endpoints of jobs: the account's own, their status, and cancelling them."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from datasets.api.permissions import READ
from datasets.api.routes import JobSerializer, Reply, Routes, job_as_json
from datasets.models import JobAsker
from datasets.work import queue
from datasets.work.kinds import kind_named

api = Routes("studies", writes=(READ,))


def visible_askers(user: Any) -> Any:
    """Return the jobs that an account asked for, newest first."""
    return JobAsker.objects.filter(user=user).select_related("job").order_by("-pk")


@api.list(
    "jobs/",
    "List your jobs",
    "The reports, measures and exports that this account asked for within a week, newest first.",
    JobSerializer,
    name="jobs",
)
def jobs_list(request: Request) -> Reply:
    return Reply(
        visible_askers(request.user),
        lines=lambda rows: [_described(request, each) for each in rows],
    )


@api.get(
    "jobs/<slug:key>/",
    "Read the status of a job",
    "Its state, its position in the queue, its progress, and the address of its result once it "
    "is done. Results are kept for a week after they were last read.",
    JobSerializer,
    name="job",
)
def jobs_read(request: Request, key: str) -> Any:
    return _described(request, _own_request(request, key))


@api.post(
    "jobs/<slug:key>/cancel/",
    "Cancel a job",
    "Withdraws this account's request. A job that nobody else waits for ends, even while it "
    "runs; one that has ended stays as it is.",
    JobSerializer,
    name="job-cancel",
)
def jobs_cancel(request: Request, key: str) -> Any:
    asker = _own_request(request, key)
    queue.cancel(asker.job, request.user)
    return _described(request, asker)


def _described(request: Request, asker: JobAsker) -> dict[str, Any]:
    return job_as_json(request, asker.job, asker.address)


def _own_request(request: Request, key: str) -> JobAsker:
    """Return the account's own request for a job. Raises Http404 also if access was withdrawn."""
    asker = get_object_or_404(visible_askers(request.user), job__key=key)
    if not kind_named(asker.job.kind).may_see(request.user, asker.job.options):
        raise Http404
    return asker
