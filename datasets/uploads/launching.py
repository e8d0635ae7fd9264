"""Who works on an upload: a worker where there are any, else a process beside the web server.

With the file system as the queue, which is what holds where nothing is set, there is often no
worker at all; so there the web server starts the process itself. With a real broker it rings for a
worker, and where none comes the page says so and lets somebody start it here.
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
