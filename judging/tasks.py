"""Judges' runs as a source of work; starting and resuming them, and the sweep for Celery's workers.

A message only says that a run may be due; the database decides. So lost, late or duplicate messages
do no harm: the first worker takes the lease, and the sweep sends a new message for runs without a
worker.
"""

from __future__ import annotations

import signal
import uuid
from collections import Counter
from functools import partial
from typing import Any

from celery import shared_task
from django.db import transaction
from django.db.models import F

from annotation.models import Campaign
from audit.recording import record
from datasets.work import Progress, wake
from datasets.work.pool import carry_out_one
from datasets.work.sources import Source, Taken
from judging import lanes
from judging.backends.base import SetupError
from judging.engine import Control
from judging.engine.worker import assist, work
from judging.models import ACTIVE, Judge, JudgeRun
from judging.prompts.template import PromptError
from judging.runs import ledger, lifecycle, prompts, shards
from judging.runs.rests import end_rest
from judging.servers import missing_key

BUDGET_SECONDS = 120.0
LIMITS = ("limit", "most_tokens", "most_cost", "concurrency", "workers", "reuse")
NOT_STARTED = (
    prompts.ChangedPromptError, lifecycle.BatchOutError, lifecycle.LeasedRunError,
    SetupError, PromptError,
)  # fmt: skip
"""Why `begin` starts no run, apart from NothingOpenError."""


PUMP = "judging.tasks.pump"
RUN = "run"
MOST_AT_ONCE = 16


def runs() -> Source:
    """Return judges' runs as a source of work. Each has its engine in a process of its own."""

    def has_room(at_work: Counter[str], places: int) -> bool:
        return places > 0 and at_work[RUN] < MOST_AT_ONCE

    return Source(RUN, take, has_room, lifecycle.has_queued)


def take(key: str = "", seconds: float | None = None) -> Taken | None:
    """Lease a run, or a part in one that several workers may be on.

    It is the run with a key, or the first that is free. After `seconds`, its engine leaves it to
    the next worker. If its process dies, the lease ends by itself, and the requests that were under
    way have a strike. On a site with a broker, a worker that looks by itself leaves a run whose key
    it lacks to those where judges run.
    """
    return _take_lead(key, seconds) or _take_part(key, seconds)


def _take_lead(key: str, seconds: float | None) -> Taken | None:
    free = lifecycle.runs_without_worker().select_related("campaign", "judge__rater")
    for run in free.filter(**{"pk": key} if key else {}).order_by(
        F("lease_until").asc(nulls_first=True), "pk"
    ):
        if not key and wake.has_broker() and missing_key(run.judge):
            continue
        if lease := lifecycle.lease_run(run):
            return Taken(
                str(run),
                partial(_carry_out, run, lease, seconds),
                release=partial(lifecycle.hand_over, run, lease),
                seconds=None,
                told=True,
            )
    return None


def _take_part(key: str, seconds: float | None) -> Taken | None:
    runs = shards.with_places().select_related("campaign", "judge__rater")
    for run in runs.filter(**{"pk": key} if key else {}).order_by("at_work", "pk"):
        if not has_same_key(run):
            continue
        if lease := shards.join(run):
            return Taken(
                f"a part of {run}",
                partial(_assist, run, lease, seconds),
                release=partial(shards.leave, run, lease),
                seconds=None,
                told=True,
            )
    return None


def has_same_key(run: JudgeRun) -> bool:
    """Return whether this process has the key with which the run's leader began, if it had one.

    One without the key would be refused, which ends the run.
    """
    missing = missing_key(run.judge)
    return not missing or run.manifest.get("engine", {}).get("missing_key", missing) == missing


def _carry_out(run: JudgeRun, lease: uuid.UUID, seconds: float | None, progress: Progress) -> None:
    control = Control(seconds, begun=partial(call_for_others, run))
    signal.signal(signal.SIGTERM, lambda *_: control.stop())
    work(run, lease, control)


def _assist(run: JudgeRun, lease: uuid.UUID, seconds: float | None, progress: Progress) -> None:
    control = Control(seconds)
    signal.signal(signal.SIGTERM, lambda *_: control.stop())
    assist(run, lease, control)


def call_for_others(run: JudgeRun) -> None:
    """Ask for the other workers that may be on a run that has begun."""
    run.refresh_from_db(fields=["workers"])
    if run.workers > 1:
        ring(run.pk)
    for _ in range(run.workers - 2):
        if wake.has_broker():
            leave_to_workers(run.pk)


def ring(run: int) -> None:
    """Have a worker take a run, or start one here if the site has none."""
    wake.wake(PUMP, run)


def leave_to_workers(run: int) -> None:
    """Ask Celery's workers to take a run. Without a broker nothing is lost: their sweep finds it.

    Call this and `ring` after the commit.
    """
    wake.send(PUMP, run)


@shared_task
def pump(run: int) -> None:
    """Work on a run for a while, then send a message for the next run.

    A message for a run that has all its workers does nothing.
    """
    if not carry_out_one(RUN, key=str(run), seconds=BUDGET_SECONDS):
        return
    done = JudgeRun.objects.filter(pk=run).first()
    following = lifecycle.next_run(done) if done else None
    if following is not None:
        leave_to_workers(following.pk)
    elif done is not None and shards.has_place(done):
        leave_to_workers(run)


@shared_task
def sweep() -> None:
    """Send a message for each worker that a run lacks, and end runs that a person wants to end."""
    lifecycle.apply_wishes()
    for run in lifecycle.runs_without_worker().values_list("pk", flat=True):
        leave_to_workers(run)
    for run, workers, at_work in shards.with_places().values_list("pk", "workers", "at_work"):
        for _ in range(workers - 1 - at_work):
            leave_to_workers(run)


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
    transaction.on_commit(partial(ring, run.pk))
    return run


def resume(run: JudgeRun) -> bool:
    """Resume the paused lane of a run. Return False if the run has ended."""
    if run.lane is not None:
        with transaction.atomic():
            lanes.resume_all(run)
            record("run.changed", run.campaign_id, run, resumed=True)
    if run.state not in ACTIVE:
        return False
    end_rest(run)
    transaction.on_commit(partial(ring, run.pk))
    return True


def go_on(run: JudgeRun) -> JudgeRun:
    """Start a run that continues one that ended early, within the same limits.

    Raises NothingOpenError, or one of NOT_STARTED.
    """
    limits = {name: getattr(run, name) for name in LIMITS}
    return begin(run.judge, run.campaign, {**limits, "go_on": True})
