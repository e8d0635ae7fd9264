"""The worker for jobs: takes one after the other, and carries out each in a separate process.

The process is forked, so it starts with all modules imported, and has a memory limit. The worker
itself computes nothing: it renews leases, notes progress, kills jobs that were cancelled or take
too long, and records why a process ended. It sleeps until a job is asked for (`launching.wake`),
one of its processes ends, or a second has passed. One more process at a time does what is due of
the site's periodic work (`periodic`).
"""

from __future__ import annotations

import gc
import importlib.util
import logging
import mmap
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NoReturn

from django.apps import apps
from django.conf import settings
from django.db import OperationalError, connection, connections

from datasets.memory import limit_memory
from datasets.models import Job
from datasets.priority import give_way
from datasets.work import periodic, queue, results
from datasets.work.beside import allow_forks, die_with_parent
from datasets.work.execution import carry_out, out_of_memory
from datasets.work.wake import Bell

logger = logging.getLogger("tandem.jobs")
BEAT_SECONDS = 2.0
POLL_SECONDS = 1.0
LIGHT_PLACES = 1
"""How many light jobs a worker carries out beside its heavy ones. They may take free places."""
SWEEP_SECONDS = 600.0
MOST_SECONDS = 3600.0
GRACE_SECONDS = 10.0
SPENT_MEMORY = 12
"""The exit status of a process that had too little memory left to report an error."""
TOO_LONG = "it took longer than an hour; ask for less, or use the command"


@dataclass
class Child:
    """A process that carries out a job. `shared` holds its progress, and `end` closes with it."""

    job: Job
    pid: int
    end: int
    shared: mmap.mmap
    since: float = field(default_factory=time.monotonic)
    verdict: str = ""

    def progress(self) -> tuple[int, int]:
        done, total = struct.unpack("qq", self.shared[:16])
        return int(done), int(total)

    @cached_property
    def is_heavy(self) -> bool:
        return queue.is_heavy(self.job)

    def kill(self, reason: str) -> None:
        self.verdict = reason
        os.kill(self.pid, signal.SIGKILL)


class JobWorker:
    """Carries out due jobs until it is stopped: heavy ones at `places` places, light ones beside.

    Without places it carries out light jobs only. With `idle` it also ends after that many seconds
    without a job.
    """

    def __init__(self, places: int, idle: float | None = None) -> None:
        self.places, self.idle = places, idle
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.children: dict[int, Child] = {}
        self.is_stopping = False
        self.last_work = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._bell: Bell | None = None
        self._next_beat = self._next_sweep = self._deadline = 0.0
        self._clock = periodic.Clock()
        self._periodic: int | None = None
        self._periodic_since = 0.0

    def run(self) -> None:
        """Work until stopped: by `stop`, or after `idle` seconds without a job."""
        _import_everything()
        # One byte wakes one worker, so those that take only light jobs do not listen.
        self._bell = Bell() if self.places else None
        self.last_work = time.monotonic()
        if self._bell is not None and self._bell.descriptor is not None:
            self._selector.register(self._bell.descriptor, selectors.EVENT_READ)
        try:
            while not self._is_over():
                self._step()
        finally:
            self._leave()

    def run_one(self) -> bool:
        """Carry out one due job, and return whether there was one. Celery's tasks call this.

        Beside a heavy job it carries out light ones.
        """
        if not self._take(heavy=False):
            self._take(heavy=True)
        began = bool(self.children)
        while self.children:
            if any(child.is_heavy for child in self.children.values()):
                self._fill_light()
            self._beat()
            self._wait(POLL_SECONDS)
            self._reap()
        self._selector.close()
        return began

    def stop(self) -> None:
        """Take no more jobs; those that run have ten seconds to end, and are then given back."""
        self.is_stopping = True
        self._deadline = time.monotonic() + GRACE_SECONDS

    def _step(self) -> None:
        try:
            self._beat()
            if not self.is_stopping:
                self._fill()
                self._start_periodic()
        except OperationalError as error:
            # The database is away, or locked for long. Leases end by themselves.
            logger.warning("the database is away: %s", error)
            connections.close_all()
        self._wait(POLL_SECONDS)
        self._reap()

    def _is_over(self) -> bool:
        if self.children:
            self.last_work = time.monotonic()
        if self.children or self._periodic is not None:
            return self.is_stopping and time.monotonic() > self._deadline
        idle = self.idle is not None and time.monotonic() - self.last_work > self.idle
        return self.is_stopping or idle

    def _fill(self) -> None:
        while sum(child.is_heavy for child in self.children.values()) < self.places:
            if not self._take(heavy=True):
                break
        self._fill_light()

    def _fill_light(self) -> None:
        while len(self.children) < self.places + LIGHT_PLACES:
            if not self._take(heavy=False):
                break

    def _take(self, heavy: bool) -> bool:
        job = queue.take(heavy) if queue.is_due(heavy) else None
        if job is not None:
            self._fork(job)
        return job is not None

    def _fork(self, job: Job) -> None:
        shared = mmap.mmap(-1, 16)
        ours, theirs = os.pipe()
        # A connection cannot be shared, and a pool's threads do not survive a fork.
        disconnect()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _run_in_child(job, shared, parent)
        os.close(theirs)
        self.children[pid] = Child(job, pid, ours, shared)
        self._selector.register(ours, selectors.EVENT_READ)

    def _start_periodic(self) -> None:
        if self._periodic is not None:
            if time.monotonic() - self._periodic_since > MOST_SECONDS:
                os.kill(self._periodic, signal.SIGKILL)
            return
        if not (due := self._clock.take_due()):
            return
        disconnect()
        sys.stdout.flush()
        sys.stderr.flush()
        parent, self._periodic_since = os.getpid(), time.monotonic()
        self._periodic = os.fork() or _run_periodic(due, parent)

    def _beat(self) -> None:
        """Renew the leases, and kill processes that lost their job or have taken too long."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + BEAT_SECONDS
        queue.note_worker(self.name, self.places)
        for child in self.children.values():
            if now - child.since > MOST_SECONDS:
                child.kill(TOO_LONG)
            elif not queue.renew(child.job, *child.progress()) and not child.verdict:
                child.kill("it was cancelled")
        if now > self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            results.sweep()

    def _wait(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if self._bell is not None and key.fd == self._bell.descriptor:
                self._bell.drain()

    def _reap(self) -> None:
        for child in list(self.children.values()):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                self._close(child, os.waitstatus_to_exitcode(status))
        if self._periodic is not None:
            pid, status = os.waitpid(self._periodic, os.WNOHANG)
            if pid:
                self._periodic = None
                if status:
                    reason = _describe_exit(os.waitstatus_to_exitcode(status))
                    logger.error("the process of periodic work ended: %s", reason)

    def _close(self, child: Child, status: int) -> None:
        self._selector.unregister(child.end)
        os.close(child.end)
        child.shared.close()
        del self.children[child.pid]
        self.last_work = time.monotonic()
        if status:
            reason = child.verdict or _describe_exit(status)
            logger.error("the process of job %s ended: %s", child.job.key, reason)
            queue.fail(child.job, reason)

    def _leave(self) -> None:
        """End the processes that still run, and give their jobs back."""
        for child in self.children.values():
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            queue.release(child.job)
        if self._periodic is not None:
            os.kill(self._periodic, signal.SIGKILL)
            os.waitpid(self._periodic, 0)
        queue.forget_worker(self.name)
        if self._bell is not None:
            self._bell.close()
        disconnect()


def _describe_exit(status: int) -> str:
    if status == SPENT_MEMORY:
        return out_of_memory()
    if status < 0:
        name = signal.Signals(-status).name
        return (
            f"its process was killed ({name}), probably for lack of memory; ask again or for less"
        )
    return f"its process ended with status {status}; ask again, and tell an admin if it recurs"


def _run_in_child(job: Job, shared: mmap.mmap, parent: int) -> NoReturn:
    allow_forks()
    _run(partial(carry_out, job, _writer(shared)), parent, f"job {job.key}")


def _run_periodic(due: list[periodic.Periodic], parent: int) -> NoReturn:
    _run(partial(periodic.carry_out, due), parent, "periodic work")


def _run(work: Callable[[], None], parent: int, name: str) -> NoReturn:
    """Do the work in the forked process, which then ends without a worker's clean-up."""
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        # Another worker then takes the lease.
        die_with_parent(parent)
        # The session of the work gets a lower priority than the worker's.
        os.setsid()
        give_way()
        # One connection needs no pool, and a thread that cannot start for lack of memory hangs.
        connection.settings_dict["OPTIONS"].pop("pool", None)
        limit_memory(settings.TANDEM_JOB_MEMORY_MB)
        work()
        status = 0
    except MemoryError:
        status = SPENT_MEMORY
    except BaseException:
        logger.exception("the process of %s ended by an error", name)
    finally:
        os._exit(status)


def _writer(shared: mmap.mmap) -> Callable[[int, int], None]:
    def write(done: int, total: int) -> None:
        shared[:16] = struct.pack("qq", done, total)

    return write


def disconnect() -> None:
    """Close the database's connections, and the threads of its pool."""
    connections.close_all()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]  # of psycopg's backend


def _import_everything() -> None:
    """Import what jobs need before the first one, and keep it out of the garbage collection.

    Statistics import their tests late, so that commands start fast; here each job would pay for it.
    """
    importlib.import_module("scipy.stats")
    for app in apps.get_app_configs():
        name = f"{app.name}.kinds"
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
