"""Work on a run in a process beside the web server if no worker takes it.

The web server takes the run's lease and hands it to a process of its own, so that neither a second
click nor a late worker starts the run again. A site without a broker or local workers does so for
every run; on other sites, a run's page offers it after a while.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import uuid

from django.conf import settings
from django.db import connection

from judging.models import JudgeRun
from judging.runs import lifecycle

logger = logging.getLogger("tandem.judging")


def has_workers() -> bool:
    """Return whether this site is configured for judge workers. They need not be running."""
    broker = str(settings.CELERY_BROKER_URL)
    return settings.TANDEM_WITH_WORKERS or not broker.startswith("filesystem:")


def start_here(run: JudgeRun) -> bool:
    """Work on a queued run in a process beside the web server; return False if it is not possible.

    It is impossible if another process works on the run, or on another run of the same lane.
    """
    lease = lifecycle.lease_run(run) if run.queued else None
    if lease is None:
        return False
    # Not in the thread: the run may have been queued by a job's process, which ends soon.
    process = _started(run, lease)
    threading.Thread(target=_wait_for, args=(process, run, lease), daemon=True).start()
    return True


def _started(run: JudgeRun, lease: uuid.UUID) -> subprocess.Popen[bytes]:
    # The query timeout for pages, set in PGOPTIONS, would abort long statements.
    kept = {name: value for name, value in os.environ.items() if name != "PGOPTIONS"}
    return subprocess.Popen(
        [sys.executable, "-m", "judging", str(run.pk), str(lease)],
        cwd=settings.BASE_DIR,
        env=kept,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )


def _wait_for(process: subprocess.Popen[bytes], run: JudgeRun, lease: uuid.UUID) -> None:
    try:
        if status := process.wait():
            logger.error("the process of %s ended with status %s", run, status)
            lifecycle.hand_over(run, lease)
    finally:
        connection.close()
