"""The life of a run: start, lease, renew, pause, stop, end, and which run is next.

Times are those of the database's clock. A run whose judge asks a server holds the lease of its
lane too, so that one run at a time asks that server.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from annotation.models import Campaign
from annotation.presentation import schema
from annotation.registry import declared
from audit.recording import folded, record
from judging import lanes
from judging.backends.base import SetupError
from judging.models import ACTIVE, Judge, JudgeRun
from judging.prompts.template import sha256_of
from judging.runs import ledger


@dataclass(frozen=True)
class Orders:
    """What people want of a run that is under way: a wish, and a number of calls at once."""

    wish: str = ""
    concurrency: int | None = None


class HeldError(Exception):
    """Another run of this judge over this campaign holds a lease, alive or left by a dead one."""


class OutError(Exception):
    """The judge's requests are out in a file, and must come back or be given up first."""


class ChangedPromptError(ValueError):
    """The prompt is not the one that this judge began the campaign with."""


def prompt_of(judge: Judge, campaign: Campaign) -> str:
    """The judge's own prompt, or that of the campaign's protocol."""
    return judge.prompt or declared(campaign).prompt


def check_prompt(campaign: Campaign, judge: Judge, prompt: str) -> None:
    before = JudgeRun.objects.filter(campaign=campaign, judge=judge).exclude(prompt_sha256=prompt)
    if before.exists():
        raise ChangedPromptError(
            f"the prompt of {campaign.protocol} has changed since judge {judge} began; make a new "
            "judge, so that labels of two prompts do not stand under one name"
        )


def check_granularity(campaign: Campaign, judge: Judge) -> None:
    rule = declared(campaign).listed
    by_unit = judge.granularity == Judge.Granularity.UNIT
    if rule and by_unit and schema(campaign).matching(rule.match_kind):
        raise SetupError(
            f"{campaign.protocol} matches each {rule.match_kind} with a list that the same answer "
            "writes, which no judge sees unit by unit; make one with --granularity item"
        )


def neglected() -> QuerySet[JudgeRun]:
    """Active runs that are for workers and that nobody works on, though their lane is free."""
    runs = JudgeRun.objects.filter(state__in=ACTIVE, queued=True)
    lane_free = Q(lane__lease=None) | Q(lane__lease_until__lt=Now())
    return free(runs).filter(Q(lane=None) | Q(lane__paused="") & lane_free)


def next_after(run: JudgeRun) -> JudgeRun | None:
    """Whose turn it is when a worker lets go of a run: its lane's runs take turns.

    It may be the run itself. One without a lane is followed by nobody else.
    """
    if run.lane_id is None:
        return neglected().filter(pk=run.pk).first()
    waiting = neglected().filter(lane=run.lane_id)
    return waiting.filter(pk__gt=run.pk).first() or waiting.first()


def free(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Those that nobody holds, or whose holder is dead."""
    return runs.filter(Q(lease=None) | Q(lease_until__lt=Now()))


State, Wish = JudgeRun.State, JudgeRun.Wish
_WISHED = {Wish.STOP: State.INTERRUPTED, Wish.CANCEL: State.CANCELLED}
INTENT = "batch_intent"
_GIVEN_BACK: dict[str, Any] = {"lease": None, "lease_until": None, "in_flight": 0, "allowed": 0}


def start(
    campaign: Campaign,
    judge: Judge,
    limit: int | None = None,
    queued: bool = False,
    *,
    most_tokens: int | None = None,
    most_cost: Decimal | None = None,
    concurrency: int | None = None,
    reuse: str = JudgeRun.Reuse.NEVER,
    offline: bool = False,
) -> JudgeRun:
    """A new run with its rows planned, for whoever takes its lease; workers only if `queued`.

    A run that died is closed first, what was cancelled is open again, and a paused lane too. One
    that is `offline` asks no server and has no lane.
    Raises HeldError, OutError, ChangedPromptError, SetupError.
    """
    prompt = sha256_of(prompt_of(judge, campaign))
    check_prompt(campaign, judge, prompt)
    lane = None if offline else lanes.lane_of(judge)
    plan(campaign, judge)
    try:
        with transaction.atomic():
            _close_dead(campaign, judge)
            ledger.revive(campaign, judge)
            run = JudgeRun.objects.create(
                campaign=campaign,
                judge=judge,
                lane=lane,
                limit=limit,
                queued=queued,
                most_tokens=most_tokens,
                most_cost=most_cost,
                concurrency=concurrency,
                reuse=reuse,
                prompt_sha256=prompt,
            )
            record("run.started", campaign.pk, run, after=prompt, limit=limit, offline=offline)
    except IntegrityError as error:
        raise HeldError(f"another run of judge {judge} has just begun") from error
    if lane is not None:
        lanes.resume(lane)
    return run


def plan(campaign: Campaign, judge: Judge) -> None:
    """Makes the rows that are missing, and opens those again that were cancelled.

    Raises SetupError where the judge's granularity cannot be.
    """
    check_granularity(campaign, judge)
    ledger.plan(campaign, judge)
    ledger.revive(campaign, judge)


def _close_dead(campaign: Campaign, judge: Judge) -> None:
    for run in active(campaign, judge).select_for_update():
        if _heeded(run):
            continue
        if batch := run.manifest.get("batch"):
            raise OutError(
                f"its requests are out in {batch['files'][0]['name']} since run {run.pk}; take the "
                "results in with --batch-file, or give them up with --stop"
            )
        if not free(JudgeRun.objects.filter(pk=run.pk)).exists():
            so_far = f"{run.done} done and {run.failed} failed so far"
            raise HeldError(f"{run} of judge {judge} is at work, {so_far}")
        if files := run.manifest.get(INTENT, {}).get("files"):
            raise OutError(
                f"{run} was writing {files[0]['name']} when its process ended; give --batch-file "
                f"{files[0]['path']} to go on, or give it up with --stop"
            )
        _close(run, State.INTERRUPTED)
        if _asks_nobody(run):
            ledger.reopen(campaign, judge)


def _asks_nobody(run: JudgeRun) -> bool:
    """Whether the run's requests go by files: no call of ours can have killed its process."""
    return bool(run.manifest.get("batch") or run.manifest.get(INTENT))


def _close(run: JudgeRun, state: str, error: str = "") -> None:
    JudgeRun.objects.filter(pk=run.pk).update(
        **_GIVEN_BACK, state=state, error=error, ended_at=Now()
    )
    record("run.ended", run.campaign_id, run, state=str(state))


def take(run: JudgeRun) -> uuid.UUID | None:
    """The lease of an active run that nobody holds, as a token; None if it cannot be had.

    With it comes the lease of the run's lane. What a dead holder left is given back, with a strike
    (see `judging.rows.ledger`). A run that was to stop or to be cancelled is ended instead.
    """
    if _heeded(run):
        return None
    token = uuid.uuid4()
    unheld = free(_unended(run))
    with transaction.atomic():
        if not unheld.update(lease=token, lease_until=Now() + lanes.LEASE, state=State.RUNNING):
            return None
        if not lanes.take(run.lane_id, token):
            transaction.set_rollback(True)
            return None
        run.refresh_from_db(fields=["manifest"])
        if _asks_nobody(run):
            ledger.reopen(run.campaign, run.judge)
        elif poisoned := ledger.take_over(run):
            _count_poisoned(run, poisoned)
    return token


def _count_poisoned(run: JudgeRun, rows: int) -> None:
    run.refresh_from_db(fields=["failures"])
    failures = run.failures | {"error": run.failures.get("error", 0) + rows}
    JudgeRun.objects.filter(pk=run.pk).update(failures=failures)


def renew(run: JudgeRun, token: uuid.UUID, in_flight: int = 0, allowed: int = 0) -> Orders | None:
    """Holds the lease for longer and says how the pump is doing; None if it went to another."""
    held = _held(run, token)
    with transaction.atomic():
        if not held.update(lease_until=Now() + lanes.LEASE, in_flight=in_flight, allowed=allowed):
            return None
        if not lanes.renew(run.lane_id, token):
            transaction.set_rollback(True)
            return None
        return Orders(*held.values_list("wish", "concurrency").get())


def is_held(run: JudgeRun, token: uuid.UUID) -> bool:
    """Whether the run is ours; within a transaction it stays so until its end."""
    return bool(_held(run, token).select_for_update().values_list("pk", flat=True))


def finish(run: JudgeRun, token: uuid.UUID, state: str, error: str = "") -> bool:
    """Ends a run, gives back what it still held, and its lease; False if that went to another.

    Who wished it cancelled in the last moment finds it cancelled.
    """
    with transaction.atomic():
        # Held until the end, so that nobody takes the run between the look and the closing.
        if (held := _held(run, token).select_for_update().first()) is None:
            return False
        if held.wish == Wish.CANCEL:
            state = State.CANCELLED
        _close(run, state, error)
        lanes.give_back(run.lane_id, token)
        _settle_rows(run, state)
    return True


def _settle_rows(run: JudgeRun, state: str) -> None:
    if state == State.CANCELLED:
        ledger.cancel(run.campaign, run.judge)
    else:
        ledger.reopen(run.campaign, run.judge)


def hand_over(run: JudgeRun, token: uuid.UUID) -> None:
    """Gives the lease back, and leaves the run to the next worker, unless it was to end."""
    with transaction.atomic():
        if _held(run, token).update(**_GIVEN_BACK):
            lanes.give_back(run.lane_id, token)
            ledger.reopen(run.campaign, run.judge)
    _heeded(run)


def queue_active(campaign: Campaign, judge: Judge) -> JudgeRun:
    """The active run, now also for workers: if its holder is dead or dies, they go on with it."""
    if (run := active(campaign, judge).select_related("lane").first()) is None:
        raise HeldError(f"a run of judge {judge} has ended just now; try again")
    if _asks_nobody(run):
        raise HeldError(f"{run} of judge {judge} is writing its requests to a file; try again")
    with transaction.atomic():
        if active(campaign, judge).filter(pk=run.pk, queued=False).update(queued=True):
            record("run.changed", campaign.pk, run, queued=True)
    run.queued = True
    if run.lane is not None:
        lanes.resume(run.lane)
    return run


def active(campaign: Campaign, judge: Judge) -> QuerySet[JudgeRun]:
    """The run of a judge over a campaign that has not ended: one, or none."""
    return JudgeRun.objects.filter(campaign=campaign, judge=judge, state__in=ACTIVE)


def ask_to_stop(run: JudgeRun) -> bool:
    """Ends a run in order, so that it can be gone on with; False if it has ended already."""
    return _wish(run, Wish.STOP)


def ask_to_cancel(run: JudgeRun) -> bool:
    """Ends a run in order and closes the rows that are left; False if it has ended already."""
    return _wish(run, Wish.CANCEL)


def _wish(run: JudgeRun, wish: str) -> bool:
    """Whoever holds the run reads this when he renews his lease; a run that nobody holds ends."""
    with transaction.atomic():
        if not _unended(run).update(wish=wish):
            return False
        record("run.stopped", run.campaign_id, run, wish=str(wish))
    with folded():
        _heeded(run)
    return True


def _heeded(run: JudgeRun) -> bool:
    """Whether a run that nobody holds has ended now because somebody wished it."""
    with transaction.atomic():
        unheld = free(_unended(run)).exclude(wish=Wish.NONE)
        if (wished := unheld.select_for_update().first()) is None:
            return False
        state = _WISHED[Wish(wished.wish)]
        _close(wished, state)
        _settle_rows(run, state)
    return True


def heed_wishes() -> None:
    """Ends every run that was to end and that nobody holds, whatever its lane is like."""
    for run in free(JudgeRun.objects.filter(state__in=ACTIVE)).exclude(wish=Wish.NONE):
        _heeded(run)


def has_ended(run: JudgeRun) -> bool:
    """Whether a run that was to end has done so; where its holder died, it does now."""
    return _heeded(run) or not _unended(run).exists()


def state_wished(run: JudgeRun) -> str:
    """The state in which the run is to end, where somebody wished it to end; else empty."""
    run.refresh_from_db(fields=["wish"])
    return _WISHED.get(Wish(run.wish), "")


def set_concurrency(run: JudgeRun, calls: int) -> bool:
    """How many calls at once from now on, at least 1; False if the run has ended already."""
    with transaction.atomic():
        changed = bool(_unended(run).update(concurrency=max(1, calls)))
        if changed:
            record("run.changed", run.campaign_id, run, concurrency=max(1, calls))
    return changed


def remaining(run: JudgeRun) -> int | None:
    """How many more rows the run's limit allows; None without one."""
    if run.limit is None:
        return None
    run.refresh_from_db(fields=["done", "failures"])
    return max(0, run.limit - run.done - run.failed)


def _held(run: JudgeRun, token: uuid.UUID) -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(pk=run.pk, lease=token)


def _unended(run: JudgeRun) -> QuerySet[JudgeRun]:
    """The run as a row, as long as it has not ended."""
    return JudgeRun.objects.filter(pk=run.pk, state__in=ACTIVE)
