"""Request new figures for a page that shows the last finished ones, and follow their jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone

from annotation.access import get_account
from datasets.models import Job
from datasets.work import TooManyError, ask, queue
from datasets.work.kinds import Options

REST = 10
"""A figure is recomputed once its age is this multiple of its computing time."""


def jobs_for_page(
    request: HttpRequest, asked: Mapping[str, Options], page: str, at_once: bool = False
) -> list[Job]:
    """Return the jobs that compute a page's figures, and request those that are due.

    `asked` has the options of each kind of job. The page's address names jobs in progress, by kind;
    if another one has begun since, the page follows that. `page` is where the account finds the
    result. With `at_once`, figures do not rest: the page has none of them.
    """
    found = []
    for kind, options in asked.items():
        question = queue.question_of(kind, options)
        named = Job.objects.filter(key=request.GET.get(kind, ""), question=question).first()
        job = _newest(question, named)
        if job is None and (at_once or _is_due(queue.last_finished(question), timezone.now())):
            try:
                job = ask(kind, options, get_account(request), page).job
            except TooManyError:
                continue
        if job is not None:
            found.append(job)
    return found


def _newest(question: str, named: Job | None) -> Job | None:
    """Return the newest job of a question that is under way, or else the named one."""
    active = Job.objects.filter(question=question, state__in=queue.ACTIVE).order_by("-pk")
    newest = next((job for job in active if queue.is_under_way(job)), None)
    return newest if newest and (named is None or newest.pk > named.pk) else named


def _is_due(last: Job | None, now: datetime) -> bool:
    """Return whether to recompute a figure, less often if that takes long."""
    if last is None or last.started_at is None or last.ended_at is None:
        return True
    took = max(last.ended_at - last.started_at, timedelta(0))
    return now - last.ended_at >= REST * took
