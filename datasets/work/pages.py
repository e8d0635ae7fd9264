"""Helpers for pages that show the result of a job, or wait for it.

A page shows the last finished result at once, with its age, and follows the job that computes the
new one: htmx replaces the result in place, or the page reloads if scripts are off. The parameter
`job` in an address names the job that the page follows, so that it does not ask again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from datasets.access import wants_data
from datasets.models import Job
from datasets.work import queue, results
from datasets.work.kinds import Options, kind_named
from datasets.work.queue import JobRequest, TooManyError
from datasets.work.requests import ask
from datasets.work.wake import has_broker

State = Job.State
PARTS = ("#measures", "#queries")
"""The parts of the page Results that follow a job beside the report's."""
OWN = ("job", "seen", "part")
"""Parameters of these pages, which are not options."""
QUICK_SECONDS, QUICK, SLOW = 15, 1, 3
RETRY_AFTER = "2"
MINUTE = 60


def options_of(request: HttpRequest, *beside: str) -> Any:
    """Return the parameters of an address, apart from our own and those `beside`."""
    query = request.GET.copy()
    for name in (*OWN, *beside):
        query.pop(name, None)
    return query


def address_of(request: HttpRequest, path: str = "") -> str:
    """Return the address of a page with its options, at the request's path or another."""
    query = options_of(request).urlencode()
    return f"{path or request.path}{'?' if query else ''}{query}"


def follow(
    request: HttpRequest, kind: str, options: Options, page: str = "", again: bool = False
) -> JobRequest:
    """Return the job that the address names, if it answers this question; otherwise ask.

    `page` is the address where the person finds the result; by default the request's. With `again`
    a job that failed is repeated.
    """
    question = queue.question_of(kind, options)
    if key := request.GET.get("job"):
        job = Job.objects.filter(key=key, question=question).first()
        if job is not None and (not results.is_ready(job) or results.has_result(job)):
            return JobRequest(job, job if results.is_ready(job) else queue.last_finished(question))
    try:
        return ask(kind, options, request.user, page or address_of(request), again)
    except TooManyError as error:
        return JobRequest(refused_job(kind, str(error)), queue.last_finished(question))


def refused_job(kind: str, reason: str) -> Job:
    """Return a job that was not stored, to show why."""
    return Job(kind=kind, state=State.FAILED, error=reason, created_at=timezone.now())


@dataclass(frozen=True)
class Status:
    """The status of a job on a page.

    The address `poll` is requested every few seconds, and returns what replaces the element
    `target`. `page` is the address of the person's page.
    """

    job: Job
    poll: str
    target: str
    page: str
    position: int
    is_stuck: bool

    @property
    def element(self) -> str:
        """The id of the status's own element. Parts of a page may have jobs of their own."""
        return f"job-{self.target[1:]}" if self.target in PARTS else "job"

    @property
    def noun(self) -> str:
        return kind_named(self.job.kind).title

    @property
    def is_active(self) -> bool:
        return self.job.state in queue.ACTIVE

    @property
    def percent(self) -> int | None:
        """The percentage that is done; None if that is unknown."""
        job = self.job
        return min(100, 100 * job.done // job.total) if job.total else None

    @property
    def left(self) -> str:
        """The remaining time at the pace so far, in words; empty while that is unknown."""
        job = self.job
        if not job.total or not job.done or job.started_at is None:
            return ""
        spent = (timezone.now() - job.started_at).total_seconds()
        seconds = spent * (job.total - job.done) / job.done
        if seconds < MINUTE:
            return "less than a minute"
        minutes = round(seconds / MINUTE)
        if minutes < 2 * MINUTE:
            return f"about {minutes} minute{'' if minutes == 1 else 's'}"
        return f"about {round(minutes / MINUTE)} hours"

    @property
    def seconds(self) -> int:
        """The seconds between two requests for the status: few at first, when most jobs end."""
        age = (timezone.now() - self.job.created_at).total_seconds()
        return QUICK if age < QUICK_SECONDS else SLOW

    @property
    def seen(self) -> str:
        """A short text that changes whenever the status on the page does."""
        facts = (self.job.state, self.position, self.percent, self.is_stuck, self.seconds)
        return "-".join(map(str, facts))

    @property
    def has_broker(self) -> bool:
        return has_broker()


def status_of(job: Job, poll: str, target: str, page: str) -> Status:
    """Return the status of a job. `poll` is an address with options."""
    waits = job.state == State.WAITING
    position = queue.position(job) if waits else 0
    status = Status(job, "", target, page, position, waits and queue.is_stuck(job))
    own = urlencode({"job": job.key, "seen": status.seen, "part": job.result.get("part", 0)})
    poll = f"{poll}{'&' if '?' in poll else '?'}{own}"
    return Status(job, poll, target, page, position, status.is_stuck)


def progress(request: HttpRequest, asked: JobRequest, status: Status) -> HttpResponse | None:
    """Answer htmx while its job has nothing new; send the status only if it has changed."""
    if not request.htmx or "job" not in request.GET or asked.is_current:  # type: ignore[attr-defined]
        return None
    if asked.part is not None and request.GET.get("part") != str(asked.part.result["part"]):
        return None
    if request.GET.get("seen") == status.seen:
        return HttpResponse(status=204)
    part = render(request, "jobs/_status.html", {"status": status})
    part["HX-Retarget"], part["HX-Reswap"] = f"#{status.element}", "outerHTML"
    return part


def waiting_page(
    request: HttpRequest,
    job: Job,
    back: str,
    more: Mapping[str, Any] | None = None,
    page: str = "",
) -> HttpResponse:
    """Return a page that waits for a result, a file or another page, and then leads to it.

    `back` is the address of the page that the person came from, and `page` that of the result, by
    default the request's. A script gets the job as JSON.
    """
    page = page or address_of(request)
    if wants_data(request) and not request.htmx:  # type: ignore[attr-defined]
        answer: HttpResponse = JsonResponse(job_as_dict(job, page), status=_code(job))
    else:
        status = status_of(job, live_address(job, page), "#job", page)
        context = {"status": status, "back": back, **(more or {})}
        answer = render(request, "jobs/waiting.html", context, status=_code(job))
    if job.state in queue.ACTIVE:
        answer["Retry-After"] = RETRY_AFTER
    return answer


def send_file(request: HttpRequest, job: Job) -> HttpResponseBase:
    """Send the file of a finished job; if it was deleted meanwhile, ask for it again."""
    try:
        file = results.open_result(job)
    except results.GoneError:
        return redirect(address_of(request))
    name, media_type = job.result["name"], job.result["media_type"]
    return FileResponse(file, as_attachment=True, filename=name, content_type=media_type)


def file(
    request: HttpRequest, kind: str, options: Options, back: str, record: Callable[[], object]
) -> HttpResponseBase:
    """Send the file that answers a question, or the page that waits for it and leads back.

    `record` is called when the file is sent, to record that.
    """
    asked = follow(request, kind, options)
    if not asked.is_current:
        return waiting_page(request, asked.job, back)
    record()
    return send_file(request, asked.job)


def _code(job: Job) -> int:
    if job.state in queue.ACTIVE:
        return 202
    return 429 if job.pk is None else 422


def job_as_dict(job: Job, page: str) -> dict[str, Any]:
    """Return a job for a script that uses a page's address."""
    return {
        "job": job.key,
        "state": job.state,
        "done": job.done,
        "total": job.total,
        "error": job.error,
        "problems": [],
        "result": address_with_job(page, job),
    }


def address_with_job(address: str, job: Job) -> str:
    """Return an address that shows this job's result even if the data have changed since."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'job': job.key})}"


def live_address(job: Job, page: str) -> str:
    return f"{reverse('job-live', args=[job.key])}?{urlencode({'next': page})}"


def safe_address(request: HttpRequest, address: str) -> str:
    """Return an address if it is on this site, or else that of the list of jobs."""
    here = url_has_allowed_host_and_scheme(address, None) and address.startswith("/")
    return address if here else reverse("jobs")


@dataclass(frozen=True)
class PageResult:
    """The content of a page: the `value` of the last result, and the status of a newer one.

    `value` is None before the first result, and `status` if the result is up to date. A value that
    `is_part` is what exists of the first result.
    """

    value: Any
    job: Job | None
    status: Status | None
    is_part: bool = False

    @property
    def is_checking(self) -> bool:
        """Whether the result is complete, and its check is not."""
        return self.job is not None and self.job.state == State.RUNNING and not self.is_part


def result_or_progress(
    request: HttpRequest,
    kind: str,
    options: Options,
    poll: str,
    page: str,
    target: str = "#report",
    load: Callable[[Job], Any] = results.value,
) -> PageResult | HttpResponse:
    """Return a question's result for a page, or the response to htmx while there is nothing new.

    `poll` and `page` are the paths of the part that htmx asks for, which replaces `target`, and of
    the page. `load` reads the result of a finished job.
    """
    asked = follow(request, kind, options, address_of(request, page))
    poll, page = address_of(request, poll), address_of(request, page)
    return result_or_progress_of(request, asked, poll, page, target, load)


def result_or_progress_of(
    request: HttpRequest,
    asked: JobRequest,
    poll: str,
    page: str,
    target: str,
    load: Callable[[Job], Any],
) -> PageResult | HttpResponse:
    """Like `result_or_progress`, for a requested job; `poll` and `page` are whole addresses."""
    status = None if asked.is_current else status_of(asked.job, poll, target, page)
    if status is not None and (part := progress(request, asked, status)):
        return part
    job = asked.last or asked.part
    try:
        value = load(job) if job else None
    except results.GoneError:
        value = None
    if value is None:
        return PageResult(None, None, status)
    return PageResult(value, job, status, is_part=asked.last is None)
