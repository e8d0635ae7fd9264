"""Working on a run from its lease to its end, in the foreground and in workers alike.

A worker that is told to end signals its engines, so that they begin no more calls. Celery's warm
shutdown waits for tasks, and an engine works for two minutes: longer than any deployment waits
before it kills. The children of a worker learn of a shutdown by a signal of ours.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from celery.signals import worker_process_init, worker_ready, worker_shutting_down
from django.db import Error, InterfaceError, OperationalError, connection

from judging import lanes, manifest
from judging.backends.base import Backend, Findings
from judging.costs import format_money
from judging.engine import Control, Ending, pump
from judging.engine.preflight import RefusedRunError, changed, probed
from judging.lanes import build_backend
from judging.models import JudgeRun
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from judging.retries import Patience
from judging.runs import ledger, lifecycle

CONCURRENCY = 16
State = JudgeRun.State
_STATES = {
    "finished": State.DONE,
    "fatal": State.STOPPED,
    "budget": State.STOPPED,
    "crashed": State.STOPPED,
    "stopped": State.INTERRUPTED,
    "cancelled": State.CANCELLED,
}


def work(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control | None = None,
    backend: Backend | None = None,
    patience: Patience | None = None,
    hear: Callable[[Findings], None] = lambda findings: None,
) -> Ending:
    """Works on a run under a lease, and gives the lease back with the state the run is in then.

    A queued run whose worker stops, or whose time is over, stays active for the next worker.
    `hear` is told what the probe found, before the first call.
    """
    control = control or Control()
    try:
        backend = backend or build_backend(run.judge)
        ending = _worked(run, lease, control, backend, patience, hear)
        _let_go(run, lease, ending)
    except RefusedRunError as refused:
        ending = Ending("fatal", str(refused))
        lifecycle.finish(run, lease, State.STOPPED, ending.error)
    except (OperationalError, InterfaceError):
        # The database was away for a moment, which is no fault of the run: whoever finds its lease
        # given back or run out goes on with it.
        with suppress(Error):
            connection.close()
            lifecycle.hand_over(run, lease)
        raise
    except Exception as error:
        lifecycle.finish(run, lease, State.STOPPED, f"{type(error).__name__}: {error}")
        raise
    return ending


def _worked(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control,
    backend: Backend,
    patience: Patience | None,
    hear: Callable[[Findings], None],
) -> Ending:
    prompt = read_prompt(lifecycle.prompt_for(run.judge, run.campaign))
    preparer = Preparer(run.campaign, run.judge, prompt, backend)
    findings = probed(run, lease, backend, control)
    if isinstance(findings, Ending):
        return _noted(run, findings)
    hear(findings)
    manifest.begin(run, backend, findings)
    with _frozen():
        ending = _noted(run, _pumped(run, lease, preparer, control, patience))
    if ending.how == "finished" and (mixed := changed(run, lease, backend, control, at_end=True)):
        return Ending("fatal", mixed)
    return ending


@contextmanager
def _frozen() -> Iterator[None]:
    """What is in memory by now stays, and is not looked through with every garbage collection."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _pumped(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    control: Control,
    patience: Patience | None,
) -> Ending:
    """Pumps until nothing is left, not even of what was added or had to wait meanwhile."""
    concurrency = run.concurrency or int(run.judge.params.get("concurrency", CONCURRENCY))
    while True:
        before = ledger.count_by_status(run.campaign, run.judge)
        ending = pump(run, lease, preparer, concurrency, patience, control)
        if ending.how != "finished" or lifecycle.remaining(run) == 0:
            return ending
        ledger.plan(run.campaign, run.judge)
        after = ledger.count_by_status(run.campaign, run.judge)
        if not ledger.count_unfinished(after) or after == before:
            return ending


def _noted(run: JudgeRun, ending: Ending) -> Ending:
    """What the lane learns from an ending: what it bears, and that it is of no use for now."""
    if run.lane is not None:
        lanes.remember_ceiling(run.lane, ending.ceiling)
        if ending.pauses:
            lanes.pause(run.lane, ending.error)
    return ending


def _let_go(run: JudgeRun, lease: uuid.UUID, ending: Ending) -> None:
    """Gives the lease back: to the next worker, or with the end of the run."""
    wished = lifecycle.wished_state(run) if ending.how in ("stopped", "cancelled") else ""
    if ending.how == "lost":
        return
    if ending.how == "time" or (ending.how == "stopped" and run.queued and not wished):
        lifecycle.hand_over(run, lease)
    elif lifecycle.finish(run, lease, wished or _STATES[ending.how], ending.error):
        manifest.end(run, limits=ending.limits)


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


def summary(run: JudgeRun) -> str:
    """Counts of this run, and what is left open."""
    run.refresh_from_db()
    failed = f"{run.failed:,} failed" + by_reason(run.failures)
    tokens = run.prompt_tokens + run.completion_tokens
    line = f"{run.done:,} done, {failed}, {run.calls:,} calls, {tokens:,} tokens"
    line += f", {run.reused:,} reused" if run.reused else ""
    line += f", {format_money(run.cost)}" if run.cost else ""
    left = ledger.count_waiting(run.campaign, run.judge)
    return f"{line}; {left:,} left open." if left else f"{line}."


def standing_line(run_done: int, reasons: dict[str, int]) -> str:
    """What stands where nothing is left to do."""
    return f"{run_done:,} done, {sum(reasons.values()):,} missing{by_reason(reasons)}"


def by_reason(reasons: dict[str, int]) -> str:
    listed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items()))
    return f" ({listed})" if listed else ""
