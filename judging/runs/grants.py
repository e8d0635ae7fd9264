"""Grants: how workers on any machine share the calls at once that a server bears.

Each worker asks for a grant when it renews its lease. The lane is locked meanwhile, so the grants
on it never add up to more than its cap, which is the largest number that a run on it may have. A
run's own grants never exceed the run's number. A worker sends only for `SENDS` after it asked, by
its own clock. If it dies or freezes, its grant becomes free when the deadline of its last call has
passed: until then, the server may still be at work on its calls.

Runs get equal shares, and so do the workers of a run. A worker with too many calls first lets some
end: a renewal takes back only what it no longer uses, and others get it then.

While several workers ask a server that refuses calls above some number, that number is learned for
all of them: the calls that they allowed when it refused one. Their grants add up to little more
than that.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.db.models.functions import Now

from datasets.db.locks import brief_transaction
from judging.models import Grant, JudgeRun, Lane, Shard

SENDS = timedelta(seconds=5)
UNKNOWN_DEADLINE = 600.0
"""The seconds that a call may take if its worker has not said so."""
ABOVE_CEILING = 1.05
CALM = timedelta(seconds=3)
TURN_SECONDS = 10


@dataclass(frozen=True)
class Use:
    """What a worker says when it renews its lease.

    It has `in_flight` calls, and its limit allows `allowed`. It obeys a grant of `granted` calls
    now. No call that it has sent or will send before the next renewal takes longer than `deadline`
    seconds. The server has refused `refused` calls since the last renewal. The worker has no use
    for more than `wants`. With several lanes, these are the sums, and `lanes` has each lane's own.
    """

    in_flight: int = 0
    allowed: int = 0
    granted: int = 0
    deadline: float = UNKNOWN_DEADLINE
    refused: int = 0
    wants: int | None = None
    lanes: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Granted:
    """The calls that a worker may have in flight, or why its lane is paused."""

    calls: int
    paused: str = ""


def renew(lane: int, run: JudgeRun, holder: uuid.UUID, use: Use) -> Granted:
    """Renew a worker's grant on a lane, and return how many calls it may have in flight.

    If that is less than before, the worker keeps its old grant until it says that it obeys.
    """
    with brief_transaction():
        locked = Lane.objects.select_for_update().get(pk=lane)
        now = _clock(locked)
        rows = list(Grant.objects.filter(lane=lane))
        mine = next((row for row in rows if row.holder == holder), None)
        others = [row for row in rows if row.holder != holder and row.frees_at > now]
        if mine is None:
            mine = Grant(lane=locked, run=run, holder=holder, calls=0, frees_at=now)
        mine.calls = min(mine.calls, max(use.granted, use.in_flight))
        mine.in_flight, mine.most = use.in_flight, run.most_at_once
        mine.sends_until = now + SENDS
        mine.frees_at = max(mine.frees_at, mine.sends_until + timedelta(seconds=use.deadline))
        asking = [row for row in others if row.sends_until > now]
        if asking:
            _learn(locked, [*asking, mine], use.refused, now)
        share = 0 if locked.paused else _share(mine, asking, others, locked, now)
        share = share if use.wants is None else min(share, use.wants)
        mine.calls = max(mine.calls, share)
        mine.save()
        expired = [row.pk for row in rows if row.frees_at <= now and row is not mine]
        if expired:
            Grant.objects.filter(pk__in=expired).delete()
    return Granted(share, locked.paused)


def _clock(lane: Lane) -> datetime:
    """Return the database's time now, after the wait for the lane."""
    return Lane.objects.filter(pk=lane.pk).values_list(Now(), flat=True).get()


def _share(
    mine: Grant, asking: Sequence[Grant], others: Sequence[Grant], lane: Lane, now: datetime
) -> int:
    """Return the calls for a worker: its fair share, as far as others have left room for it."""
    cap = max(row.most for row in [mine, *others])
    silent = sum(row.calls for row in others if row not in asking)
    pool = cap - silent
    if asking and lane.ceiling:
        pool = min(pool, math.ceil(ABOVE_CEILING * lane.ceiling) + len(asking) + 1)
    own_silent = sum(row.calls for row in others if row not in asking and row.run_id == mine.run_id)
    turn = int(now.timestamp()) // TURN_SECONDS
    share = fair_share(mine, asking, max(0, pool), own_silent, turn)
    if share <= mine.calls:
        return share
    room = pool - sum(row.calls for row in asking) - mine.calls
    own = [row.calls for row in asking if row.run_id == mine.run_id]
    of_run = mine.most - own_silent - sum(own) - mine.calls
    return mine.calls + max(0, min(share - mine.calls, room, of_run))


def fair_share(
    mine: Grant, asking: Sequence[Grant], pool: int, own_silent: int = 0, turn: int = 0
) -> int:
    """Return a worker's share of a pool: equal for each run, and for each worker of a run.

    Where there are more of them than calls, they take turns. The run's silent workers have
    `own_silent` calls, which are not in the pool.
    """
    by_run: dict[int, list[Grant]] = {}
    for row in sorted([*asking, mine], key=lambda row: (row.run_id, str(row.holder))):
        by_run.setdefault(row.run_id, []).append(row)
    runs = list(by_run)
    if pool < len(runs):
        first = turn % len(runs)
        runs = runs[first:] + runs[:first]
    shares = spread(pool, [max(row.most for row in by_run[run]) for run in runs])
    of_run = max(0, min(shares[runs.index(mine.run_id)], mine.most - own_silent))
    workers = by_run[mine.run_id]
    each, rest = divmod(of_run, len(workers))
    place = workers.index(mine) - (0 if each else turn)
    return each + (place % len(workers) < rest)


def spread(pool: int, wanted: Sequence[int]) -> list[int]:
    """Divide a pool evenly, giving nobody more than is wanted. What is left over goes first."""
    shares = [0] * len(wanted)
    left = pool
    open_ones = [place for place, most in enumerate(wanted) if most > 0]
    while left > 0 and open_ones:
        each, rest = divmod(left, len(open_ones))
        for number, place in enumerate(open_ones):
            more = min(each + (number < rest), wanted[place] - shares[place])
            shares[place] += more
            left -= more
        open_ones = [place for place in open_ones if shares[place] < wanted[place]]
    return shares


def _learn(lane: Lane, asking: Sequence[Grant], refused: int, now: datetime) -> None:
    """Learn from several workers how many calls at once the server bears."""
    # What a worker has in flight at one moment may be little, although it uses all that it allows.
    holders = [row.holder for row in asking]
    allowed = dict(Shard.objects.filter(lease__in=holders).values_list("lease", "allowed"))
    total = sum(max(row.in_flight, min(row.calls, allowed.get(row.holder, 0))) for row in asking)
    if refused:
        lane.ceiling = max(len(asking), min(total, lane.ceiling or total))
        lane.refused_at = now
    elif lane.ceiling and total > lane.ceiling and now - (lane.refused_at or now) > CALM:
        lane.ceiling = total
    else:
        return
    lane.save(update_fields=["ceiling", "refused_at"])


def is_shared(lane: int) -> bool:
    """Return whether several workers ask the server of a lane."""
    return Grant.objects.filter(lane=lane, sends_until__gt=Now()).count() > 1


def sharing_runs(run: JudgeRun) -> list[JudgeRun]:
    """Return the other runs that ask the same server now."""
    at_work = Grant.objects.filter(lane=run.lane_id, sends_until__gt=Now()).exclude(run=run)
    runs = JudgeRun.objects.filter(pk__in=at_work.values("run"))
    return list(runs.select_related("judge__rater"))


def release(holder: uuid.UUID) -> None:
    """End a worker's grants. Calls that it said to have in flight become free at their deadline."""
    held = Grant.objects.filter(holder=holder)
    held.filter(in_flight=0).delete()
    held.update(calls=F("in_flight"), sends_until=Now())


def leave(holder: uuid.UUID) -> None:
    """Leave a worker's grants to their deadline, since its calls were cut off and it goes on."""
    Grant.objects.filter(holder=holder).update(holder=uuid.uuid4(), sends_until=Now())


def return_all(holder: uuid.UUID) -> None:
    """End the grants of a worker that has nothing in flight."""
    Grant.objects.filter(holder=holder).delete()
