"""Run a command in a process group of its own, and end the group when the parent is gone.

This is a separate program (`python vllm_watchdog.py COMMAND…`) that imports nothing from Tandem,
so that it is small and starts at once. Its standard input is a pipe that only its parent holds.
The end of the pipe is the signal to stop, and the pipe also ends if the parent is killed. `vllm
serve` starts processes of its own, which would otherwise outlive it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

TICK_SECONDS = 0.2
GRACE_SECONDS = 15.0
PR_SET_PDEATHSIG = 1


def main(command: list[str]) -> int:
    parent = os.getppid()
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, frame: stopped.append(n))
    try:
        # The command must not inherit the pipe, or it could read the signal to stop.
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_end_with_us
        )
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        return 127
    while child.poll() is None and not stopped and os.getppid() == parent and not _pipe_ended():
        pass
    _end(child)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _end_with_us() -> None:
    """On Linux, ask the kernel to end the command if this process is killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _pipe_ended() -> bool:
    """Wait briefly for the end of standard input. Signals and dead children do not interrupt it."""
    readable, _, _ = select.select([0], [], [], TICK_SECONDS)
    return bool(readable) and os.read(0, 1024) == b""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask the command to end, then kill the rest of its group."""
    if child.poll() is None:
        child.terminate()
        until = time.monotonic() + GRACE_SECONDS
        while child.poll() is None and time.monotonic() < until:
            time.sleep(TICK_SECONDS / 4)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
