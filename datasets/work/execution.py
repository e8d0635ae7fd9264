"""Jobs as a source of work. Carry out one: compute its result, write the file, close the row."""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection

from audit.looks import Note, collect_looks
from audit.recording import Actor, on_behalf
from datasets.models import Job
from datasets.work import queue, results
from datasets.work.beside import allow_forks
from datasets.work.guard import outside_request
from datasets.work.kinds import JobError, Kind, Result, kind_named
from datasets.work.sources import Source, Taken
from tandem.types import Progress

logger = logging.getLogger("tandem.jobs")
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE = "the disk of this site is full; tell an admin"
NO_ACCESS = "nobody who asked for it may still see it"
HEAVY, LIGHT = "heavy", "light"
LIGHT_PLACES = 1
"""How many light jobs a worker carries out beside its heavy ones. They may take free places."""


def heavy_jobs() -> Source:
    return Source(HEAVY, partial(_take, True), lambda at_work, places: at_work[HEAVY] < places)


def light_jobs() -> Source:
    def has_room(at_work: Counter[str], places: int) -> bool:
        return at_work[HEAVY] + at_work[LIGHT] < places + LIGHT_PLACES

    return Source(LIGHT, partial(_take, False), has_room)


def _take(heavy: bool, key: str, seconds: float | None) -> Taken | None:
    job = queue.take(heavy) if queue.is_due(heavy) else None
    if job is None:
        return None
    return Taken(
        f"job {job.key}",
        partial(_carry_out_apart, job),
        fail=partial(queue.fail, job),
        renew=partial(queue.renew, job),
        release=partial(queue.release, job),
        memory_mb=settings.TANDEM_JOB_MEMORY_MB,
    )


def _carry_out_apart(job: Job, progress: Progress) -> None:
    allow_forks()
    carry_out(job, progress)


def out_of_memory() -> str:
    return (
        f"it needs more memory than one job may use ({settings.TANDEM_JOB_MEMORY_MB} MB); ask for "
        "less, use the command, or have an admin raise TANDEM_JOB_MEMORY_MB"
    )


def carry_out(job: Job, progress: Progress, strict: bool = False) -> None:
    """Compute a leased job and close it. Raises MemoryError, which its process does not survive.

    With `strict` an unexpected error is raised instead of recorded.
    """
    kind = kind_named(job.kind)
    try:
        if not any(kind.may_see(user, job.options) for user in _askers(job)):
            raise JobError(NO_ACCESS)
        with on_behalf(_actor(job)), outside_request():
            description = _compute(kind, job, progress)
    except JobError as error:
        queue.fail(job, str(error))
    except MemoryError:
        raise
    except Exception as error:
        if strict:
            raise
        _note(job, error)
    else:
        if description and not queue.finish(job, description):
            # It was cancelled, or another worker has it now.
            results.remove(description["file"])


def _compute(kind: Kind, job: Job, progress: Progress) -> dict[str, Any] | None:
    """Return the description of the written result; None if another worker has the job now."""
    if not queue.set_digest(job):
        return None
    parts = 0

    def publish(part: Result, stage: str, looks: Iterable[Note]) -> None:
        nonlocal parts
        parts += 1
        description = _write(job, part)
        queue.publish(job, {**description, "notes": list(looks), "stage": stage, "part": parts})

    with collect_looks() as notes:
        more = (publish,) if kind.grows else ()
        result = kind.carry_out(job.options, progress, *more)
    return {**_write(job, result), "notes": notes}


def _write(job: Job, result: Result) -> dict[str, Any]:
    assert job.turn is not None
    # Notes about the file as a whole are collected elsewhere; those about its pieces are dropped.
    with collect_looks():
        return results.write(f"{job.key}-{job.turn.hex}", result)


def _actor(job: Job) -> Actor:
    """Return the actor of events: the person in whose turn the job runs, with their request."""
    asked = job.askers.filter(user=job.user_id).first()
    who = job.user_id
    return Actor(lambda: who, asked.request, asked.network) if asked else Actor(lambda: who)


def _askers(job: Job) -> list[Any]:
    asked = job.askers.filter(withdrawn=False).values("user")
    return list(get_user_model()._default_manager.filter(pk__in=asked))


def _note(job: Job, error: Exception) -> None:
    """Log an unexpected error, and return a message for people."""
    logger.exception("job %s (%s) ended by an error", job.key, job.kind)
    if isinstance(error, OSError) and error.errno in FULL:
        reason = NO_SPACE
    else:
        name = type(error).__name__
        reason = f"an unexpected error ended it ({name}); tell an admin of this site job {job.key}"
    if isinstance(error, DatabaseError):
        # A transaction may be broken.
        connection.close()
    queue.fail(job, reason)
