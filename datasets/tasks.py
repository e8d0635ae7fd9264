"""Background tasks of batches: working on an upload in a process of its own, and cleaning up.

A message only says that work may be due; the row says what is due. So a message that arrives late
or twice does no harm: either the row's turn is taken, or nothing is waiting. Uploads that nobody
came back for are deleted after a day, files first.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import uuid
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from datasets.api.concurrency import LASTS
from datasets.models import KeptAnswer, Upload
from datasets.uploads import quarantine
from datasets.uploads.worker import AT_WORK, refuse

logger = logging.getLogger("tandem.uploads")

WAIT_SECONDS = 1000
DIED = (
    "the process that worked on the files died, probably for want of memory; "
    "try it again, or load them with manage.py load_batch"
)


def run_apart(key: str) -> None:
    """Works on an upload in a process with limits, to its end."""
    turn = uuid.uuid4()
    # As the command has it: what bounds the queries of a page would end a long load.
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
        died(key, turn)


def died(key: str, turn: uuid.UUID) -> None:
    """Ends the turn of a process that went without a word of its own, and nobody else's."""
    upload = Upload.objects.filter(key=key, state__in=AT_WORK, turn=turn).first()
    if upload is not None:
        refuse(upload, DIED)


KEPT_FOR = timedelta(hours=24)
ON_THE_WAY_SECONDS = 3 * 3600


def clean() -> int:
    """Removes uploads that nobody touched for a day, and files without one; how many uploads.

    What was kept stays as its batch. A load under way is younger: its process may not be that old.
    """
    old = Upload.objects.filter(changed_at__lt=timezone.now() - KEPT_FOR)
    keys = list(old.values_list("key", flat=True))
    Upload.objects.filter(key__in=keys).delete()
    for key in keys:
        quarantine.remove(key)
    _leftovers()
    return len(keys)


def _leftovers() -> None:
    found = quarantine.leftovers(ON_THE_WAY_SECONDS)
    known = set(
        Upload.objects.filter(key__in=[p.name for p in found]).values_list("key", flat=True)
    )
    for path in found:
        if path.is_dir() and path.name not in known:
            quarantine.remove(path.name)
        elif path.is_file():
            path.unlink(missing_ok=True)


@shared_task
def work_on_upload(key: str) -> None:
    run_apart(key)


@shared_task
def clean_uploads() -> None:
    clean()


@shared_task
def forget_answers() -> None:
    """Removes the answers to writes that nobody sends again (`datasets.api.concurrency`)."""
    KeptAnswer.objects.filter(created_at__lt=timezone.now() - LASTS).delete()
