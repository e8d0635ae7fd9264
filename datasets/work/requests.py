"""Request a job from a page or the API, and wait a moment for it in the API."""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import Any

from django.conf import settings
from django.db import transaction

from datasets.models import Job
from datasets.work import queue, results, wake
from datasets.work.execution import carry_out
from datasets.work.kinds import Options
from datasets.work.queue import JobRequest

State = Job.State
WAIT_SECONDS = 20.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5
_waiting = threading.BoundedSemaphore(settings.JOB_WAITS)


def ask(
    kind: str, options: Options, user: Any, address: str = "", again: bool = False
) -> JobRequest:
    """Return the job of a question, and the last finished one of the same question.

    They are the same if the last result is up to date. Otherwise a worker computes a new one; a job
    that failed, or that this person cancelled, is repeated only if they ask `again`. Nothing is
    computed here. `address` is where the person finds the result. Raises TooManyError above the
    limit of waiting jobs.
    """
    asked = queue.find_or_add(kind, options, user, address, again)
    if asked.job.state == State.WAITING:
        if settings.JOBS_EAGER:
            return _carry_out_now(asked)
        transaction.on_commit(wake.wake)
    return asked


def _carry_out_now(asked: JobRequest) -> JobRequest:
    """Carry out the job at once, for tests that are not about the queue."""
    job = queue.lease_now(asked.job)
    carry_out(job, lambda done, total: None, strict=True)
    job.refresh_from_db()
    return JobRequest(job, job if results.is_ready(job) else asked.last)


def wait_for_job(job: Job) -> Job:
    """Wait for a job's result, for at most 20 seconds, and return the job as it is then.

    Only a third of the web server's threads for reports and similar pages may wait, and no thread
    for saves. A request beyond these returns at once.
    """
    if not queue.is_under_way(job) or not _waiting.acquire(blocking=False):
        return job
    try:
        pause, until = FIRST_PAUSE, monotonic() + WAIT_SECONDS
        while queue.is_under_way(job) and monotonic() < until:
            sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            job.refresh_from_db()
    finally:
        _waiting.release()
    return job
