"""Work on a run from its lease to its end, in the foreground and in workers alike.

The worker that leads the run calls `work`, and the others on it call `assist`.
"""

from __future__ import annotations

import gc
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import Error, InterfaceError, OperationalError, connection

from judging import lanes, manifest
from judging.backends.base import Backend, Findings
from judging.backends.replicas import members_of, with_replicas
from judging.costs import format_money
from judging.engine import Control, Ending, loop, run_engine
from judging.engine.preflight import RefusedRunError, detect_change, probe_run, store_probes
from judging.judge_backends import build_backend, with_further_addresses
from judging.models import ACTIVE, JudgeRun
from judging.prompts.request import Preparer
from judging.retries import Patience
from judging.runs import ledger, lifecycle, planning, prompts, shards
from judging.runs.grants import is_shared
from judging.runs.rests import is_resting

MOST_DEATHS = 4
"""The run stops if the process that asks was killed this often in a row without an answer.

One more than the strikes that close an assignment, so that one that kills its process is closed.
"""
RARELY = 20_000, 20, 20
"""The thresholds of garbage collection while an engine works."""
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
_CLOSES = ("fatal", "budget", "crashed", "fruitless", "rest")
"""The endings of one worker that end the run for all, or have it rest."""


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
        backend = backend or _backend_of(run)
        ending = _work(run, lease, control, backend, patience, on_findings)
        _release(run, lease, ending)
    except (RefusedRunError, prompts.ChangedPromptError) as refused:
        ending = Ending("fatal", str(refused))
        if _dismiss(run, lease, ending):
            lifecycle.finish(run, lease, State.STOPPED, ending.error)
    except (OperationalError, InterfaceError):
        # A short database outage must not end the run. Another worker continues it once its lease
        # is released or has expired.
        with suppress(Error):
            connection.close()
            lifecycle.hand_over(run, lease)
        raise
    except Exception as error:
        ending = Ending("crashed", f"{type(error).__name__}: {error}")
        if _dismiss(run, lease, ending):
            lifecycle.finish(run, lease, State.STOPPED, ending.error)
        raise
    return ending


def assist(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control | None = None,
    backend: Backend | None = None,
    patience: Patience | None = None,
) -> Ending:
    """Work on a run that another worker leads, under the lease of one's own shard.

    What ends the run is left to its leader, unless it has none.
    """
    control, wrong = control or Control(), None
    try:
        backend = backend or _backend_of(run)
        if recall := getattr(backend, "recall", None):
            recall(run.manifest["probe"]["facts"] if "probe" in run.manifest else {})
        preparer = Preparer(run.campaign, run.judge, prompts.prompt_of(run), backend)
        with _gc_frozen():
            engine = _run_engine(run, lease, preparer, control, patience)
            ending = _note_lane(run, engine)
    except (OperationalError, InterfaceError):
        with suppress(Error):
            connection.close()
            shards.leave(run, lease)
        raise
    except Exception as error:
        wrong, ending = error, Ending("crashed", f"{type(error).__name__}: {error}")
    if ending.how in _CLOSES:
        shards.close(run, ending.stored())
    shards.leave(run, lease)
    # A run without a leader would otherwise wait for the next one, on a paused lane for ever.
    if ending.how in _CLOSES and (leading := lifecycle.lease_run(run, is_paused=True)):
        _release(run, leading, ending)
    if wrong is not None:
        raise wrong
    return ending


def _backend_of(run: JudgeRun) -> Backend:
    """Build the backend of a run's judge at all its addresses. Raises SetupError."""
    return with_replicas(with_further_addresses(build_backend(run.judge), run.judge))


def _work(
    run: JudgeRun,
    lease: uuid.UUID,
    control: Control,
    backend: Backend,
    patience: Patience | None,
    on_findings: Callable[[Findings], None],
) -> Ending:
    preparer = Preparer(run.campaign, run.judge, prompts.prompt_of(run), backend)
    findings = probe_run(run, lease, backend, control)
    if isinstance(findings, Ending):
        return _note_lane(run, findings)
    on_findings(findings)
    if run.queued and not manifest.has_begun(run) and not _plan(run, lease):
        return Ending("lost")
    manifest.begin(run, members_of(backend)[0], findings)
    control.begun()
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
    """Exempt existing objects from garbage collection, which stay in memory, and do it rarely.

    An engine makes many objects at once and few circles.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _run_to_end(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    control: Control,
    patience: Patience | None,
) -> Ending:
    """Run the engine until nothing is left, including assignments that were added meanwhile."""
    while True:
        before = ledger.count_by_status(run.campaign, run.judge)
        ending = _run_engine(run, lease, preparer, control, patience)
        if ending.how != "finished":
            return ending
        if (others := _await_others(run, lease, control)) is not None:
            if others.how != "finished":
                return others
            continue
        if lifecycle.remaining_assignments(run) == 0:
            return ending
        if not _plan(run, lease):
            return Ending("lost")
        after = ledger.count_by_status(run.campaign, run.judge)
        if not ledger.count_unfinished(after) or after == before:
            return ending


def _run_engine(
    run: JudgeRun,
    lease: uuid.UUID,
    preparer: Preparer,
    control: Control,
    patience: Patience | None,
) -> Ending:
    """Run the engine, again if the process that asks was killed."""
    deaths, done = 0, run.done
    while True:
        ending = run_engine(run, lease, preparer, run.most_at_once, patience, control)
        if ending.how != "died":
            return ending
        if not lifecycle.take_back(run, lease):
            return Ending("lost")
        run.refresh_from_db(fields=["done"])
        deaths, done = (1 if run.done > done else deaths + 1), run.done
        if deaths >= MOST_DEATHS:
            return Ending("fatal", f"{ending.error} {deaths} times in a row")


def _await_others(run: JudgeRun, lease: uuid.UUID, control: Control) -> Ending | None:
    """Wait until no other worker is on the run. None once that is so.

    Return an ending if the run ends meanwhile for another reason. The ending `finished` says that
    there is something to claim again, since another worker left it.
    """
    since = time.monotonic()
    while shards.count_assistants(run):
        time.sleep(loop.RENEW_SECONDS)
        if (orders := lifecycle.renew(run, lease)) is None:
            return Ending("lost")
        if orders.wish:
            return Ending("cancelled" if orders.wish == JudgeRun.Wish.CANCEL else "stopped")
        if orders.closing:
            return Ending.from_stored(orders.closing)
        if control.stopped:
            return Ending("stopped")
        if ledger.has_more(run):
            return Ending("finished")
        if control.seconds is not None and time.monotonic() - since > control.seconds:
            return Ending("time")
    if run.workers > 1:
        # What a dead one has left since the last renewal.
        return Ending("lost") if lifecycle.renew(run, lease) is None else _more(run)
    return None


def _more(run: JudgeRun) -> Ending | None:
    return Ending("finished") if ledger.has_more(run) else None


def _dismiss(run: JudgeRun, lease: uuid.UUID, ending: Ending) -> bool:
    """Have the other workers leave, and wait until they have. Return False if the lease is lost."""
    if shards.count_assistants(run):
        shards.close(run, ending.stored())
    while shards.count_assistants(run):
        if lifecycle.renew(run, lease) is None:
            return False
        time.sleep(loop.RENEW_SECONDS)
    return True


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
    """Store the server's capacity on the lane, and pause the lane if the ending requires it.

    Each address has a lane of its own. The run's lane is not paused while others answer.
    """
    if run.lane is not None:
        if not is_shared(run.lane.pk):
            lanes.remember_ceiling(run.lane, ending.ceiling)
        if ending.pauses:
            lanes.pause(run.lane, ending.error)
        for lane, end in zip(lanes.of_run(run)[1:], ending.addresses[1:], strict=False):
            lanes.remember_ceiling(lane, end.ceiling)
            if end.refused:
                lanes.pause(lane, end.refused)
            elif end.answered:
                lanes.resume(lane)
    return ending


def _release(run: JudgeRun, lease: uuid.UUID, ending: Ending) -> None:
    """Release the lease to the next worker, or end the run."""
    wished = lifecycle.wished_state(run) if ending.how in ("stopped", "cancelled") else ""
    if ending.how == "lost":
        return
    if ending.how == "time" or (ending.how == "stopped" and run.queued and not wished):
        lifecycle.hand_over(run, lease)
    elif not _dismiss(run, lease, ending):
        return
    elif ending.how == "rest":
        lifecycle.rest(run, lease, ending.until, ending.error)
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
