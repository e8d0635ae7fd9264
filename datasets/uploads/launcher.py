"""Start the process that works on an upload: a Celery worker, or one beside the web server.

With the file system as the broker, which is the default, there is often no worker, so the web
server starts the process itself. With a real broker it sends a message to the workers. If none
answers, the page says so and offers to start the process here.
"""

from __future__ import annotations

import logging
import threading

from django.conf import settings
from django.db import connection
from kombu.exceptions import OperationalError

from datasets import tasks
from datasets.tasks import run_process

logger = logging.getLogger("tandem.uploads")


def start(key: str) -> None:
    """Start work on an upload. Call this after the commit."""
    if not (has_workers() and _send_message(key)):
        start_here(key)


def has_workers() -> bool:
    """Return whether this site is configured for workers. A worker need not be running."""
    return not str(settings.CELERY_BROKER_URL).startswith("filesystem:")


def start_here(key: str) -> None:
    """Start a separate process, and a thread that waits for its end."""
    threading.Thread(target=_run_and_wait, args=(key,), daemon=True).start()


def _run_and_wait(key: str) -> None:
    try:
        run_process(key)
    finally:
        connection.close()


def _send_message(key: str) -> bool:
    try:
        tasks.work_on_upload.apply_async((key,), retry=False)
    except (OperationalError, OSError) as error:
        logger.warning(
            "The broker cannot be reached; the web server works on the upload: %s", error
        )
        return False
    return True
