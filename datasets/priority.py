"""Processes that compute: their priority, the limit on their memory, and their environment."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import connection

from datasets import site_lock

# With 5, a saving thread still waits for the processor when it wakes: one wait in ten took at least
# 2 ms instead of 0.1 ms.
NICENESS = 10
# While a process that writes to SQLite waits for the processor, nobody can save.
NICENESS_OF_SESSION = {"sqlite": 8, "postgresql": 12}
# Somebody waits for a page, and for a job only its status. With the niceness of jobs, each of which
# has a session of its own, a process for pages would get as much as one job, and on PostgreSQL next
# to nothing while people save. With 2, a thread that saves waited 30 of its slowest 48 ms for the
# processor.
NICENESS_OF_PAGES = 6
SESSION = Path("/proc/self/autogroup")


def give_way_to_site() -> None:
    """Give way if the site's web server is on this machine, judged by the data folder's lock.

    Elsewhere nobody saves, so that a worker has the processor to itself. A server for development
    holds no lock.
    """
    if settings.DEBUG or site_lock.has_server(settings.DATA_DIR):
        give_way()


def give_way(session: int | None = None) -> None:
    """Give the processor to the processes in which people save first.

    `session` is the niceness of the session; by default that of jobs.

    Linux divides the processor among sessions, before it looks at the niceness of processes within
    each (sched_autogroup_enabled). So if this process leads a session, the session is made nice,
    too. A process that waits for a query would interrupt the thread that saves whenever a result
    arrives. The policy *batch* prevents that.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    if sys.platform != "linux":
        return
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if os.getsid(0) != os.getpid():
        return
    niceness = NICENESS_OF_SESSION[connection.vendor] if session is None else session
    for _ in range(5):
        try:
            SESSION.write_text(str(niceness), "ascii")
        except BlockingIOError:
            # The kernel allows this ten times a second, for all users together.
            time.sleep(0.1)
        except OSError:
            return
        else:
            return


MEGABYTE = 1024 * 1024


def limit_memory(megabytes: int) -> None:
    """Limit what this process, and every process that it starts, may allocate.

    More raises MemoryError. A lower limit that the process has already stays.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    memory = megabytes * MEGABYTE
    if hard != resource.RLIM_INFINITY:
        memory = min(memory, hard)
    # RLIMIT_DATA limits allocated memory, since libraries map far more than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


BASE_DIR = Path(__file__).resolve().parents[1]


def environment_of_child(*without: str) -> dict[str, str]:
    """Return this process's environment for one that computes, less these variables.

    The query timeout for pages, in PGOPTIONS, would end a long computation.
    """
    dropped = {"PGOPTIONS", *without}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def start_apart(
    *arguments: str, log: IO[bytes] | int = subprocess.DEVNULL, keep: int | None = None
) -> subprocess.Popen[bytes]:
    """Start Python in a session of its own, which outlives this process.

    It writes to the log, and inherits the file descriptor `keep`.
    """
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=BASE_DIR, env=environment_of_child(),
        pass_fds=() if keep is None else (keep,), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
    )  # fmt: skip
