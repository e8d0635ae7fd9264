"""Celery's tasks: working on an upload or a job in a separate process, and cleaning up.

A message only says that there may be work; the row says which. A message that arrives late or
twice does no harm, since the row's turn is taken or nothing is waiting.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_process_init, worker_ready
from django.conf import settings
from django.utils import timezone

from datasets.api.concurrency import KEY_LIFETIME
from datasets.models import KeptAnswer
from datasets.priority import give_way_to_site, limit_memory
from datasets.uploads.receiving import clean
from datasets.uploads.worker import UPLOAD
from datasets.work import periodic, queue, wake
from datasets.work.execution import HEAVY, LIGHT
from datasets.work.pool import carry_out_one

JOBS_SECONDS = 15.0


@shared_task
def work_on_upload(key: str) -> None:
    carry_out_one(UPLOAD, key=key)


@shared_task
def work_on_jobs() -> None:
    """Carry out one job or upload that is due, and send a message for the next one.

    Judges' runs on the same worker come between two jobs.
    """
    if carry_out_one(LIGHT, UPLOAD, HEAVY) and queue.is_due():
        wake.wake()


@worker_init.connect
def let_pages_come_first(**kwargs: Any) -> None:
    """Give way to a web server on the same machine; the processes of the pool inherit it."""
    give_way_to_site()


@worker_process_init.connect
def limit_process(**kwargs: Any) -> None:
    """Limit what a process of the pool may allocate: it fills in the templates of judge files."""
    limit_memory(settings.TANDEM_JOB_MEMORY_MB)


@worker_ready.connect
def look_for_jobs(sender: Any, **kwargs: Any) -> None:
    """Have each worker look for jobs whose message was lost, or whose worker has died."""
    if wake.has_broker():
        send = partial(wake.send, wake.JOBS, expires=JOBS_SECONDS)
        sender.timer.call_repeatedly(JOBS_SECONDS, send)


@worker_ready.connect
def do_without_beat(sender: Any, **kwargs: Any) -> None:
    """Have each worker do the site's periodic work from its start on, also without a beat.

    Several workers and a beat send more messages than needed, which does no harm.
    """
    for each in periodic.schedule():
        send = partial(wake.send, each.task, expires=each.seconds)
        send()
        sender.timer.call_repeatedly(each.seconds, send)


@shared_task
def clean_uploads() -> None:
    clean()


@shared_task
def forget_answers() -> None:
    """Delete stored answers to API writes after a day (`datasets.api.concurrency`)."""
    KeptAnswer.objects.filter(created_at__lt=timezone.now() - KEY_LIFETIME).delete()
