"""The loop of a worker in a task of Celery's, and the end of a pool's processes.

Celery's warm shutdown waits for tasks, but some work for minutes, which is longer than deployments
wait before they kill. So the children of a worker learn of a shutdown by a signal.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import Any

from celery.signals import worker_process_init, worker_ready, worker_shutting_down

from datasets.work.worker import Loop

# Celery's pool lets most signals end a child, but ignores this one.
END_SIGNAL = signal.SIGURG
_pools: list[Any] = []
_loops: list[Loop] = []
_ending = threading.Event()


def carry_out_one(*sources: str, key: str = "", seconds: float | None = None) -> bool:
    """Carry out one piece of work of these sources, as `Loop.run_one` does.

    Return whether there was any and the next may follow. A worker that is shutting down starts
    nothing: it could receive its own message.
    """
    if is_ending():
        return False
    loop = Loop(places=1)
    _loops.append(loop)
    try:
        return loop.run_one(*sources, key=key, seconds=seconds) and not is_ending()
    finally:
        _loops.remove(loop)


def is_ending() -> bool:
    """Return whether this process is shutting down. It may still receive messages."""
    return _ending.is_set()


@worker_process_init.connect
def _listen(**kwargs: Any) -> None:
    signal.signal(END_SIGNAL, _end)


def _end(number: int, frame: object) -> None:
    _ending.set()
    for loop in _loops:
        loop.stop()


@worker_ready.connect
def _remember_pool(sender: Any, **kwargs: Any) -> None:
    _pools.append(sender.pool)


@worker_shutting_down.connect
def _signal_children(**kwargs: Any) -> None:
    """Signal the pool's children. Only Celery's default pool has any.

    In other pools, work ends when its time is over. Children started later inherit the flag.
    """
    _ending.set()
    for pool in _pools:
        for child in getattr(getattr(pool, "_pool", None), "_pool", None) or []:
            with suppress(ProcessLookupError, TypeError):
                os.kill(child.pid, END_SIGNAL)
