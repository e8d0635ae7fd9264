"""A worker that is told to end tells its pumps, so that they begin no more calls.

Celery's warm shutdown waits for tasks, and a pump lasts two minutes: longer than any deployment
waits before it kills. The children of a worker hear of a shutdown by a signal of ours.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from celery.signals import worker_process_init, worker_ready, worker_shutting_down

from judging.engine import Control

# The pool lets every signal that could end a child end it; this one is otherwise ignored.
TOLD = signal.SIGURG
_pools: list[Any] = []
_controls: list[Control] = []
_ending = threading.Event()


@worker_process_init.connect
def _listen(**kwargs: Any) -> None:
    signal.signal(TOLD, _end)


def _end(number: int, frame: object) -> None:
    _ending.set()
    for control in _controls:
        control.stop()


@worker_ready.connect
def _remember_pool(sender: Any, **kwargs: Any) -> None:
    _pools.append(sender.pool)


@worker_shutting_down.connect
def _tell_children(**kwargs: Any) -> None:
    """Only Celery's default pool has children; in any other a pump ends with its time budget.

    A child that is born from here on is born ending.
    """
    _ending.set()
    for pool in _pools:
        for child in getattr(getattr(pool, "_pool", None), "_pool", None) or []:
            with suppress(ProcessLookupError, TypeError):
                os.kill(child.pid, TOLD)


def is_ending() -> bool:
    """Whether this process was told to end: on its way out it may still be handed messages."""
    return _ending.is_set()


@contextmanager
def ended_with_the_worker(control: Control) -> Iterator[None]:
    """While it lasts, a shutdown of the worker stops the pump: its calls end, no new ones begin."""
    _controls.append(control)
    try:
        yield
    finally:
        _controls.remove(control)
