"""Wake a worker when a job is requested, or start one.

With a broker, a message wakes Celery's workers. Otherwise a byte in a named pipe wakes a process of
`manage.py work` on this machine; one on another machine looks once a second. If there is neither,
the web server starts a worker of its own, which ends when it has nothing to do for a minute.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from kombu.exceptions import OperationalError

from datasets.work import queue
from datasets.work.results import folder

logger = logging.getLogger("tandem.jobs")
IDLE_SECONDS = 60
CHUNK = 4096


def wake() -> None:
    """Have a worker look for jobs. Call this after the commit."""
    if has_broker() and _send_message():
        return
    if not (ring() or queue.has_worker()):
        start_here()


def has_broker() -> bool:
    """Return whether this site is configured for Celery's workers, even if none is running."""
    return not str(settings.CELERY_BROKER_URL).startswith("filesystem:")


def start_here() -> None:
    """Start a worker beside the web server, and a thread that waits for its end."""
    threading.Thread(target=_run_and_wait, daemon=True).start()


def _run_and_wait() -> None:
    # The query timeout for pages, in PGOPTIONS, would end a long report.
    kept = {name: value for name, value in os.environ.items() if name != "PGOPTIONS"}
    program = [sys.executable, "-m", "tandem.program"]
    command = [*program, "work", "--idle", str(IDLE_SECONDS), "--alone"]
    with (folder() / "worker.log").open("ab") as log:
        subprocess.run(
            command,
            cwd=settings.BASE_DIR,
            env=kept,
            check=False,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _send_message() -> bool:
    from datasets import tasks

    try:
        tasks.work_on_jobs.apply_async(retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("The broker cannot be reached; a job waits for another worker: %s", error)
        return False
    return True


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
