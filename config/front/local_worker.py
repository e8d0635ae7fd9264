"""The worker beside the web server of a site on one machine, started and stopped with it.

gunicorn's main process starts a keeper, this module as a program. The keeper starts the worker,
starts it again when it ends, and stops it when the web server is gone. It notices that even if the
web server was killed, since the pipe between them closes with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parents[2]
WORKER = ("-m", "tandem.program", "work")
TICK_SECONDS = 0.5
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
GRACE_SECONDS = 20.0
LONGEST_LOG = 10 * 1024 * 1024
PR_SET_PDEATHSIG = 1


@dataclass
class LocalWorker:
    """The web server's side. `keeper` is the keeper's process, and `line` the pipe to it."""

    line: int
    keeper: subprocess.Popen[bytes]

    def forget(self) -> None:
        """In a forked process, close the pipe. Otherwise it would outlast the main process."""
        os.close(self.line)

    def stop(self) -> None:
        """End the worker, and wait for that. Unfinished work continues after the next start."""
        os.close(self.line)
        deadline = time.monotonic() + GRACE_SECONDS + 5
        while _exists(self.keeper) and time.monotonic() < deadline:
            time.sleep(0.1)


def start(log: Path) -> LocalWorker:
    """Start the keeper; the worker writes to `log`."""
    # The keeper itself needs none of our packages, and stays small.
    from datasets.priority import start_apart

    theirs, ours = os.pipe()
    with log.open("ab" if _is_short(log) else "wb") as out:
        keeper = start_apart(__file__, str(theirs), log=out, keep=theirs)
    os.close(theirs)
    return LocalWorker(ours, keeper)


def _is_short(log: Path) -> bool:
    return not log.exists() or log.stat().st_size < LONGEST_LOG


def _exists(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process runs, even one whose exit status another process collects."""
    if process.poll() is not None:
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass
class SupervisedWorker:
    """A worker that is started again when it ends, after longer and longer waits."""

    process: subprocess.Popen[bytes] | None = None
    wait: float = FIRST_WAIT
    due: float = field(default_factory=time.monotonic)

    def restart_if_ended(self) -> None:
        now = time.monotonic()
        if self.process is not None and self.process.poll() is None:
            return
        if self.process is not None:
            print(f"the worker ended with status {self.process.returncode}", flush=True)
            self._end_group(signal.SIGKILL)
            self.process = None
            # The worker has run since `due`. If that was long ago, it did not fail at its start.
            self.wait = FIRST_WAIT if now - self.due > LONGEST_WAIT else 2 * self.wait
            self.due = now + min(self.wait, LONGEST_WAIT) / 2
        if now >= self.due:
            self.due = now
            self.process = subprocess.Popen(
                [sys.executable, *WORKER], cwd=BASE_DIR, start_new_session=True,
                stdin=subprocess.DEVNULL, preexec_fn=end_with_parent,
            )  # fmt: skip

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_SECONDS)
        self._end_group(signal.SIGKILL)

    def _end_group(self, number: signal.Signals) -> None:
        assert self.process is not None
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return


def end_with_parent() -> None:
    """On Linux, have the kernel send a signal to end when the parent ends, even if killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def supervise(line: int) -> None:
    """Keep the worker until the pipe closes or this process is told to end."""
    worker, over = SupervisedWorker(), list[int]()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda signum, _: over.append(signum))
    while not over:
        worker.restart_if_ended()
        if select.select([line], [], [], TICK_SECONDS)[0]:
            break
    worker.stop()


if __name__ == "__main__":
    supervise(int(sys.argv[1]))
