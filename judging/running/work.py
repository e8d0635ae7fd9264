"""Working on a run from the lease to its end, in the foreground and in workers alike."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import Error, InterfaceError, OperationalError, connection

from judging.backends.base import Backend, Findings
from judging.engine import Control, Ending, pump
from judging.models import JudgeRun
from judging.prompting import read_prompt
from judging.prompts.preparing import Preparer
from judging.pump.asking import Patience
from judging.rows import lanes, ledger, planning, runs
from judging.rows.lanes import backend_of
from judging.running import manifests
from judging.running.probes import RefusedRunError, changed, probed

__all__ = ["CONCURRENCY", "backend_of", "work"]

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
        backend = backend or backend_of(run.judge)
        ending = _worked(run, lease, control, backend, patience, hear)
        _let_go(run, lease, ending)
    except RefusedRunError as refused:
        ending = Ending("fatal", str(refused))
        runs.finish(run, lease, State.STOPPED, ending.error)
    except (OperationalError, InterfaceError):
        # The database was away for a moment, which is no fault of the run: whoever finds its lease
        # given back or run out goes on with it.
        with suppress(Error):
            connection.close()
            runs.hand_over(run, lease)
        raise
    except Exception as error:
        runs.finish(run, lease, State.STOPPED, f"{type(error).__name__}: {error}")
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
    prompt = read_prompt(runs.prompt_of(run.judge, run.campaign))
    preparer = Preparer(run.campaign, run.judge, prompt, backend)
    findings = probed(run, lease, backend, control)
    if isinstance(findings, Ending):
        return _noted(run, findings)
    hear(findings)
    manifests.begin(run, backend, findings)
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
        before = ledger.standing(run.campaign, run.judge)
        ending = pump(run, lease, preparer, concurrency, patience, control)
        if ending.how != "finished" or runs.remaining(run) == 0:
            return ending
        planning.plan(run.campaign, run.judge)
        after = ledger.standing(run.campaign, run.judge)
        if not ledger.unclosed(after) or after == before:
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
    wished = runs.state_wished(run) if ending.how in ("stopped", "cancelled") else ""
    if ending.how == "lost":
        return
    if ending.how == "time" or (ending.how == "stopped" and run.queued and not wished):
        runs.hand_over(run, lease)
    elif runs.finish(run, lease, wished or _STATES[ending.how], ending.error):
        manifests.end(run, limits=ending.limits)
