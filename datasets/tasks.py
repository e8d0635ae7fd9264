"""Background tasks: working on an upload or a job in a separate process, and cleaning up.

A message only says that there may be work; the row says which. A message that arrives late or
twice does no harm, since the row's turn is taken or nothing is waiting. Undecided uploads are
deleted after a day.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import uuid
from datetime import timedelta
from functools import partial
from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_process_init, worker_ready
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from datasets.api.concurrency import KEY_LIFETIME
from datasets.memory import limit_memory
from datasets.models import KeptAnswer, Upload
from datasets.priority import give_way
from datasets.uploads import quarantine
from datasets.uploads.worker import AT_WORK, refuse
from datasets.work import periodic, queue, wake
from datasets.work.worker import JobWorker
from tandem.verbs import verb_of

logger = logging.getLogger("tandem.uploads")

WAIT_SECONDS = 1000
PROCESS_ENDED = (
    "the process that worked on the files ended, probably for lack of memory; "
    f"try again, or load them with {verb_of('load_batch')}"
)
RETENTION = timedelta(hours=24)
INCOMING_SECONDS = 3 * 3600
JOBS_SECONDS = 15.0


def run_process(key: str) -> None:
    """Work on an upload in a process with limits, and wait for its end."""
    turn = uuid.uuid4()
    # The query timeout for pages, in PGOPTIONS, would end a long load.
    kept = {name: value for name, value in os.environ.items() if name != "PGOPTIONS"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "datasets.uploads", key, str(turn)],
            cwd=settings.BASE_DIR,
            env=kept,
            timeout=WAIT_SECONDS,
            check=False,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
        status = done.returncode
    except subprocess.TimeoutExpired:
        status = -1
    if status:
        logger.error("the process of an upload ended with status %s", status)
        end_turn(key, turn)


def end_turn(key: str, turn: uuid.UUID) -> None:
    """Refuse an upload whose process ended without a result, if its turn is still the same."""
    upload = Upload.objects.filter(key=key, state__in=AT_WORK, turn=turn).first()
    if upload is not None:
        refuse(upload, PROCESS_ENDED)


def clean() -> int:
    """Delete uploads unchanged for a day, and files without one; return the number of uploads.

    Batches of kept uploads stay. A process may not run for a day, so none is interrupted.
    """
    old = Upload.objects.filter(changed_at__lt=timezone.now() - RETENTION)
    keys = list(old.values_list("key", flat=True))
    Upload.objects.filter(key__in=keys).delete()
    for key in keys:
        quarantine.remove(key)
    _delete_leftovers()
    return len(keys)


def _delete_leftovers() -> None:
    found = quarantine.leftovers(INCOMING_SECONDS)
    existing = set(
        Upload.objects.filter(key__in=[p.name for p in found]).values_list("key", flat=True)
    )
    for path in found:
        if path.is_dir() and path.name not in existing:
            quarantine.remove(path.name)
        elif path.is_file():
            path.unlink(missing_ok=True)


@shared_task
def work_on_upload(key: str) -> None:
    run_process(key)


@shared_task
def work_on_jobs() -> None:
    """Carry out one job that is due, and send a message for the next one.

    Judges' runs on the same worker come between two jobs.
    """
    if JobWorker(places=1).run_one() and queue.is_due():
        wake.wake()


@worker_init.connect
def let_pages_come_first(**kwargs: Any) -> None:
    """Give way to a web server on the same machine; the processes of the pool inherit it."""
    give_way()


@worker_process_init.connect
def limit_process(**kwargs: Any) -> None:
    """Limit what a process of the pool may allocate: it fills in the templates of judge files."""
    limit_memory(settings.TANDEM_JOB_MEMORY_MB)


@worker_ready.connect
def look_for_jobs(sender: Any, **kwargs: Any) -> None:
    """Have each worker look for jobs whose message was lost, or whose worker has died."""
    if wake.has_broker():
        sender.timer.call_repeatedly(JOBS_SECONDS, partial(_send, work_on_jobs, JOBS_SECONDS))


@worker_ready.connect
def do_without_beat(sender: Any, **kwargs: Any) -> None:
    """Have each worker do the site's periodic work from its start on, also without a beat.

    Several workers and a beat send more messages than needed, which does no harm.
    """
    for each in periodic.schedule():
        send = partial(_send, each.load(), each.seconds)
        send()
        sender.timer.call_repeatedly(each.seconds, send)


def _send(task: Any, expires: float) -> None:
    try:
        task.apply_async(retry=False, expires=expires)
    except (OperationalError, OSError) as error:
        logger.warning("The broker cannot be reached, %s was not sent: %s", task.name, error)


@shared_task
def clean_uploads() -> None:
    clean()


@shared_task
def forget_answers() -> None:
    """Delete stored answers to API writes after a day (`datasets.api.concurrency`)."""
    KeptAnswer.objects.filter(created_at__lt=timezone.now() - KEY_LIFETIME).delete()
