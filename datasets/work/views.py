"""Pages of jobs: a person's list, the status of a job that a page waits for, and its buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from datasets.access import READERS, role_required
from datasets.models import Job, JobAsker
from datasets.work import queue, results, wake
from datasets.work.kinds import kind_named, subject_names
from datasets.work.notices import notices
from datasets.work.pages import address_with_job, safe_address, status_of
from datasets.work.queue import TooManyError
from datasets.work.requests import ask

State = Job.State
MOST_SHOWN = 100


@require_safe
@role_required(*READERS)
def jobs(request: HttpRequest) -> HttpResponse:
    """Render the jobs that a person asked for, newest first, with links to their results."""
    asked = JobAsker.objects.filter(user=request.user.pk).select_related("job").order_by("-pk")
    rows: list[dict[str, Any]] = [
        {
            "job": each.job,
            "kind": kind_named(each.job.kind),
            "about": subject_names(each.job.options),
            "result": address_with_job(each.address, each.job)
            if each.address.startswith("/")
            else "",
            "position": queue.position(each.job) if each.job.state == State.WAITING else 0,
            "is_ready": results.is_ready(each.job),
        }
        for each in asked[:MOST_SHOWN]
        if _is_listed(each.job, request.user)
    ]
    active = any(queue.is_under_way(row["job"]) for row in rows)
    return render(request, "jobs/list.html", {"rows": rows, "active": active})


def _is_listed(job: Job, user: Any) -> bool:
    kind = kind_named(job.kind)
    return kind.listed and kind.may_see(user, job.options)


@require_safe
@role_required(*READERS)
def ended(request: HttpRequest) -> HttpResponse:
    """Return which of the person's jobs in `job` are under way, and messages about the others."""
    return JsonResponse(notices(request.user, request.GET.getlist("job")))


@require_safe
@role_required(*READERS)
def live(request: HttpRequest, key: str) -> HttpResponse:
    """Render the status of a job; when it is done, with a link to the result."""
    job, page = _visible(request, key), safe_address(request, request.GET.get("next", ""))
    query = request.GET.copy()
    for name in ("job", "seen"):
        query.pop(name, None)
    poll = f"{request.path}?{query.urlencode()}"
    status = status_of(job, poll, "#job", page)
    if request.GET.get("seen") == status.seen:
        return HttpResponse(status=204)
    context = {"status": status, "result": address_with_job(page, job)}
    return render(request, "jobs/_status.html", context)


@require_POST
@role_required(*READERS)
def order(request: HttpRequest, key: str) -> HttpResponse:
    """Cancel a job, ask again for one that ended, or start a worker, as `order` says.

    Redirects to the page that `next` names.
    """
    ordered = ORDERS.get(request.POST.get("order", ""))
    if ordered is None:
        raise Http404("No such order.")
    job = _ordered(request, key)
    then = ordered(job, request)
    page = safe_address(request, request.POST.get("next", ""))
    # A page that follows this job then follows the new one.
    return redirect(page.replace(f"job={job.key}", f"job={then.key}"))


def _cancel(job: Job, request: HttpRequest) -> Job:
    queue.cancel(job, request.user)
    return job


def _run_again(job: Job, request: HttpRequest) -> Job:
    # If the person has too many jobs, the page says so when it asks itself.
    asked = job.askers.filter(user=request.user.pk).values_list("address", flat=True).first()
    try:
        page = asked or safe_address(request, request.POST.get("next", ""))
        return ask(job.kind, job.options, request.user, page, again=True).job
    except TooManyError:
        return job


def _start_worker(job: Job, request: HttpRequest) -> Job:
    if queue.is_stuck(job):
        wake.start_here()
    return job


ORDERS: dict[str, Callable[[Job, HttpRequest], Job]] = {
    "cancel": _cancel,
    "again": _run_again,
    "start": _start_worker,
}


def _visible(request: HttpRequest, key: str) -> Job:
    """Return a person's own job, if they may still see its result. Raises Http404 otherwise."""
    return _check_visible(request, get_object_or_404(queue.jobs_of(request.user), key=key))


def _ordered(request: HttpRequest, key: str) -> Job:
    """Return a job that the person may give an order about: their own, or any failed one.

    A failed job may be repeated by everybody with access to its result. Raises Http404 otherwise.
    """
    failed = Job.objects.filter(key=key, state=State.FAILED).first()
    return _check_visible(request, failed) if failed else _visible(request, key)


def _check_visible(request: HttpRequest, job: Job) -> Job:
    if not kind_named(job.kind).may_see(request.user, job.options):
        raise Http404
    return job
