"""Starting the process that works on an upload: a Celery worker, or one beside the web server.

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
from datasets.tasks import run_apart

logger = logging.getLogger("tandem.uploads")


def start(key: str) -> None:
    """Has an upload worked on; call it after the commit."""
    if not (has_workers() and _rung(key)):
        start_here(key)


def has_workers() -> bool:
    """Whether this site is set up for workers; whether one runs, nobody here can know."""
    return not str(settings.CELERY_BROKER_URL).startswith("filesystem:")


def start_here(key: str) -> None:
    """Starts a process beside this one, and a thread that hears of its end."""
    threading.Thread(target=_watched, args=(key,), daemon=True).start()


def _watched(key: str) -> None:
    try:
        run_apart(key)
    finally:
        connection.close()


def _rung(key: str) -> bool:
    try:
        tasks.work_on_upload.apply_async((key,), retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("The broker is away, the upload is worked on here: %s", error)
        return False
    return True
