"""The priority of processes that compute: web processes have the processor first."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from django.db import connection

# With 5, a thread that saves still waits for the processor when it wakes: one wait in ten took 2 ms
# or more, instead of 0.1.
NICENESS = 10
# A process that writes to SQLite and waits for the processor lets nobody save meanwhile.
NICENESS_OF_SESSION = {"sqlite": 5, "postgresql": 12}
SESSION = Path("/proc/self/autogroup")


def give_way() -> None:
    """Let web processes have the processor first.

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
    niceness = NICENESS_OF_SESSION[connection.vendor]
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
