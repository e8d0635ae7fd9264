"""The priority of processes that compute: web processes have the processor first."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

# With 5, a thread that saves would still wait its turn when it wakes; one wait in ten took 2 ms or
# more, in place of 0.1.
NICENESS = 10
NICENESS_OF_SESSION = 5
SESSION = Path("/proc/self/autogroup")


def give_way() -> None:
    """Let web processes have the processor first.

    Linux divides it among sessions before it looks at the niceness of processes within each
    (sched_autogroup_enabled). So if the process leads a session, which has as much as the web
    server's, that becomes nice, too. It is less nice than a process: while one that writes waits
    for the processor, nobody can save on SQLite.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    if sys.platform != "linux" or os.getsid(0) != os.getpid():
        return
    for _ in range(5):
        try:
            SESSION.write_text(str(NICENESS_OF_SESSION), "ascii")
        except BlockingIOError:
            # The kernel allows this ten times a second, for all users together.
            time.sleep(0.1)
        except OSError:
            return
        else:
            return
