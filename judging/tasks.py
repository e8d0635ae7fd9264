"""Background tasks that start and resume runs, and the sweep that finds runs without a worker.

A message only says that a run may be due; the database decides. So lost, late or duplicate messages
do no harm: the first worker takes the lease, and the sweep sends a new message for runs without a
worker.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from celery import shared_task
from celery.app.task import Task
from django.db import transaction
from kombu.exceptions import OperationalError

from annotation.models import Campaign
from audit.recording import record
from judging import lanes, launcher
from judging.backends.base import SetupError
from judging.engine import Control
from judging.engine.worker import is_ending, stopping_with_worker, work
from judging.models import ACTIVE, Judge, JudgeRun
from judging.prompts.template import PromptError
from judging.runs import ledger, lifecycle
from judging.runs.rests import end_rest

logger = logging.getLogger("tandem.judging")

BUDGET_SECONDS = 120.0
PUMP_EXPIRES = 60.0
LIMITS = ("limit", "most_tokens", "most_cost", "concurrency", "reuse")
NOT_STARTED = (
    lifecycle.ChangedPromptError, lifecycle.BatchOutError, lifecycle.LeasedRunError,
    SetupError, PromptError,
)  # fmt: skip
"""Why `begin` starts no run, apart from NothingOpenError."""


def ring(run: int) -> None:
    """Ask the workers to work on a run. Call this after the commit.

    Without a broker nothing is lost, since the sweep finds the run later.
    """
    _send(pump, PUMP_EXPIRES, run)


def _send(task: Task, expires: float, *arguments: int) -> None:
    """Send a message without waiting, or log that the broker cannot be reached."""
    try:
        task.apply_async(arguments, expires=expires, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("The broker cannot be reached, %s was not sent: %s", task.name, error)


@shared_task
def pump(run: int) -> None:
    """Work on a run for a while, then send a message for the next run on its lane.

    A message for a run whose lane is in use does nothing. A worker that is shutting down starts
    nothing and sends nothing, since it could receive its own message. Another worker's sweep finds
    the run.
    """
    if is_ending():
        return
    found = JudgeRun.objects.select_related("campaign", "judge__rater").filter(pk=run).first()
    lease = lifecycle.lease_run(found) if found and found.queued else None
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
    """Send a message for every run without a worker, and end runs that a person wants to end."""
    lifecycle.apply_wishes()
    for run in lifecycle.runs_without_worker().values_list("pk", flat=True):
        ring(run)


class NothingOpenError(ValueError):
    """The judge has a result for every assignment in the campaign."""


def begin(judge: Judge, campaign: Campaign, limits: dict[str, Any]) -> JudgeRun:
    """Queue a run, or return the active run if another process started one first.

    Raises NothingOpenError, or one of NOT_STARTED.
    """
    lifecycle.plan(campaign, judge, lifecycle.FIRST_ASSIGNMENTS)
    if not ledger.count_waiting(campaign, judge):
        raise NothingOpenError("nothing is open: the judge has finished this campaign")
    try:
        run = lifecycle.start(campaign, judge, queued=True, **limits)
    except lifecycle.LeasedRunError:
        run = lifecycle.queue_active(campaign, judge)
    transaction.on_commit(partial(_wake, run))
    return run


def _wake(run: JudgeRun) -> None:
    """Have a worker take a run, or work on it here if the site has no workers."""
    ring(run.pk)
    if not launcher.has_workers():
        launcher.start_here(run)


def resume(run: JudgeRun) -> bool:
    """Resume the paused lane of a run. Return False if the run has ended."""
    if run.lane is not None:
        with transaction.atomic():
            lanes.resume(run.lane)
            record("run.changed", run.campaign_id, run, resumed=True)
    if run.state not in ACTIVE:
        return False
    end_rest(run)
    transaction.on_commit(partial(_wake, run))
    return True


def go_on(run: JudgeRun) -> JudgeRun:
    """Start a run that continues one that ended early, within the same limits.

    Raises NothingOpenError, or one of NOT_STARTED.
    """
    limits = {name: getattr(run, name) for name in LIMITS}
    return begin(run.judge, run.campaign, {**limits, "go_on": True})
