"""The lifecycle of a run: start, lease, pause, stop, end, and the choice of the next run.

Times are those of the database's clock. A run whose judge asks a server shares it with other runs
(`grants`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from annotation.answers.submission import LostLeaseError
from annotation.models import Campaign
from audit.recording import folded, record
from datasets.db.locks import brief_transaction
from judging import lanes
from judging.models import ACTIVE, Judge, JudgeRun
from judging.prompts.examples import KEY as EXAMPLES
from judging.prompts.examples import sample_examples
from judging.prompts.template import sha256_of
from judging.runs import grants, ledger, planning, shards
from judging.runs.fit import check_fit
from judging.runs.prompts import check_prompt, check_template, prompt_for
from judging.runs.rests import RESTED, rest_of
from judging.servers import check_key

State, Wish = JudgeRun.State, JudgeRun.Wish
_STATE_AFTER_WISH = {Wish.STOP: State.INTERRUPTED, Wish.CANCEL: State.CANCELLED}
INTENT = "batch_intent"
FIRST_ASSIGNMENTS = 1000
"""How many items or units are planned when a run is queued, so that a page does not wait longer."""
_NO_LEASE: dict[str, Any] = {"lease": None, "lease_until": None, "in_flight": 0, "allowed": 0}


@dataclass(frozen=True)
class Orders:
    """What a worker on an active run must do.

    A person gives a wish, and a number of concurrent calls. `calls` is how many the worker may have
    in flight for the next `grants.SENDS` (None for a judge that asks no server), and `by_lane` how
    many on each lane if there are several. `paused` says why the server may not be asked at all.
    `closing` is the reason for which another worker ends the run, and a worker that `leaves` is one
    too many. All workers together have spent `tokens` and `cost`.
    """

    wish: str = ""
    concurrency: int | None = None
    calls: int | None = None
    paused: str = ""
    closing: Mapping[str, Any] | None = None
    leaves: bool = False
    tokens: int = field(default=0, compare=False)
    cost: Decimal = field(default=Decimal(0), compare=False)
    by_lane: tuple[int, ...] = ()


class LeasedRunError(Exception):
    """Another run of this judge over this campaign has a lease, possibly a dead process's."""


@contextmanager
def refuse_lost_lease() -> Iterator[None]:
    """Raise LeasedRunError if another process takes the run over during the block."""
    try:
        yield
    except LostLeaseError as error:
        raise LeasedRunError("another process took the run over meanwhile; try again") from error


class BatchOutError(Exception):
    """The judge's requests are in a batch file. Its results must first be loaded or abandoned."""


def runs_without_worker() -> QuerySet[JudgeRun]:
    """Return the active runs for workers that may ask their server but have no process."""
    return _queued_without_lease().filter(RESTED)


def has_queued() -> bool:
    """Return whether an active run for workers has no process, even one that rests."""
    return _queued_without_lease().exists()


def _queued_without_lease() -> QuerySet[JudgeRun]:
    queued = JudgeRun.objects.filter(lanes.UNPAUSED, state__in=ACTIVE, queued=True)
    return without_lease(queued)


def next_run(run: JudgeRun) -> JudgeRun | None:
    """Return the next run after a worker has released one.

    Waiting runs take turns, so it may be the same run.
    """
    waiting = runs_without_worker()
    return waiting.filter(pk__gt=run.pk).first() or waiting.first()


def without_lease(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Filter runs without a lease or with an expired one."""
    return runs.filter(Q(lease=None) | Q(lease_until__lt=Now()))


def start(
    campaign: Campaign,
    judge: Judge,
    limit: int | None = None,
    queued: bool = False,
    *,
    most_tokens: int | None = None,
    most_cost: Decimal | None = None,
    concurrency: int | None = None,
    workers: int | None = None,
    reuse: str = JudgeRun.Reuse.NEVER,
    go_on: bool = False,
    offline: bool = False,
) -> JudgeRun:
    """Create a run and plan its assignments. Workers take it only if it is `queued`.

    Of a queued run, only the first assignments are planned, and its worker plans the rest.
    A dead run is closed first. Cancelled assignments are reopened, and a paused lane is resumed. An
    `offline` run asks no server and has no lane. To `go_on` means not to end early for the reason
    that the first results share. Later runs of the judge over the campaign go on too, and a rest
    of an earlier one is theirs.
    Raises LeasedRunError, BatchOutError, ChangedPromptError, SetupError, PromptError.
    """
    prompt = sha256_of(prompt_for(judge, campaign))
    check_prompt(campaign, judge, prompt)
    check_key(judge)
    lane = None if offline else next(iter(lanes.lanes_of(judge)), None)
    plan(campaign, judge, FIRST_ASSIGNMENTS if queued else None)
    check_template(campaign, judge)
    examples = sample_examples(campaign, judge)
    before = JudgeRun.objects.filter(campaign=campaign, judge=judge)
    try:
        with brief_transaction():
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
                workers=workers or int(judge.params.get("workers", 1)),
                reuse=reuse,
                go_on=go_on or before.filter(go_on=True).exists(),
                rests_until=None if offline else rest_of(before),
                prompt_sha256=prompt,
                manifest={EXAMPLES: [each.as_json() for each in examples]} if examples else {},
            )
            record("run.started", campaign.pk, run, after=prompt, limit=limit, offline=offline)
    except IntegrityError as error:
        raise LeasedRunError(f"another run of judge {judge} has just started") from error
    lanes.resume_all(run)
    return run


def plan(campaign: Campaign, judge: Judge, most: int | None = None) -> None:
    """Create the missing assignments, and reopen the cancelled ones.

    With `most`, only as many are created, and none if anything is open. Raises SetupError if the
    judge cannot answer what the campaign asks.
    """
    check_fit(campaign, judge)
    ledger.revive(campaign, judge)
    if most is None or not ledger.count_waiting(campaign, judge):
        planning.plan(campaign, judge, most)


def _close_dead(campaign: Campaign, judge: Judge) -> None:
    run = active_runs(campaign, judge).select_for_update().first()
    if run is None or _end_if_wished(run):
        return
    if batch := run.manifest.get("batch"):
        place, option = batch_place(batch)
        raise BatchOutError(
            f"its requests are in {place} since run {run.pk}; load the results with {option}, or "
            "abandon them with --stop"
        )
    if not _unattended(JudgeRun.objects.filter(pk=run.pk)).exists():
        so_far = f"{run.done} done and {run.failed} failed so far"
        raise LeasedRunError(f"{run} of judge {judge} is at work, {so_far}")
    intent = run.manifest.get(INTENT, {})
    if files := intent.get("files"):
        path = files[0]["path"]
        again = f"--offline {Path(path).parent}" if intent.get("offline") else ""
        raise BatchOutError(
            f"{run} was writing {files[0]['name']} when its process ended; give "
            f"{again or f'--batch-file {path}'} to continue, or abandon it with --stop"
        )
    _close(run, State.INTERRUPTED)
    if _uses_files(run):
        ledger.reopen(campaign, judge)


def _unattended(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Filter runs on which no worker lives."""
    return shards.without_assistants(without_lease(runs))


def batch_place(batch: Mapping[str, Any]) -> tuple[str, str]:
    """Return where a run's requests are, and the option of run_judge that loads their results."""
    name = str(batch["files"][0]["name"])
    folder = batch.get("folder")
    return (f"{folder}/{name}", "--offline") if folder else (name, "--batch-file")


def _uses_files(run: JudgeRun) -> bool:
    """Return whether the run uses batch files, so that none of its calls can end its process."""
    return bool(run.manifest.get("batch") or run.manifest.get(INTENT))


def _close(run: JudgeRun, state: str, error: str = "") -> None:
    ended = {**_NO_LEASE, "closing": None, "state": state, "error": error, "ended_at": Now()}
    JudgeRun.objects.filter(pk=run.pk).update(**ended)
    record("run.ended", run.campaign_id, run, state=str(state))


def lease_run(run: JudgeRun, is_paused: bool = False) -> uuid.UUID | None:
    """Lease an active run, and return the token. None if that is impossible.

    It is impossible on a paused lane, unless `is_paused` says that nothing will be asked.
    Assignments that a dead worker left are reopened with a strike (see `judging.runs.ledger`). A
    run with a wish to stop or cancel is ended instead.
    """
    if _end_if_wished(run):
        return None
    token = uuid.uuid4()
    unheld = without_lease(_while_active(run)).filter(RESTED)
    unheld = unheld if is_paused else unheld.filter(lanes.UNPAUSED)
    if not unheld.exists():
        return None
    with brief_transaction():
        shards.lead(run, token)
        leased = {"lease": token, "lease_until": Now() + shards.LEASE, "state": State.RUNNING}
        if not unheld.update(**leased):
            transaction.set_rollback(True)
            return None
        run.refresh_from_db(fields=["manifest"])
        if _uses_files(run):
            ledger.reopen(run.campaign, run.judge)
        else:
            take_over(run)
    return token


def take_over(run: JudgeRun) -> None:
    """Take over what dead workers left. The caller leads the run."""
    if poisoned := shards.take_over(run):
        _count_poisoned(run, poisoned)


def take_back(run: JudgeRun, token: uuid.UUID) -> bool:
    """Reopen, with a strike, what was being asked when the lease's own process for it was killed.

    Return False if the lease was lost.
    """
    with brief_transaction():
        if not shards.has_lease(run, token):
            return False
        if poisoned := ledger.take_over(run, shards.other_leases(run, token)):
            _count_poisoned(run, poisoned)
        grants.leave(token)
    return True


def _count_poisoned(run: JudgeRun, rows: int) -> None:
    ledger.lock(JudgeRun.objects.filter(pk=run.pk))
    run.refresh_from_db(fields=["failures"])
    failures = run.failures | {"error": run.failures.get("error", 0) + rows}
    JudgeRun.objects.filter(pk=run.pk).update(failures=failures)


def renew(run: JudgeRun, token: uuid.UUID, use: grants.Use | None = None) -> Orders | None:
    """Extend a worker's lease and store its state. Return None if the lease was lost.

    With `use` it also renews the calls that were granted, and without it returns them. A leader
    takes over what dead workers left.
    """
    state = use or grants.Use()
    with brief_transaction():
        number = shards.renew(run, token, state.in_flight, state.allowed)
        led = {"lease_until": Now() + shards.LEASE, **shards.sums(run)}
        holds = _leased_by(run, token) if number == shards.LEADER else _while_active(run)
        if number is None or not holds.exists():
            transaction.set_rollback(True)
            return None
        if number == shards.LEADER:
            holds.update(**led)
            if run.workers > 1:
                take_over(run)
        orders = _orders(holds.only(*ORDERED).get(), number)
    if use is None:
        grants.return_all(token)
        return orders
    run.concurrency = orders.concurrency
    keys = lanes.keys_of_run(run)
    uses = use.lanes or (use,) * len(keys)
    granted = [grants.renew(lane, run, token, each) for lane, each in zip(keys, uses, strict=True)]
    if not granted:
        return orders
    calls = tuple(each.calls for each in granted)
    paused = granted[0].paused if all(each.paused for each in granted) else ""
    by_lane = calls if len(calls) > 1 else ()
    return replace(orders, calls=sum(calls), by_lane=by_lane, paused=paused)


ORDERED = (
    "wish", "concurrency", "closing", "workers", "prompt_tokens", "completion_tokens", "cost",
)  # fmt: skip


def _orders(run: JudgeRun, number: int) -> Orders:
    return Orders(
        run.wish,
        run.concurrency,
        closing=run.closing,
        leaves=number >= run.workers,
        tokens=run.prompt_tokens + run.completion_tokens,
        cost=run.cost,
    )


def finish(run: JudgeRun, token: uuid.UUID, state: str, error: str = "") -> bool:
    """End a run, settle its assignments and release its lease. Return False if it lost the lease.

    A wish to cancel that arrives at the last moment is respected.
    """
    with brief_transaction():
        if not shards.has_lease(run, token):
            return False
        shards.release_all(run)
        # Locked until the end, so that no other process takes the run before it is closed.
        if (leased := _leased_by(run, token).select_for_update(no_key=True).first()) is None:
            transaction.set_rollback(True)
            return False
        if leased.wish == Wish.CANCEL:
            state = State.CANCELLED
        _close(run, state, error)
        grants.release(token)
        _settle_assignments(run, state)
    return True


def _settle_assignments(run: JudgeRun, state: str) -> None:
    if state == State.CANCELLED:
        ledger.cancel(run.campaign, run.judge)
    else:
        ledger.reopen(run.campaign, run.judge)


def hand_over(run: JudgeRun, token: uuid.UUID) -> None:
    """Release the leader's lease and leave the run to the next, or end it if requested."""
    with brief_transaction():
        shards.release(run, token)
        if _leased_by(run, token).update(**_NO_LEASE):
            grants.release(token)
            ledger.give_back(run.campaign, run.judge, token)
    _end_if_wished(run)


def rest(run: JudgeRun, token: uuid.UUID, until: datetime | None, why: str) -> None:
    """Release the lease, and have the run rest until a time. Then it is taken up by itself."""
    with brief_transaction():
        if _leased_by(run, token).update(rests_until=until, error=why, closing=None):
            hand_over(run, token)


def queue_active(campaign: Campaign, judge: Judge) -> JudgeRun:
    """Return the active run, and let workers continue it if its process dies."""
    if (run := active_runs(campaign, judge).select_related("lane").first()) is None:
        raise LeasedRunError(f"a run of judge {judge} has just ended; try again")
    if _uses_files(run):
        raise LeasedRunError(f"{run} of judge {judge} is writing its requests to a file; try again")
    with brief_transaction():
        if active_runs(campaign, judge).filter(pk=run.pk, queued=False).update(queued=True):
            record("run.changed", campaign.pk, run, queued=True)
    run.queued = True
    lanes.resume_all(run)
    return run


def active_runs(campaign: Campaign, judge: Judge) -> QuerySet[JudgeRun]:
    """Return a query for the active run of a judge over a campaign; there is at most one."""
    return JudgeRun.objects.filter(campaign=campaign, judge=judge, state__in=ACTIVE)


def ask_to_stop(run: JudgeRun) -> bool:
    """Stop a run so that it can be continued later. Return False if it has already ended."""
    return _wish(run, Wish.STOP)


def ask_to_cancel(run: JudgeRun) -> bool:
    """Cancel a run and close its open assignments. Return False if it has already ended."""
    return _wish(run, Wish.CANCEL)


def _wish(run: JudgeRun, wish: str) -> bool:
    """Store a wish, which the run's process reads when it renews the lease.

    A run without a process ends at once.
    """
    with brief_transaction():
        if not _while_active(run).update(wish=wish):
            return False
        record("run.stopped", run.campaign_id, run, wish=str(wish))
    with folded():
        _end_if_wished(run)
    return True


def _end_if_wished(run: JudgeRun) -> bool:
    """End a run that has a wish and no process. Return whether that happened."""
    unheld = _unattended(_while_active(run)).exclude(wish=Wish.NONE)
    if not unheld.exists():
        return False
    with brief_transaction():
        shards.release_all(run)
        if (wished := unheld.select_for_update(no_key=True, of=("self",)).first()) is None:
            transaction.set_rollback(True)
            return False
        state = _STATE_AFTER_WISH[Wish(wished.wish)]
        _close(wished, state)
        _settle_assignments(run, state)
    return True


def apply_wishes() -> None:
    """End every run that has a wish and no process, even on a paused lane."""
    for run in _unattended(JudgeRun.objects.filter(state__in=ACTIVE)).exclude(wish=Wish.NONE):
        _end_if_wished(run)


def has_ended(run: JudgeRun) -> bool:
    """Return whether a run has ended. If it has a wish and its process died, end it now."""
    return _end_if_wished(run) or not _while_active(run).exists()


def wished_state(run: JudgeRun) -> str:
    """Return the state in which a run with a wish must end, empty without a wish."""
    run.refresh_from_db(fields=["wish"])
    return _STATE_AFTER_WISH.get(Wish(run.wish), "")


def set_concurrency(run: JudgeRun, calls: int) -> bool:
    """Set the number of calls at once, at least 1. Return False if the run has already ended."""
    with brief_transaction():
        changed = bool(_while_active(run).update(concurrency=max(1, calls)))
        if changed:
            record("run.changed", run.campaign_id, run, concurrency=max(1, calls))
    return changed


def set_workers(run: JudgeRun, workers: int) -> bool:
    """Set how many workers may be on a run, at least 1. Return False if it has already ended."""
    with brief_transaction():
        changed = bool(_while_active(run).update(workers=max(1, workers)))
        if changed:
            record("run.changed", run.campaign_id, run, workers=max(1, workers))
    return changed


def remaining_assignments(run: JudgeRun) -> int | None:
    """Return how many more assignments the run's limit allows. None without a limit."""
    if run.limit is None:
        return None
    run.refresh_from_db(fields=["done", "failures"])
    return max(0, run.limit - run.done - run.failed)


def _leased_by(run: JudgeRun, token: uuid.UUID) -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(pk=run.pk, lease=token)


def _while_active(run: JudgeRun) -> QuerySet[JudgeRun]:
    """Return a query for the run that is empty once it has ended."""
    return JudgeRun.objects.filter(pk=run.pk, state__in=ACTIVE)
