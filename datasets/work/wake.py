"""Wake a worker when there is work, or start one.

With a broker, a message wakes Celery's workers, which may be on other machines. Otherwise a byte in
a named pipe wakes a process of `manage.py work` on this machine; one on another machine looks once
a second. If there is neither, the web server starts a worker of its own, which ends when it has
nothing to do for a minute.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from contextlib import suppress
from pathlib import Path

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from datasets.priority import start_apart
from datasets.work import queue
from datasets.work.results import folder

logger = logging.getLogger("tandem.jobs")
IDLE_SECONDS = 60
CHUNK = 4096
JOBS, UPLOAD = "datasets.tasks.work_on_jobs", "datasets.tasks.work_on_upload"
EXPIRES = 60.0
"""The seconds after which a message is void. Workers look for what they may have missed."""


def wake(task: str = JOBS, *arguments: object) -> None:
    """Have a worker look for work. Call this after the commit.

    The task of Celery's, with its arguments, is for a site with a broker.
    """
    is_heard = send(task, *arguments) if has_broker() else has_workers()
    if not (ring() or is_heard):
        start_here()


def has_workers() -> bool:
    """Return whether workers carry out all work of this site, without being started for it.

    One that is configured need not be running.
    """
    return has_broker() or settings.TANDEM_WITH_WORKERS or queue.has_worker()


def has_broker() -> bool:
    """Return whether this site is configured for Celery's workers, even if none is running."""
    return not str(settings.CELERY_BROKER_URL).startswith("filesystem:")


def send(task: str, *arguments: object, expires: float = EXPIRES) -> bool:
    """Send a message to Celery's workers without waiting; return whether it was sent.

    Nothing is lost if it was not, since workers look for work without a message, too.
    """
    try:
        current_app.send_task(task, arguments, expires=expires, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("The broker cannot be reached, %s was not sent: %s", task, error)
        return False
    return True


def start_here() -> None:
    """Start a worker beside the web server, and a thread that waits for its end."""
    command = ("-m", "tandem.program", "work", "--idle", str(IDLE_SECONDS), "--alone")
    with (folder() / "worker.log").open("ab") as log:
        process = start_apart(*command, log=log)
    # Not in the thread: this process may be a job's, which ends soon.
    threading.Thread(target=process.wait, daemon=True).start()


def ring() -> bool:
    """Wake a worker on this machine. Return False if none listens."""
    try:
        pipe = os.open(_pipe(), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    with suppress(BlockingIOError):
        os.write(pipe, b"\0")
    os.close(pipe)
    return True


def _pipe() -> Path:
    return folder() / "wake"


class Bell:
    """The listening end of the pipe; its `descriptor` is None where there are no named pipes."""

    def __init__(self) -> None:
        self.descriptor: int | None = None
        with suppress(OSError, AttributeError):
            with suppress(FileExistsError):
                os.mkfifo(_pipe(), 0o600)
            self.descriptor = os.open(_pipe(), os.O_RDWR | os.O_NONBLOCK)

    def drain(self) -> None:
        assert self.descriptor is not None
        with suppress(BlockingIOError):
            os.read(self.descriptor, CHUNK)

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def is_first() -> bool:
    """Return whether a web server has no other worker; the lock then keeps others from starting."""
    lock = os.open(folder() / "worker.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    return True
