"""The doorbell. A message says only that a run may be due; what is due stands in the database.

So a message that is lost, late or doubled does no harm: whoever comes first takes the lease, and
the sweep rings again for runs that nobody works on.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import transaction
from kombu.exceptions import OperationalError

from judging import runs
from judging.engine import Control
from judging.models import ACTIVE, JudgeRun
from judging.work import work

logger = logging.getLogger(__name__)

BUDGET_SECONDS = 120.0
SWEEP_SECONDS = 15.0
PUMP_EXPIRES = 60.0


def ring(run: int) -> None:
    """Asks the workers to look after a run; call it after the commit.

    Without a broker nothing is lost: the sweep finds the run once there is one again.
    """
    try:
        pump.apply_async((run,), expires=PUMP_EXPIRES, retry=False)
    except OperationalError as error:
        logger.warning("Run %s is queued, but the broker cannot be reached: %s", run, error)


@shared_task
def pump(run: int) -> None:
    """Works on a run for a while, and rings again if it has not ended then."""
    found = JudgeRun.objects.select_related("campaign", "judge__rater").filter(pk=run).first()
    lease = runs.take(found) if found and found.queued else None
    if found is None or lease is None:
        return
    work(found, lease, Control(seconds=BUDGET_SECONDS))
    if JudgeRun.objects.filter(pk=run, state__in=ACTIVE, lease=None).exists():
        transaction.on_commit(lambda: ring(run))


@shared_task
def sweep() -> None:
    """Rings for every run that nobody works on."""
    for run in runs.neglected().values_list("pk", flat=True):
        ring(run)


@worker_ready.connect
def sweep_by_itself(sender: Any, **kwargs: Any) -> None:
    """A worker sweeps when it starts and from then on: no other process is needed for it."""
    sweep.apply_async(expires=SWEEP_SECONDS)
    sender.timer.call_repeatedly(SWEEP_SECONDS, sweep.apply_async, (), {"expires": SWEEP_SECONDS})
