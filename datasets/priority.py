"""The priority of processes that compute: saves go first, then pages, then jobs."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from django.db import connection

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
