"""Background tasks that start and resume runs, and the sweep that finds runs nobody works on.

A message says only that a run may be due; what is due is in the database. So a message that is
lost, late or doubled does no harm: the first worker takes the lease, and the sweep sends a new
message for runs that nobody works on.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from celery import shared_task
from celery.app.task import Task
from celery.signals import worker_ready
from django.db import transaction
from kombu.exceptions import OperationalError

from annotation.models import Campaign
from audit.recording import record
from judging import lanes
from judging.engine import Control
from judging.engine.worker import is_ending, stopping_with_worker, work
from judging.models import ACTIVE, Judge, JudgeRun
from judging.runs import ledger, lifecycle

logger = logging.getLogger("tandem.judging")

BUDGET_SECONDS = 120.0
SWEEP_SECONDS = 15.0
PUMP_EXPIRES = 60.0


def ring(run: int) -> None:
    """Asks the workers to look after a run; call it after the commit.

    Without a broker nothing is lost: the sweep finds the run once there is one again.
    """
    _send(pump, PUMP_EXPIRES, run)


def ring_sweep() -> None:
    _send(sweep, SWEEP_SECONDS)


def _send(task: Task, expires: float, *arguments: int) -> None:
    """Sends a message, or says in the log that the broker is away; it never waits for one."""
    try:
        task.apply_async(arguments, expires=expires, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("The broker is away, %s is not rung: %s", task.name, error)


@shared_task
def pump(run: int) -> None:
    """Works on a run for a while, and rings for whoever comes next on its lane then.

    A message for a run whose lane another one holds does nothing.
    A worker on its way out takes nothing up and rings for nobody: it would hear itself. The sweep
    of another one, or of its successor, finds the run.
    """
    if is_ending():
        return
    found = JudgeRun.objects.select_related("campaign", "judge__rater").filter(pk=run).first()
    lease = lifecycle.take(found) if found and found.queued else None
    if found is None or lease is None:
        return
    control = Control(seconds=BUDGET_SECONDS)
    with stopping_with_worker(control):
        work(found, lease, control)
    following = None if is_ending() else lifecycle.next_run(found)
    if following is not None:
        transaction.on_commit(partial(ring, following.pk))


@shared_task
def sweep() -> None:
    """Rings for every run that nobody works on, and ends those that were only to end."""
    lifecycle.apply_wishes()
    for run in lifecycle.runs_without_worker().values_list("pk", flat=True):
        ring(run)


@worker_ready.connect
def sweep_by_itself(sender: Any, **kwargs: Any) -> None:
    """A worker sweeps when it starts and from then on, so that it needs no beat beside it.

    Several workers and a beat ring more often than is needed; who comes late finds the lease taken.
    """
    ring_sweep()
    sender.timer.call_repeatedly(SWEEP_SECONDS, ring_sweep)


class NothingOpenError(ValueError):
    """The judge has a result for all of the campaign."""


def begin(judge: Judge, campaign: Campaign, limits: dict[str, Any]) -> JudgeRun:
    """Queue a run, or return the active run if another process started one first.

    Raises NothingOpenError, ChangedPromptError, BatchOutError, LeasedRunError, SetupError or
    PromptError.
    """
    lifecycle.plan(campaign, judge)
    if not ledger.count_waiting(campaign, judge):
        raise NothingOpenError("nothing is open: the judge is through with this campaign")
    try:
        run = lifecycle.start(campaign, judge, queued=True, **limits)
    except lifecycle.LeasedRunError:
        run = lifecycle.queue_active(campaign, judge)
    transaction.on_commit(lambda: ring(run.pk))
    return run


def resume(run: JudgeRun) -> bool:
    """Has the paused server of a run asked again; False if the run has ended."""
    if run.lane is not None:
        with transaction.atomic():
            lanes.resume(run.lane)
            record("run.changed", run.campaign_id, run, resumed=True)
    if run.state not in ACTIVE:
        return False
    transaction.on_commit(lambda: ring(run.pk))
    return True
