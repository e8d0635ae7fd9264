"""Shards: the parts that several workers, on any machines, have in one run.

A shard is a row with a lease. The one with the number 0 is the leader's, who also has the lease of
the run: it probes the server, plans, begins and ends the run. Further workers join a run that has
begun, up to its number of `workers`, and leave it when nothing is left to claim.

Everything that a worker writes is written under the lock of its own shard, so workers do not wait
for each other. Whoever takes a shard over waits until that transaction has ended.

Any worker may find a reason to end the run, such as a spent budget. It stores the reason as the
run's `closing`, which the others find when they renew their leases. The leader waits until all of
them have left, and ends the run.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Now

from datasets.db.locks import brief_transaction
from datasets.db.prepared import Parameter, Prepared
from judging import lanes
from judging.models import JudgeRun, Shard
from judging.runs import grants, ledger
from judging.runs.ledger import lock
from judging.runs.rests import RESTED

LEASE = timedelta(seconds=15)
LEADER = 0
LIVING = Q(lease__isnull=False, lease_until__gt=Now())
ASSISTS = Q(lease__isnull=False, lease_until__gt=Now(), number__gt=LEADER)
_HELD = Q(number__gt=LEADER) | Q(run__lease=F("lease"))
_FREE: dict[str, Any] = {"lease": None, "lease_until": None, "in_flight": 0, "allowed": 0}


def lead(run: JudgeRun, token: uuid.UUID) -> None:
    """Give the leader's shard to a token. Call this within a transaction, before locking the run.

    It waits for a transaction of the leader before.
    """
    leader = {**_FREE, "lease": token, "lease_until": Now() + LEASE}
    if not Shard.objects.filter(run=run, number=LEADER).update(**leader):
        Shard.objects.create(run=run, number=LEADER, lease=token)
        Shard.objects.filter(run=run, number=LEADER).update(**leader)


def has_lease(run: JudgeRun, token: uuid.UUID) -> bool:
    """Return whether the token has a lease on the run, and lock it until the transaction ends."""
    return bool(_held.rows(run=run.pk, lease=token))


def is_held(token: uuid.UUID) -> bool:
    """Return whether nobody has taken a lease over yet."""
    return Shard.objects.filter(_HELD, lease=token).exists()


def _held_shards() -> QuerySet[Any, Any]:
    token = Parameter("lease", Shard._meta.get_field("lease"))
    held = Shard.objects.select_for_update(of=("self",)).filter(run=Parameter("run"), lease=token)
    return held.filter(_HELD).values_list("pk")


_held = Prepared(_held_shards)


def renew(run: JudgeRun, token: uuid.UUID, in_flight: int, allowed: int) -> int | None:
    """Extend the lease of a shard, and return its number. None if it was lost."""
    held = Shard.objects.filter(run=run.pk, lease=token)
    if not held.update(lease_until=Now() + LEASE, in_flight=in_flight, allowed=allowed):
        return None
    return held.values_list("number", flat=True).get()


def sums(run: JudgeRun) -> dict[str, int]:
    """Return the calls in flight and allowed of all workers on a run."""
    living = Shard.objects.filter(LIVING, run=run.pk)
    found = living.aggregate(in_flight=Sum("in_flight"), allowed=Sum("allowed"))
    return {name: number or 0 for name, number in found.items()}


def release(run: JudgeRun, token: uuid.UUID) -> None:
    """End the lease of a shard."""
    Shard.objects.filter(run=run.pk, lease=token).update(**_FREE)


def release_all(run: JudgeRun) -> None:
    """End the leases of all shards of a run that ends, after their transactions."""
    Shard.objects.filter(run=run.pk, lease__isnull=False).update(**_FREE)


def count_assistants(run: JudgeRun) -> int:
    """Count the living workers on a run beside its leader."""
    return Shard.objects.filter(ASSISTS, run=run.pk).count()


def without_assistants(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Filter runs on which no worker lives, except perhaps a leader."""
    return runs.exclude(pk__in=Shard.objects.filter(ASSISTS).values("run"))


def take_over(run: JudgeRun) -> int:
    """Reopen what dead workers left, with strikes. Return how many assignments were closed instead.

    The leader calls this. A worker that froze within a transaction is left for the next time.
    """
    with brief_transaction():
        assistants = Shard.objects.filter(run=run.pk, number__gt=LEADER)
        dead = assistants.filter(lease__isnull=False, lease_until__lte=Now())
        locked = dead.select_for_update(skip_locked=True).values_list("pk", flat=True)
        Shard.objects.filter(pk__in=list(locked)).update(**_FREE)
        return ledger.take_over(run, other_leases(run))


def other_leases(run: JudgeRun, token: uuid.UUID | None = None) -> list[uuid.UUID]:
    """Return the leases that nobody has taken over yet, without one's own."""
    held = Shard.objects.filter(run=run.pk, lease__isnull=False).exclude(lease=token)
    return [lease for lease in held.values_list("lease", flat=True) if lease]


def with_places() -> QuerySet[Any]:
    """Return the runs that have begun and that more workers may join now."""
    runs = JudgeRun.objects.filter(
        lanes.UNPAUSED,
        RESTED,
        state=JudgeRun.State.RUNNING,
        workers__gt=1,
        wish=JudgeRun.Wish.NONE,
        closing__isnull=True,
        manifest__has_key="platform",
    )
    assistants = Shard.objects.filter(ASSISTS, run=OuterRef("pk")).order_by().values("run")
    counted = Subquery(assistants.annotate(n=Count("pk")).values("n"))
    at_work = Coalesce(counted, 0)
    return runs.annotate(at_work=at_work).filter(at_work__lt=F("workers") - 1)


def has_place(run: JudgeRun) -> bool:
    """Return whether another worker may join a run, and finds something to claim."""
    return with_places().filter(pk=run.pk).exists() and ledger.has_more(run)


def join(run: JudgeRun) -> uuid.UUID | None:
    """Join a run that has begun, and return the token of the lease. None if it has no place."""
    with brief_transaction():
        # One worker joins at a time.
        lock(JudgeRun.objects.filter(pk=run.pk))
        if not has_place(run):
            return None
        held = Shard.objects.filter(LIVING, run=run.pk).values_list("number", flat=True)
        taken = {LEADER, *held}
        number = next(n for n in range(LEADER + 1, len(taken) + 1) if n not in taken)
        free = Shard.objects.filter(run=run.pk, number=number)
        # A frozen worker may have the row locked, and wait for the run itself.
        if free.exists() and not free.select_for_update(skip_locked=True).first():
            return None
        token = uuid.uuid4()
        shard, _ = Shard.objects.get_or_create(run=run, number=number)
        started = {**_FREE, "lease": token, "lease_until": Now() + LEASE}
        Shard.objects.filter(pk=shard.pk).update(**started)
    return token


def leave(run: JudgeRun, token: uuid.UUID) -> None:
    """Leave a run, and reopen one's own assignments for the others."""
    with brief_transaction():
        if has_lease(run, token):
            release(run, token)
            grants.release(token)
            ledger.give_back(run.campaign, run.judge, token)


def close(run: JudgeRun, closing: Mapping[str, Any]) -> None:
    """Have all workers on a run end, for the first reason that is given."""
    JudgeRun.objects.filter(pk=run.pk, closing__isnull=True).update(closing=dict(closing))


def count_workers(run: JudgeRun) -> int:
    """Return the most workers that have been on a run at once.

    Each takes the lowest free number, and rows stay.
    """
    return Shard.objects.filter(run=run.pk).count()
