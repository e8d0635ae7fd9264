"""Compute a part of a job in a second process, if the machine has another processor.

Only a job's own process forks: it has one thread and ends with its job. Elsewhere, in a command or
a test, the part is computed when its value is asked for.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
from collections.abc import Callable

from tandem.types import JSON

logger = logging.getLogger("tandem.jobs")
PR_SET_PDEATHSIG = 1
NICENESS = 5
_is_own_process = False


def allow_forks() -> None:
    """Note that this process is a job's own."""
    global _is_own_process
    _is_own_process = True


def compute_beside(work: Callable[[], JSON]) -> Callable[[], JSON]:
    """Begin the work, and return a function that waits for its value, a value for JSON.

    If the second process fails, for lack of memory for example, the work is done here.
    """
    if not _is_own_process or processors() < 2:
        return work
    ours, theirs = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        _compute(work, theirs, parent)
    os.close(theirs)

    def value() -> JSON:
        with os.fdopen(ours, "rb") as pipe:
            packed = pipe.read()
        _, status = os.waitpid(pid, 0)
        if status:
            return work()
        found: JSON = json.loads(packed)
        return found

    return value


def _compute(work: Callable[[], JSON], pipe: int, parent: int) -> None:
    status = 1
    try:
        die_with_parent(parent)
        # What the job computes meanwhile is shown first.
        os.nice(NICENESS)
        packed = json.dumps(work()).encode()
        with os.fdopen(pipe, "wb") as out:
            out.write(packed)
        status = 0
    except BaseException:
        logger.exception("a part of a job failed in its second process")
    finally:
        os._exit(status)


def die_with_parent(parent: int) -> None:
    """On Linux, have this process killed with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
