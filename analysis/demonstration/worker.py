"""A Celery worker as a process of its own, for as long as it is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

GRACE = 20


@contextmanager
def celery_worker() -> Iterator[Path]:
    """Starts a worker in its own process group and stops it in the end; gives its log."""
    log = Path(settings.DATA_DIR) / "worker.log"
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1",
               "--loglevel", "INFO", "--without-mingle", "--without-gossip"]  # fmt: skip
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, cwd=settings.BASE_DIR, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield log
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        # Its children stand in the same group and would go on without it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
