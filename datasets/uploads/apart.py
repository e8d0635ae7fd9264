"""The process of its own in which an upload is worked on, and what is said when it dies."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import uuid

from django.conf import settings

from datasets.models import Upload
from datasets.uploads.working import AT_WORK, refuse

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
            cwd=settings.BASE_DIR, env=kept, timeout=WAIT_SECONDS, check=False,
            start_new_session=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
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
