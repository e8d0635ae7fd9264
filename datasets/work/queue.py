"""The queue of jobs, all in the database: requests, turns, leases and results.

A question that is waiting or being computed is not computed twice: other people who ask the same
are added to its askers. A waiting job is computed from the data at the time of its turn, so a later
label needs no second job. People take turns: the person served longest ago is next, with their
oldest job, and has at most two jobs running. Heavy jobs and light ones, such as reports and lists
of disagreements, have turns of their own: neither waits for the other.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError
from django.db.models import F, Max, Q, QuerySet
from django.db.models.functions import Now

from audit.recording import current_actor
from datasets.db.locks import brief_transaction, wait_for_turn
from datasets.models import Job, JobAsker, Worker
from datasets.work import results
from datasets.work.kinds import Kind, Options, heavy_kinds, kind_named
from tandem.grouping import grouped

State = Job.State
ACTIVE = (State.WAITING, State.RUNNING)
AT_ONCE = 2
"""How many heavy jobs, and how many light ones, of one person run at a time."""
MOST_WAITING = 50
LEASE = timedelta(seconds=20)
WORKER_TIMEOUT = timedelta(seconds=15)
MOST_ATTEMPTS = 3
LOCK = 0x7A6E_0A0E
WORKER_ENDED = (
    "its worker ended three times while computing it, probably for lack of memory; ask for less, "
    "or use the command"
)


class TooManyError(Exception):
    """A person has too many jobs waiting."""

    def __init__(self) -> None:
        super().__init__(
            f"you have {MOST_WAITING} reports and exports waiting; let some finish or cancel them"
        )


@dataclass(frozen=True)
class JobRequest:
    """The jobs of a question: its current `job`, and the `last` finished one.

    They are the same if the last result is up to date.
    """

    job: Job
    last: Job | None

    @property
    def is_current(self) -> bool:
        return self.last is not None and self.last.pk == self.job.pk

    @property
    def part(self) -> Job | None:
        """The job, if it has published a part of what will be the first result."""
        return self.job if self.last is None and results.has_part(self.job) else None


def digest_of(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def question_of(kind: str, options: Options) -> str:
    return digest_of(kind, options)


def current_digest(kind: Kind, options: Options) -> str:
    """Return the digest of a question and of everything that its result depends on now."""
    return digest_of(kind.name, options, kind.state(options))


def find_or_add(name: str, options: Options, user: Any, address: str, again: bool) -> JobRequest:
    """Return the job of a question and its last finished one; add a job if there is none to use.

    A job that failed, or that this person cancelled, is not repeated unless they ask `again`.
    Raises TooManyError.
    """
    kind = kind_named(name)
    digest, question = current_digest(kind, options), question_of(name, options)
    last = last_finished(question)
    if last is not None and last.digest == digest:
        return JobRequest(last, last)
    for _ in range(3):
        found = _job_to_use(question, digest, user, again)
        if found is None and _waiting_for(user) >= MOST_WAITING:
            raise TooManyError
        if found is not None and (found.state not in ACTIVE or _has_asked(found, user, address)):
            return JobRequest(found, last)
        try:
            # The transaction contains only writes, since nobody can save on SQLite in the meantime.
            with brief_transaction():
                job = (
                    _still_active(found) if found else _create_job(kind, options, question, digest)
                )
                if job is not None:
                    _add_asker(job, user, address)
        except IntegrityError:
            # Another process added the same question in the meantime.
            continue
        if job is not None:
            return JobRequest(job, last)
    raise RuntimeError(f"the question {question} can be neither found nor added")


def _job_to_use(question: str, digest: str, user: Any, again: bool) -> Job | None:
    of = Job.objects.filter(question=question)
    job = of.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, digest=digest)).first()
    if job is None and not again:
        job = _ended_for(user, of.filter(digest=digest).last())
    return job


def _waiting_for(user: Any) -> int:
    return JobAsker.objects.filter(user=user, withdrawn=False, job__state=State.WAITING).count()


def _still_active(job: Job) -> Job | None:
    """Return a job that was found, unless it has ended or was cancelled since."""
    return Job.objects.filter(pk=job.pk, state__in=ACTIVE).first()


def _create_job(kind: Kind, options: Options, question: str, digest: str) -> Job:
    return Job.objects.create(
        kind=kind.name, options=dict(options), question=question, digest=digest
    )


def _has_asked(job: Job, user: Any, address: str) -> bool:
    """Return whether a person has already asked for a job from the same page."""
    return job.askers.filter(user=user, withdrawn=False, address=address).exists()


def _add_asker(job: Job, user: Any, address: str) -> None:
    actor = current_actor()
    asker = JobAsker(
        job=job, user=user, address=address, request=actor.request, network=actor.address
    )
    JobAsker.objects.bulk_create(
        [asker],
        update_conflicts=True,
        unique_fields=["job", "user"],
        update_fields=["withdrawn", "address", "request", "network"],
    )


def _ended_for(user: Any, job: Job | None) -> Job | None:
    """Return a job that ended without a result, unless a new request of this person repeats it."""
    if job is None or job.state == State.DONE:
        return None
    if job.state == State.CANCELLED:
        return job if job.askers.filter(user=user, withdrawn=True).exists() else None
    return job


def last_finished(question: str) -> Job | None:
    """Return the newest job of a question whose whole result exists (`results.ready`)."""
    done = results.ready(Job.objects.filter(question=question)).order_by("-pk")
    return next((job for job in done[:3] if results.has_result(job)), None)


def is_requested(kind: str, options: Options, user: Any) -> bool:
    """Return whether a person asked this question, and its job waits, runs, or has a result."""
    there = jobs_of(user).filter(question=question_of(kind, options))
    return there.filter(state__in=(*ACTIVE, State.DONE)).exists()


def jobs_of(user: Any) -> QuerySet[Job]:
    """Return the jobs that a person asked for."""
    return Job.objects.filter(askers__user=user)


def cancel(job: Job, user: Any) -> None:
    """Withdraw a person's request. If nobody else asks for the job, it ends, even while it runs."""
    with brief_transaction():
        wait_for_turn(LOCK)
        JobAsker.objects.filter(job=job, user=user).update(withdrawn=True)
        if not JobAsker.objects.filter(job=job, withdrawn=False).exists():
            ended = {"state": State.CANCELLED, "turn": None, "lease_until": None}
            Job.objects.filter(pk=job.pk, state__in=ACTIVE).update(**ended, ended_at=Now())
    job.refresh_from_db()


def turns(
    asked: Sequence[tuple[int, int]], served: Mapping[int, Any], running: Counter[int]
) -> list[tuple[int, int]]:
    """Return jobs in the order of turns, each with the person whose turn it is.

    `asked` are pairs of a job and a person, oldest first, and `served` the time of each person's
    last turn. People with fewer `running` jobs than two come first, since the others have to wait.
    """
    queues = grouped((person, job) for job, person in asked)
    # People who were never served come first, in the order of asking.
    people = sorted(queues, key=lambda person: (person in served, served.get(person)))
    people.sort(key=lambda person: running[person] >= AT_ONCE)
    order: dict[int, int] = {}
    while people:
        for person in tuple(people):
            own = queues[person]
            while own and own[0] in order:
                own.pop(0)
            if own:
                order[own.pop(0)] = person
            else:
                people.remove(person)
    return list(order.items())


def _by_weight(jobs: QuerySet[Job], heavy: bool) -> QuerySet[Job]:
    """Return those jobs that are heavy, or those that are light."""
    kinds = heavy_kinds()
    return jobs.filter(kind__in=kinds) if heavy else jobs.exclude(kind__in=kinds)


def _turns(heavy: bool) -> tuple[list[tuple[int, int]], Counter[int]]:
    waiting = _by_weight(Job.objects.filter(state=State.WAITING), heavy)
    asked = list(
        JobAsker.objects.filter(job__in=waiting, withdrawn=False)
        .order_by("pk")
        .values_list("job", "user")
    )
    people = {person for _, person in asked}
    of = _by_weight(Job.objects.filter(user__in=people), heavy).order_by().values_list("user")
    served = dict(of.annotate(last=Max("started_at")))
    running = Counter(_by_weight(_live(), heavy).values_list("user", flat=True))
    return turns(asked, served, running), running


def is_under_way(job: Job) -> bool:
    """Return whether a job has yet to give its whole result."""
    return job.state in ACTIVE and not results.is_ready(job)


def is_heavy(job: Job) -> bool:
    return job.kind in heavy_kinds()


def _running() -> QuerySet[Job]:
    """Return the jobs that workers have leased, of which some may have died."""
    return Job.objects.filter(state=State.RUNNING)


def _live() -> QuerySet[Job]:
    """Return the jobs that a worker is computing."""
    return _running().filter(lease_until__gte=Now())


def _orphaned_jobs() -> QuerySet[Job]:
    """Return the jobs whose worker has died."""
    return _running().filter(lease_until__lt=Now())


def position(job: Job) -> int:
    """Return the place of a waiting job in the order of turns: 1 for the next."""
    order = [each for each, _ in _turns(is_heavy(job))[0]]
    return order.index(job.pk) + 1 if job.pk in order else 1


def take(heavy: bool = False) -> Job | None:
    """Lease the light or heavy job whose turn it is, or one whose worker has died; None if none is.

    In a long queue it takes a while to find out whose turn it is. A transaction would keep people
    from saving on SQLite in the meantime, so it only leases what is still due.
    """
    for _ in range(3):
        chosen = _next(heavy)
        with brief_transaction():
            wait_for_turn(LOCK)
            if lost := _take_orphaned(heavy):
                return lost
            if chosen is None:
                _cancel_those_of_nobody()
                return None
            job, person = chosen
            if _may_begin(job, person, heavy):
                return _lease(job, {"user": person, "started_at": Now(), "attempts": 0})
    return None


def _take_orphaned(heavy: bool) -> Job | None:
    """Lease a job whose lease has expired. After three attempts it fails instead."""
    _orphaned_jobs().filter(attempts__gte=MOST_ATTEMPTS).update(
        state=State.FAILED, error=WORKER_ENDED, turn=None, lease_until=None, ended_at=Now()
    )
    job = _by_weight(_orphaned_jobs(), heavy).first()
    return _lease(job.pk, {}) if job else None


def _next(heavy: bool) -> tuple[int, int] | None:
    """Return the job whose turn it is, and the person."""
    order, running = _turns(heavy)
    free = [(job, person) for job, person in order if running[person] < AT_ONCE]
    at_work = Job.objects.filter(question__in=_running().values("question"))
    busy = set(at_work.values_list("pk", flat=True))
    return next(((job, person) for job, person in free if job not in busy), None)


def _may_begin(job: int, person: int, heavy: bool) -> bool:
    """Return whether a chosen job still waits, and may run beside those of its person."""
    waiting = Job.objects.filter(pk=job, state=State.WAITING)
    waiting = waiting.exclude(question__in=_running().values("question"))
    return waiting.exists() and _by_weight(_live(), heavy).filter(user=person).count() < AT_ONCE


def _cancel_those_of_nobody() -> None:
    """Cancel the jobs of deleted accounts, which have no askers."""
    alone = Job.objects.filter(state=State.WAITING, askers=None)
    alone.update(state=State.CANCELLED, ended_at=Now())


def lease_now(job: Job) -> Job:
    """Lease a waiting job for this process, whoever's turn it is."""
    asker = job.askers.order_by("pk").values_list("user", flat=True).first()
    return _lease(job.pk, {"user": asker, "started_at": Now(), "attempts": 0})


def _lease(job: int, values: dict[str, Any]) -> Job:
    of = Job.objects.filter(pk=job)
    fresh: dict[str, Any] = {"done": 0, "total": 0, "result": {}, "ended_at": None}
    of.update(**values, **fresh, state=State.RUNNING, turn=uuid.uuid4())
    of.update(lease_until=Now() + LEASE, attempts=F("attempts") + 1)
    return of.get()


def _own(job: Job) -> QuerySet[Job]:
    return _running().filter(turn=job.turn)


def set_digest(job: Job) -> bool:
    """Record that the job uses the current data. Returns False if another worker has the turn."""
    return _note(job, digest=current_digest(kind_named(job.kind), job.options))


def renew(job: Job, done: int, total: int) -> bool:
    """Extend the lease and note the progress. False if the job was cancelled or is another's."""
    return _note(job, lease_until=Now() + LEASE, done=done, total=total)


def publish(job: Job, result: Mapping[str, Any]) -> bool:
    """Note a part of the result. From the whole on, `ended_at` says since when it can be read."""
    ended = {"ended_at": Now()} if result["stage"] == results.CHECKING else {}
    return _note(job, result=dict(result), **ended)


def finish(job: Job, result: Mapping[str, Any]) -> bool:
    """Close a job with its result. False if the job was cancelled or is another's."""
    return _end(job, state=State.DONE, result=dict(result), error="")


def fail(job: Job, reason: str) -> bool:
    return _end(job, state=State.FAILED, error=" ".join(reason.split()))


def _end(job: Job, **values: Any) -> bool:
    return _note(job, **values, turn=None, lease_until=None, ended_at=Now())


def _note(job: Job, **values: Any) -> bool:
    # On SQLite, only transactions queue for the writer; others make it wait for the disk.
    with brief_transaction():
        return bool(_own(job).update(**values))


def release(job: Job) -> None:
    """Give a job back, so that another worker takes it at once, and this attempt does not count."""
    _note(job, lease_until=Now() - LEASE, attempts=F("attempts") - 1)


def is_due(heavy: bool | None = None) -> bool:
    """Return whether a worker might find a job to take: a heavy one, a light one, or any."""
    due = Job.objects.filter(state=State.WAITING) | _orphaned_jobs()
    return (due if heavy is None else _by_weight(due, heavy)).exists()


def is_stuck(job: Job) -> bool:
    """Return whether a job has waited longer than a worker needs to start, and no worker runs."""
    waiting = Job.objects.filter(pk=job.pk, state=State.WAITING, created_at__lt=Now() - PATIENCE)
    return waiting.exists() and not _live().exists() and not has_worker()


PATIENCE = timedelta(seconds=10)


def has_worker() -> bool:
    """Return whether a process of `manage.py work` for all jobs reported within some seconds."""
    return Worker.objects.filter(seen_at__gte=Now() - WORKER_TIMEOUT, places__gt=0).exists()


def note_worker(name: str, places: int) -> None:
    """Note that a worker is running."""
    with brief_transaction():
        _note_worker(name, places)


def _note_worker(name: str, places: int) -> None:
    if not Worker.objects.filter(name=name).update(seen_at=Now(), places=places):
        Worker.objects.filter(seen_at__lt=Now() - timedelta(days=1)).delete()
        Worker.objects.update_or_create(name=name, defaults={"places": places, "seen_at": Now()})


def forget_worker(name: str) -> None:
    Worker.objects.filter(name=name).delete()
