"""Beginning a run for the workers, as a page and the API do."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.models import Campaign
from audit.recording import record
from judging.models import ACTIVE, Judge, JudgeRun
from judging.rows import lanes, ledger, runs
from judging.tasks import ring


class NothingOpenError(ValueError):
    """The judge has a result for all of the campaign."""


def begin(judge: Judge, campaign: Campaign, limits: dict[str, Any]) -> JudgeRun:
    """A queued run; the one that is there, where somebody else was faster.

    Raises NothingOpenError, ChangedPromptError, OutError, HeldError, SetupError, PromptError.
    """
    runs.plan(campaign, judge)
    if not ledger.waiting(campaign, judge):
        raise NothingOpenError("nothing is open: the judge is through with this campaign")
    try:
        run = runs.start(campaign, judge, queued=True, **limits)
    except runs.HeldError:
        run = runs.queue_active(campaign, judge)
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
