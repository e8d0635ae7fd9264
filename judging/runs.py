"""Runs and their leases: who may work on a judge over a campaign, by the database's clock."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from judging import ledger, planning
from judging.models import ACTIVE, Judge, JudgeRun
from judging.prompting import sha256_of

LEASE = timedelta(seconds=15)
State = JudgeRun.State


class HeldError(Exception):
    """Another run of this judge over this campaign holds a lease, alive or left by a dead one."""


@dataclass(frozen=True)
class Orders:
    """What people want of a run that is under way: a wish, and a number of calls at once."""

    wish: str = ""
    concurrency: int | None = None


class ChangedPromptError(ValueError):
    """The prompt is not the one that this judge began the campaign with."""


def prompt_of(judge: Judge, campaign: Campaign) -> str:
    """The judge's own prompt, or that of the campaign's protocol."""
    return judge.prompt or PROTOCOLS[campaign.protocol].prompt


def start(
    campaign: Campaign, judge: Judge, limit: int | None = None, queued: bool = False
) -> JudgeRun:
    """A new run with its rows planned, for whoever takes its lease; workers only if `queued`.

    A run that died is closed first. Raises HeldError, ChangedPromptError.
    """
    prompt = sha256_of(prompt_of(judge, campaign))
    _check_prompt(campaign, judge, prompt)
    planning.plan(campaign, judge)
    try:
        with transaction.atomic():
            _close_dead(campaign, judge)
            run = JudgeRun.objects.create(
                campaign=campaign, judge=judge, limit=limit, queued=queued, prompt_sha256=prompt
            )
    except IntegrityError as error:
        raise HeldError(f"another run of judge {judge} has just begun") from error
    return run


def _check_prompt(campaign: Campaign, judge: Judge, prompt: str) -> None:
    before = JudgeRun.objects.filter(campaign=campaign, judge=judge).exclude(prompt_sha256=prompt)
    if before.exists():
        raise ChangedPromptError(
            f"the prompt of {campaign.protocol} has changed since judge {judge} began; make a new "
            "judge, so that labels of two prompts do not stand under one name"
        )


def _close_dead(campaign: Campaign, judge: Judge) -> None:
    active = JudgeRun.objects.filter(campaign=campaign, judge=judge, state__in=ACTIVE)
    for run in active.select_for_update():
        if not _free(JudgeRun.objects.filter(pk=run.pk)).exists():
            so_far = f"{run.done} done and {run.failed} failed so far"
            raise HeldError(f"{run} of judge {judge} is at work, {so_far}")
        JudgeRun.objects.filter(pk=run.pk).update(
            state=State.INTERRUPTED, lease=None, lease_until=None, ended_at=Now()
        )


def take(run: JudgeRun) -> uuid.UUID | None:
    """The lease of an active run that nobody holds, as a token; None if it cannot be had."""
    token = uuid.uuid4()
    free = _free(JudgeRun.objects.filter(pk=run.pk, state__in=ACTIVE))
    with transaction.atomic():
        if not free.update(lease=token, lease_until=Now() + LEASE, state=State.RUNNING):
            return None
        ledger.reopen(run.campaign, run.judge)
    return token


def renew(run: JudgeRun, token: uuid.UUID, in_flight: int = 0, allowed: int = 0) -> Orders | None:
    """Holds the lease for longer and says how the pump is doing; None if it went to another."""
    held = _held(run, token)
    if not held.update(lease_until=Now() + LEASE, in_flight=in_flight, allowed=allowed):
        return None
    return Orders(*held.values_list("wish", "concurrency").get())


def finish(run: JudgeRun, token: uuid.UUID, state: str, error: str = "") -> bool:
    """Ends a run, gives back what it still held, and its lease; False if that went to another."""
    with transaction.atomic():
        if not _held(run, token).update(
            lease=None, lease_until=None, state=state, error=error, ended_at=Now()
        ):
            return False
        ledger.reopen(run.campaign, run.judge)
    return True


def hand_over(run: JudgeRun, token: uuid.UUID) -> None:
    """Gives the lease back, and leaves the run to the next worker."""
    with transaction.atomic():
        if _held(run, token).update(lease=None, lease_until=None):
            ledger.reopen(run.campaign, run.judge)


def queue_active(campaign: Campaign, judge: Judge) -> JudgeRun:
    """The active run, now also for workers: if its holder is dead or dies, they go on with it."""
    active = JudgeRun.objects.filter(campaign=campaign, judge=judge, state__in=ACTIVE)
    active.update(queued=True)
    if (run := active.first()) is None:
        raise HeldError(f"a run of judge {judge} has ended just now; try again")
    return run


def neglected() -> QuerySet[JudgeRun]:
    """Active runs that are for workers and that nobody works on."""
    return _free(JudgeRun.objects.filter(state__in=ACTIVE, queued=True))


def remaining(run: JudgeRun) -> int | None:
    """How many more rows the run's limit allows; None without one."""
    if run.limit is None:
        return None
    run.refresh_from_db(fields=["done", "failures"])
    return max(0, run.limit - run.done - run.failed)


def _held(run: JudgeRun, token: uuid.UUID) -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(pk=run.pk, lease=token)


def _free(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    return runs.filter(Q(lease=None) | Q(lease_until__lt=Now()))
