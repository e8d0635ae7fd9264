"""The worker: one loop that takes work, forks a process for it, renews its lease, and closes it.

The process is forked, so it starts with all modules imported, and has a memory limit. The worker
itself computes nothing: it renews leases, notes progress, kills processes whose work was cancelled
or takes too long, and records why a process ended. It sleeps until it is woken (`wake`), one of its
processes ends, or a second has passed. `sources` says where work comes from.
"""

from __future__ import annotations

import gc
import importlib
import logging
import mmap
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from django.db import OperationalError, connection, connections

from datasets.priority import give_way_to_site, limit_memory
from datasets.work import queue, results
from datasets.work.beside import die_with_parent
from datasets.work.execution import HEAVY, LIGHT, out_of_memory
from datasets.work.sources import Source, Taken, sources
from datasets.work.wake import Bell

logger = logging.getLogger("tandem.jobs")
BEAT_SECONDS = 2.0
POLL_SECONDS = 1.0
SWEEP_SECONDS = 600.0
GRACE_SECONDS = 10.0
LONGER_GRACE = 15.0
"""For processes that hear of a stop, and then wait for calls under way for up to ten seconds."""
SPENT_MEMORY = 12
"""The exit status of a process that had too little memory left to report an error."""
TOO_LONG = "it took longer than an hour; ask for less, or use the command"


@dataclass
class Child:
    """A process that carries out work. `shared` holds its progress, and `end` closes with it."""

    source: Source
    taken: Taken
    pid: int
    end: int
    shared: mmap.mmap
    since: float = field(default_factory=time.monotonic)
    verdict: str = ""

    def progress(self) -> tuple[int, int]:
        done, total = struct.unpack("qq", self.shared[:16])
        return int(done), int(total)

    def kill(self, reason: str) -> None:
        self.verdict = reason
        os.kill(self.pid, signal.SIGKILL)


class Loop:
    """Carries out due work until it is stopped: heavy jobs at `places` places, the rest beside.

    Without places it carries out light jobs and periodic work only. With `idle` it also ends after
    that many seconds without work.
    """

    def __init__(self, places: int, idle: float | None = None) -> None:
        self.places, self.idle = places, idle
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.sources = {each.name: each for each in sources()}
        self.children: dict[int, Child] = {}
        self.is_stopping, self.is_general = False, True
        self.last_work = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._bell: Bell | None = None
        self._next_beat = self._next_sweep = self._deadline = 0.0

    def run(self) -> None:
        """Work until stopped: by `stop`, or after `idle` seconds without work."""
        _import_everything()
        self.last_work = time.monotonic()
        while True:
            self._listen()
            try:
                while not self._is_over():
                    self._step()
            finally:
                self._leave()
            # Whoever has asked since the last look has found this worker still there.
            if not self.is_stopping:
                self._fill(*(each for each in self.sources.values() if each.counted))
            if not self.children:
                return

    def run_one(self, *names: str, key: str = "", seconds: float | None = None) -> bool:
        """Carry out one piece of work of these sources, and return whether there was any.

        Celery's tasks call this. Beside a heavy job it carries out light ones. `key` and `seconds`
        are as for `Source.take`.
        """
        self.is_general = HEAVY in names
        began = any(self._take(self.sources[name], key, seconds) for name in names)
        while self.children and not (self.is_stopping and time.monotonic() > self._deadline):
            if self._at_work()[HEAVY]:
                self._fill(self.sources[LIGHT])
            self._beat()
            self._wait(POLL_SECONDS)
            self._reap()
        self._end_children()
        self._selector.close()
        return began

    def stop(self) -> None:
        """Take no more work. What runs has some seconds to end, and is then left to others."""
        told = [child.pid for child in self.children.values() if child.taken.told]
        self._deadline = time.monotonic() + (LONGER_GRACE if told else GRACE_SECONDS)
        self.is_stopping = True
        for pid in told:
            os.kill(pid, signal.SIGTERM)

    def _listen(self) -> None:
        # One byte wakes one worker, so those that take only light jobs do not listen.
        self._bell = Bell() if self.places else None
        if self._bell is not None and self._bell.descriptor is not None:
            self._selector.register(self._bell.descriptor, selectors.EVENT_READ)

    def _step(self) -> None:
        try:
            self._beat()
            self._fill(*self.sources.values())
            self._await_pending()
        except OperationalError as error:
            # The database is away, or locked for long. Leases end by themselves.
            logger.warning("the database is away: %s", error)
            connections.close_all()
        self._wait(POLL_SECONDS)
        self._reap()

    def _is_over(self) -> bool:
        if any(child.source.counted for child in self.children.values()):
            self.last_work = time.monotonic()
        if self.children:
            return self.is_stopping and time.monotonic() > self._deadline
        return self.is_stopping or self._is_idle()

    def _is_idle(self) -> bool:
        return self.idle is not None and time.monotonic() - self.last_work > self.idle

    def _await_pending(self) -> None:
        if self._is_idle() and any(each.is_pending() for each in self.sources.values()):
            self.last_work = time.monotonic()

    def _at_work(self) -> Counter[str]:
        return Counter(child.source.name for child in self.children.values())

    def _fill(self, *among: Source) -> None:
        for source in among:
            while not self.is_stopping and source.has_room(self._at_work(), self.places):
                if not self._take(source):
                    break

    def _take(self, source: Source, key: str = "", seconds: float | None = None) -> bool:
        taken = source.take(key, seconds)
        if taken is not None:
            self._fork(source, taken)
        return taken is not None

    def _fork(self, source: Source, taken: Taken) -> None:
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
            _run_in_child(taken, shared, parent)
        os.close(theirs)
        self.children[pid] = Child(source, taken, pid, ours, shared)
        self._selector.register(ours, selectors.EVENT_READ)

    def _beat(self) -> None:
        """Renew the leases, and kill processes that lost their work or have taken too long."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + BEAT_SECONDS
        if self.is_general:
            queue.note_worker(self.name, self.places)
        for child in self.children.values():
            taken = child.taken
            if taken.seconds is not None and now - child.since > taken.seconds:
                child.kill(TOO_LONG)
            elif not taken.renew(*child.progress()) and not child.verdict:
                child.kill("it was cancelled")
        if self.is_general and now > self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            results.sweep()

    def _wait(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if self._bell is not None and key.fd == self._bell.descriptor:
                self._bell.drain()
                self.last_work = time.monotonic()

    def _reap(self) -> None:
        for child in list(self.children.values()):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                self._close(child, os.waitstatus_to_exitcode(status))

    def _close(self, child: Child, status: int) -> None:
        self._selector.unregister(child.end)
        os.close(child.end)
        child.shared.close()
        del self.children[child.pid]
        if child.source.counted:
            self.last_work = time.monotonic()
        if status:
            reason = child.verdict or _describe_exit(status)
            logger.error("the process of %s ended: %s", child.taken.name, reason)
            child.taken.fail(reason)

    def _end_children(self) -> None:
        """End the processes that still run, and leave their work to others."""
        for child in self.children.values():
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            child.taken.release()
        self.children = {}

    def _leave(self) -> None:
        self._end_children()
        queue.forget_worker(self.name)
        if self._bell is not None:
            if self._bell.descriptor is not None:
                self._selector.unregister(self._bell.descriptor)
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


def _run_in_child(taken: Taken, shared: mmap.mmap, parent: int) -> NoReturn:
    """Do the work in the forked process, which then ends without a worker's clean-up."""
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        # Another worker then takes the lease.
        die_with_parent(parent)
        # Beside a web server, the session of the work gets a lower priority than the worker's.
        os.setsid()
        give_way_to_site()
        # One connection needs no pool, and a thread that cannot start for lack of memory hangs.
        connection.settings_dict["OPTIONS"].pop("pool", None)
        if taken.memory_mb is not None:
            limit_memory(taken.memory_mb)
        taken.carry_out(_writer(shared))
        status = 0
    except MemoryError:
        status = SPENT_MEMORY
    except BaseException:
        logger.exception("the process of %s ended by an error", taken.name)
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
    """Import what work needs before the first, and keep it out of the garbage collection.

    Statistics import their tests late, so that commands start fast; here each job would pay for it.
    """
    importlib.import_module("scipy.stats")
    gc.collect()
    gc.freeze()
