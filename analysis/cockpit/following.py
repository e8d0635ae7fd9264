"""The jobs of a page that shows the last finished figures: asked for when due, then followed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone

from annotation.access import get_account
from datasets.jobs import TooManyError, ask, queue
from datasets.jobs.kinds import Options
from datasets.models import Job

REST = 10
"""A new figure is asked for once the last one is as many times its own computing time old."""


def followed(request: HttpRequest, asked: Mapping[str, Options], page: str) -> list[Job]:
    """Return the jobs of a page's figures, by kind: those that the address names, or those due.

    `page` is where the account that asked finds the result.
    """
    found = []
    for kind, options in asked.items():
        question = queue.question_of(kind, options)
        job = Job.objects.filter(key=request.GET.get(kind, ""), question=question).first()
        if job is None and _is_due(queue.last_finished(question), timezone.now()):
            try:
                job = ask(kind, options, get_account(request), page).job
            except TooManyError:
                continue
        if job is not None:
            found.append(job)
    return found


def _is_due(last: Job | None, now: datetime) -> bool:
    """Whether a page should ask again: less often for what took long to compute."""
    if last is None or last.started_at is None or last.ended_at is None:
        return True
    took = max(last.ended_at - last.started_at, timedelta(0))
    return now - last.ended_at >= REST * took
