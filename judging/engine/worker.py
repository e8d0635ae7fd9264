"""Work on a run from its lease to its end, in the foreground and in workers alike."""

from __future__ import annotations

import gc
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import Error, InterfaceError, OperationalError, connection

from judging import lanes, manifest
from judging.backends.base import Backend, Findings
from judging.costs import format_money
from judging.engine import Control, Ending, run_engine
from judging.engine.preflight import RefusedRunError, detect_change, probe_run, store_probes
from judging.judge_backends import build_backend
from judging.models import ACTIVE, JudgeRun
from judging.prompts.request import Preparer
from judging.retries import Patience
from judging.runs import ledger, lifecycle, planning
from judging.runs.grants import is_shared
from judging.runs.rests import is_resting

MOST_DEATHS = 4
"""The run stops if the process that asks was killed this often in a row without an answer.

One more than the strikes that close an assignment, so that one that kills its process is closed.
"""
State = JudgeRun.State
_STATES = {
    "finished": State.DONE,
    "fatal": State.STOPPED,
    "budget": State.STOPPED,
    "crashed": State.STOPPED,
    "fruitless": State.STOPPED,
    "stopped": State.INTERRUPTED,
    "cancelled": State.CANCELLED,
}


def work(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control | None = None,
    backend: Backend | None = None,
    patience: Patience | None = None,
    on_findings: Callable[[Findings], None] = lambda findings: None,
) -> Ending:
    """Work on a run under a lease, then release the lease and store the run's state.

    A queued run stays active for the next worker if its worker stops or its time is over.
    `on_findings` gets the results of the probe before the first call.
    """
    control = control or Control()
    try:
        backend = backend or build_backend(run.judge)
        ending = _work(run, lease, control, backend, patience, on_findings)
        _release(run, lease, ending)
    except (RefusedRunError, lifecycle.ChangedPromptError) as refused:
        ending = Ending("fatal", str(refused))
        lifecycle.finish(run, lease, State.STOPPED, ending.error)
    except (OperationalError, InterfaceError):
        # A short database outage must not end the run. Another worker continues it once its lease
        # is released or has expired.
        with suppress(Error):
            connection.close()
            lifecycle.hand_over(run, lease)
        raise
    except Exception as error:
        lifecycle.finish(run, lease, State.STOPPED, f"{type(error).__name__}: {error}")
        raise
    return ending


def _work(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control,
    backend: Backend,
    patience: Patience | None,
    on_findings: Callable[[Findings], None],
) -> Ending:
    preparer = Preparer(run.campaign, run.judge, lifecycle.prompt_of(run), backend)
    findings = probe_run(run, lease, backend, control)
    if isinstance(findings, Ending):
        return _note_lane(run, findings)
    on_findings(findings)
    if run.queued and not manifest.has_begun(run) and not _plan(run, lease):
        return Ending("lost")
    manifest.begin(run, backend, findings)
    with _gc_frozen():
        ending = _note_lane(run, _run_to_end(run, lease, preparer, control, patience))
    store_probes(run, backend)
    if ending.how == "finished" and (
        mixed := detect_change(run, lease, backend, control, at_end=True)
    ):
        return Ending("fatal", mixed)
    return ending


@contextmanager
def _gc_frozen() -> Iterator[None]:
    """Exempt existing objects from garbage collection, since they stay in memory anyway."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _run_to_end(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    control: Control,
    patience: Patience | None,
) -> Ending:
    """Run the engine until nothing is left, including assignments that were added meanwhile."""
    deaths, done = 0, run.done
    while True:
        before = ledger.count_by_status(run.campaign, run.judge)
        ending = run_engine(run, lease, preparer, run.most_at_once, patience, control)
        if ending.how == "died":
            if not lifecycle.take_back(run, lease):
                return Ending("lost")
            run.refresh_from_db(fields=["done"])
            deaths, done = (1 if run.done > done else deaths + 1), run.done
            if deaths >= MOST_DEATHS:
                return Ending("fatal", f"{ending.error} {deaths} times in a row")
            continue
        if ending.how != "finished" or lifecycle.remaining_assignments(run) == 0:
            return ending
        if not _plan(run, lease):
            return Ending("lost")
        after = ledger.count_by_status(run.campaign, run.judge)
        if not ledger.count_unfinished(after) or after == before:
            return ending


def _plan(run: JudgeRun, lease: uuid.UUID) -> bool:
    """Plan what is missing, and keep the lease meanwhile. Returns False if it was lost."""
    lost = False

    def renewed() -> bool:
        nonlocal lost
        lost = lifecycle.renew(run, lease) is None
        return not lost

    planning.plan(run.campaign, run.judge, may_go_on=renewed)
    return not lost


def _note_lane(run: JudgeRun, ending: Ending) -> Ending:
    """Store the server's capacity on the lane, and pause the lane if the ending requires it."""
    if run.lane is not None:
        if not is_shared(run.lane.pk):
            lanes.remember_ceiling(run.lane, ending.ceiling)
        if ending.pauses:
            lanes.pause(run.lane, ending.error)
    return ending


def _release(run: JudgeRun, lease: uuid.UUID, ending: Ending) -> None:
    """Release the lease to the next worker, or end the run."""
    wished = lifecycle.wished_state(run) if ending.how in ("stopped", "cancelled") else ""
    if ending.how == "lost":
        return
    if ending.how == "rest":
        lifecycle.rest(run, lease, ending.until, ending.error)
    elif ending.how == "time" or (ending.how == "stopped" and run.queued and not wished):
        lifecycle.hand_over(run, lease)
    elif lifecycle.finish(run, lease, wished or _STATES[ending.how], ending.error):
        manifest.end(run, limits=ending.limits)
        JudgeRun.objects.filter(pk=run.pk).update(ended_early=ending.reason)


REST_SECONDS = 1.0


def await_rest(run: JudgeRun, control: Control) -> uuid.UUID | None:
    """Wait until a run's rest is over, and lease it again. None if it was ended meanwhile."""
    while not control.stopped:
        run.refresh_from_db()
        if run.state not in ACTIVE:
            return None
        if not is_resting(run) and (lease := lifecycle.lease_run(run)) is not None:
            return lease
        time.sleep(REST_SECONDS)
    return None


def summary(run: JudgeRun) -> str:
    """Summarise the counts of a run, and what is left open."""
    run.refresh_from_db()
    failed = f"{run.failed:,} failed" + format_reasons(run.failures)
    tokens = run.prompt_tokens + run.completion_tokens
    probes = run.unassigned_calls.count()
    calls = f"{run.calls:,} calls" + (f" ({probes:,} to probe the server)" if probes else "")
    line = f"{run.done:,} done, {failed}, {calls}, {tokens:,} tokens"
    line += f", {run.reused:,} reused" if run.reused else ""
    line += f", {format_money(run.cost)}" if run.cost else ""
    left = ledger.count_waiting(run.campaign, run.judge)
    return f"{line}; {left:,} left open." if left else f"{line}."


def status_line(run_done: int, reasons: dict[str, int]) -> str:
    """Describe the results if nothing is left to do."""
    return f"{run_done:,} done, {sum(reasons.values()):,} missing{format_reasons(reasons)}"


def format_reasons(reasons: dict[str, int]) -> str:
    listed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items()))
    return f" ({listed})" if listed else ""
